"""Value of a lead over time: the lead at several times, and the rounds that it saves.

A lead at one time depends on the length of training: the method behind may catch up later. So a
verdict is given at three times (`times_of`), and as a ratio of times (`Saved`): the time that the
method behind at the end needs for its final score, over the time that the method ahead needs.

For draw d let s be the final score of the method B that is behind, and T_A, T_B the first evaluated
round at which A and B have s. B has it at the end at the latest. If a run of A never has it, its
time is censored at the end. Both times are first passages of the same score, so that neither
gains by noise. The ratio T_B / T_A is compared by its logarithm, paired by draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from f3ast_tff.analysis.compare.paired_difference import LEVEL
from f3ast_tff.analysis.compare.pairs import Paired, diverged, mean_over, paired, ranked
from f3ast_tff.analysis.compare.scored import Pair, RunsError, Scored
from f3ast_tff.analysis.compare.times import PERIODS, NotEvaluated, Time, clock_of, measured

# The last evaluation.
LAST = Time()
# Parts of the training at which a lead is said.
PARTS = (0.25, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Saved:
    """Times until two methods have the score that the one behind has at the end.

    Attributes:
        ahead: Times of the method that is ahead at the end, geometric mean over the common runs.
        behind: Times of the method that is behind, likewise.
        ratio: Ratio of times, behind over ahead, geometric mean.
        low: Lower end of the 95% interval of the ratio, not corrected; NaN without an interval.
        high: Upper end.
        arrived: Number of runs of the method ahead that have the score.
        runs: Number of common runs.
        unit: `"rounds"`, or `"seconds"` of simulated time.
    """

    ahead: float
    behind: float
    ratio: float
    low: float
    high: float
    arrived: int
    runs: int
    unit: str = "rounds"


def times_of(groups: Sequence[Scored], end: Time = LAST) -> list[Time]:
    """Returns up to three times of a comparison, at `PARTS` of the training; the last is `end`.

    Args:
        groups: The runs, evaluated at common rounds (or with a clock, if `end` has seconds).
        end: Time of the verdict.

    Returns:
        Rising times; rounds are the nearest to the parts that all runs have evaluated. The last
        evaluation is named by its round if all runs share it. Only `end` for a time until a score,
        and for a period that summarises the whole training.
    """
    if end.reach is not None or end.period not in PERIODS:
        return [end]
    if end.seconds is not None:
        courses = [course for group in groups for course in group.courses.values()]
        begun = max(float(clock_of(course)[0]) for course in courses)
        earlier = [part * end.seconds for part in PARTS[:-1]]
        return [*(Time(seconds=each) for each in earlier if each >= begun), end]
    common = _common_rounds(groups)
    last = max(common, default=0) if end.round is None else end.round
    return [*(Time(round=number) for number in rounds_before(last, common)), _dated(end, groups)]


def rounds_before(last: int, evaluated: Iterable[int]) -> list[int]:
    """Returns the evaluated rounds that are nearest to `PARTS` of the training, before its last."""
    known = sorted(number for number in evaluated if number < last)
    nearest = [min(known, key=lambda n: abs(n - part * last)) for part in PARTS[:-1] if known]
    return list(dict.fromkeys(nearest))


def _dated(end: Time, groups: Sequence[Scored]) -> Time:
    """The last evaluation as a round, if all runs share it."""
    if end != LAST:
        return end
    last = {int(c["round"][-1]) for group in groups for c in group.courses.values()}
    return Time(round=last.pop()) if len(last) == 1 else end


def over_time(
    conditions: Sequence[tuple[Scored, Scored]], metric: str, end: str | int | Time = LAST
) -> list[tuple[Time, Paired]]:
    """Returns methods A and B at the times of `times_of`, in the mean over conditions.

    Args:
        conditions: Runs of A and of B by condition, at least one.
        metric: Score, such as `user_accuracy`, or metric of it; see `times.measured`.
        end: Time of the verdict.

    Raises:
        RunsError: If a run was not evaluated at `end`.
    """
    score, last = measured(metric, end)
    times = times_of([runs for both in conditions for runs in both], last)
    return [(each, mean_over([paired(a, b, score, each) for a, b in conditions])) for each in times]


def log_times(a: Scored, b: Scored, score: str, end: Time = LAST) -> Paired:
    """Pairs log times until a score: the final score of B in each draw.

    Left out are diverged runs of B, which have no score to reach, and draws in which a method has
    the score before its first round. The mean of A - B is the logarithm of
    T_A / T_B, so lower is better.

    Args:
        a: Runs of method A, usually the one that is ahead at the end.
        b: Runs of method B.
        score: Score, such as `user_accuracy`.
        end: End of the comparison: a round, simulated seconds, or the last evaluation.

    Raises:
        RunsError: If a run was not evaluated by the end.
    """
    goals, lost = ranked(b, score, end), diverged(b, score, end)
    common = sorted((a.courses.keys() & b.courses.keys()) - lost)
    times = [
        {pair: _first(runs, pair, score, goals[pair], end) for pair in common} for runs in (a, b)
    ]
    later = [pair for pair in common if min(each[pair] for each in times) > 0]
    logs = [{pair: math.log(each[pair]) for pair in later} for each in times]
    return Paired(logs[0], logs[1], higher_is_better=False, generates_data=a.generates_data)


def saved(ahead: Scored, behind: Scored, score: str, end: Time = LAST) -> Saved | None:
    """Returns the times until both methods have the final score of the one that is behind.

    Args:
        ahead: Runs of the method that is ahead at the end.
        behind: Runs of the method that is behind.
        score: Score, such as `user_accuracy`.
        end: End of the comparison: a round, simulated seconds, or the last evaluation.

    Returns:
        The times; `None` without a common run, or if the runs are not paired.

    Raises:
        RunsError: If a run was not evaluated by the end.
    """
    both = log_times(ahead, behind, score, end)
    if not both.common or ahead.independent:
        return None
    low, high = (math.nan, math.nan) if both.found is None else both.found.interval(LEVEL)
    goals = ranked(behind, score, end)
    there = [
        _until(end, goals[p]).reached(ahead.courses[p], score, _up(ahead, score))
        for p in both.common
    ]
    return Saved(
        ahead=math.exp(float(np.mean([both.a[pair] for pair in both.common]))),
        behind=math.exp(float(np.mean([both.b[pair] for pair in both.common]))),
        ratio=math.exp(-both.mean),
        low=math.exp(-high),
        high=math.exp(-low),
        arrived=sum(there),
        runs=len(both.common),
        unit="rounds" if end.seconds is None else "seconds",
    )


def _up(runs: Scored, score: str) -> bool:
    return runs.higher_is_better(score)


def _until(end: Time, goal: float) -> Time:
    return Time(end.period, round=end.round, seconds=end.seconds, reach=goal)


def _first(runs: Scored, pair: Pair, score: str, goal: float, end: Time) -> float:
    """The first time at which a run has a score; the end if it never has."""
    try:
        return _until(end, goal).value(runs.courses[pair], score, _up(runs, score))
    except NotEvaluated as error:
        raise RunsError(f"{runs.name_of(pair)} has {error}") from error


def _common_rounds(groups: Sequence[Scored]) -> set[int]:
    every = [set(course["round"].tolist()) for g in groups for course in g.courses.values()]
    return set.intersection(*every) if every else set()
