"""The report: the papers' tables and figures regenerated from run folders, with verdicts.

From run folders to the verdict on a claim:

1. `collect` (run_groups.py) reads the runs, groups those that differ only in their draw, and a
   group gives its scores by draw and seed (`RunGroup.scores`).
2. `fill` (report/claims.py) puts the groups into the cells of a published table, and takes A and B
   of each of its claims.
3. `paired` (compare/pairs.py) compares A with B by `paired_difference`, and
   `judge` (compare/judge.py) judges the claims of a table together.
4. `comparison_grid` (report/claims.py) writes the verdicts as the page shows them.

published_tables.py holds the papers' numbers and claims, runs.py reads a run folder, and build.py
puts the page together, with a summary of the verdicts.
"""
