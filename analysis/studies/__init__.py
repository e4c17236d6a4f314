"""Studies: a folder for each table, figure or question; modules that several of them need.

A folder holds a study's grid, scores, page, pictures and the code that only it needs. The modules
here turn scores into tables, verdicts, pictures and pages. Nothing below imports this package.
"""
