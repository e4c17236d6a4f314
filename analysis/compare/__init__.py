"""One comparison for all that compares: scores, pairs, judge, render.

1. `scored`: the scores over time of the runs of one method under one condition (`Scored`), from run
   folders, from a kept `scores.csv`, or from anybody's table.
2. `times`: the time at which a score is taken: a round, a period, simulated seconds, or the time
   until a score is reached.
3. `pairs`: two methods over their common draws (`Paired`). What a diverged run counts stands here.
4. `judge`: verdicts on a family of claims, with intervals, p values and their correction. Nothing
   else calls Holm's rule.
5. `render`: a verdict as a sentence, a table's cell, a point of a picture. `leads` says what a lead
   is worth over time. `methods` finds the pairs of methods in a folder of runs.

`paired_difference` holds the statistics of a difference over draws.
"""
