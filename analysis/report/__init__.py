"""The report: the papers' tables and figures regenerated from run folders, with verdicts.

From run folders to a verdict: `collect` (run_groups.py) reads the runs and groups runs that differ
only in their draw. published_tables.py holds the papers' tables and their `Claim`s. `fill`
(tables.py) puts the groups into the cells and compares A with B for each claim by the paired
difference over draws (differences.py, paired_difference.py). `judge_family` (verdicts.py) judges
the claims of a table together. `build` (build.py) makes the page.
"""
