"""The time at which runs are compared, and the value of a score at that time.

A run's course is its evaluations, an array `[n]` by name: `round`, rising; `simulated_seconds` if
the run has a clock; each score.

The time until a score is that of the first evaluation that has it. A run that does not have it by
the end S is censored: it counts as S. So min(T, S) is compared, whose mean is the mean time
restricted to S: it is known for every run, and it is an expectation even if some runs never arrive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.records.metrics import count_of_last_10_percent

CLOCK = "simulated_seconds"
Course = Mapping[str, np.ndarray]
FINAL, LAST_10_PERCENT = "final", "mean_of_last_10_percent"
# Periods of every run. The others are of kept studies: the best score over all evaluations, its
# mean over their second half, and there the mean size of its change from one to the next.
PERIODS = (FINAL, LAST_10_PERCENT)
BEST, SECOND_HALF, CHANGE = "best", "second_half", "change"
KEPT_PERIODS = (*PERIODS, BEST, SECOND_HALF, CHANGE)


class NotEvaluated(ValueError):
    """A run has no evaluation at a time; says which time, and what it lacks."""


@dataclass(frozen=True)
class Time:
    """Time of a score.

    Attributes:
        period: Evaluations that count, of `KEPT_PERIODS`.
        round: Round of the evaluation, in place of a period; `None` for none.
        seconds: Simulated time S, above 0, in place of a period: the last evaluation up to S
            counts. `None` for none.
        reach: Score to reach; the value is then the time until it, in seconds with `seconds`, else
            in rounds up to `round` or the last one. `None` for the score itself.

    Raises:
        ParameterError: If a value is out of range.
    """

    period: str = FINAL
    round: int | None = None
    seconds: float | None = None
    reach: float | None = None

    def __post_init__(self) -> None:
        if self.period not in KEPT_PERIODS:
            allowed = f"must be a round or one of {', '.join(KEPT_PERIODS)}"
            raise ParameterError("period", self.period, allowed)
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ParameterError("seconds", self.seconds, "must be above 0 and finite")
        if self.reach is not None and not math.isfinite(self.reach):
            raise ParameterError("reach", self.reach, "must be finite")

    @property
    def said(self) -> str:
        """The time in a few words, such as `round 1000` or `until 0.6, up to 300 s`."""
        if self.seconds is not None:
            at = f"{self.seconds:.4g} s"
        else:
            at = self.period.replace("_", " ") if self.round is None else f"round {self.round}"
        return at if self.reach is None else f"until {self.reach:g}, up to {at}"

    def name_of(self, score: str) -> str:
        """Returns the name of what is compared, such as `user_seconds_to_0.6_accuracy`."""
        if self.reach is None:
            return score
        kind, _, name = score.partition("_")
        unit = "rounds" if self.seconds is None else "seconds"
        return f"{kind}_{unit}_to_{self.reach:g}_{name}"

    def value(self, course: Course, score: str, higher_is_better: bool) -> float:
        """Returns a run's score at this time, or its time until the score.

        Args:
            course: Evaluations of the run, at least one.
            score: Column of the score.
            higher_is_better: Whether a higher score is better.

        Returns:
            The value; not finite if the score is not.

        Raises:
            NotEvaluated: If the run has no evaluation at this time.
        """
        number = self._number(course)
        scores = course[score][:number]
        if self.reach is not None:
            clock = course["round" if self.seconds is None else CLOCK][:number]
            end = clock[-1] if self.seconds is None else self.seconds
            there = scores >= self.reach if higher_is_better else scores <= self.reach
            return float(clock[there][0]) if there.any() else float(end)
        if self.round is not None or self.seconds is not None or self.period == FINAL:
            return float(scores[-1])
        if self.period == BEST:
            return float(np.fmax.reduce(scores) if higher_is_better else np.fmin.reduce(scores))
        if self.period == LAST_10_PERCENT:
            # Not pandas' mean, which leaves out a score that is not finite. Nor `sum`, which rounds
            # otherwise since Python 3.12, so that a last digit shown would differ.
            last = count_of_last_10_percent(len(scores))
            return math.fsum(scores[len(scores) - last :]) / last
        half = scores[len(scores) // 2 :]
        return float((np.abs(np.diff(half)) if self.period == CHANGE else half).mean())

    def reached(self, course: Course, score: str, higher_is_better: bool) -> bool:
        """Returns whether a run has the score to reach by the end of this time."""
        assert self.reach is not None
        scores = course[score][: self._number(course)]
        found = scores >= self.reach if higher_is_better else scores <= self.reach
        return bool(found.any())

    def _number(self, course: Course) -> int:
        """Number of evaluations up to this time, the last one at it."""
        rounds = course["round"]
        if self.round is not None:
            number = int(np.searchsorted(rounds, self.round, side="right"))
            if number == 0 or (self.reach is None and rounds[number - 1] != self.round):
                raise NotEvaluated(f"no evaluation of round {self.round}")
            return number
        if self.seconds is not None:
            number = int(np.searchsorted(clock_of(course), self.seconds, side="right"))
            if number == 0:
                cure = "evaluate it more often, or give the others more rounds and --seconds"
                raise NotEvaluated(f"no evaluation up to {self.seconds:g} seconds; {cure}")
            return number
        if self.period == CHANGE and len(rounds) < 3:
            few = f"needs 3 evaluations or more, has {len(rounds)}"
            raise NotEvaluated(f"too few evaluations: period {CHANGE} {few}")
        return len(rounds)


# Periods that the name of a metric can hold, by its first word.
_OF_METRIC = {
    "best": BEST,
    "change": CHANGE,
    "second_half": SECOND_HALF,
    "converged": LAST_10_PERCENT,
}


def measured(metric: str, time: str | int | Time) -> tuple[str, Time]:
    """Returns the score and the time of a metric of the papers' tables.

    `best_sample_accuracy` is the best sample accuracy over all evaluations, whatever the time;
    `second_half_`, `change_` and `converged_` (mean of the last 10%) likewise. Other metrics are
    scores.
    """
    for word, period in _OF_METRIC.items():
        if metric.startswith(f"{word}_"):
            return metric.removeprefix(f"{word}_"), Time(period)
    return metric, at(time)


def at(time: str | int | Time) -> Time:
    """Returns a time: a round, or one of `KEPT_PERIODS`."""
    if isinstance(time, Time):
        return time
    return Time(round=time) if isinstance(time, int) else Time(period=time)


def clock_of(course: Course) -> np.ndarray:
    """Returns simulated seconds by evaluation, `float64 [n]`.

    Raises:
        NotEvaluated: If the run has no clock.
    """
    if CLOCK not in course or not len(course[CLOCK]) or not np.isfinite(course[CLOCK]).all():
        raise NotEvaluated(f"no {CLOCK} to compare at: no clock, see --delivery")
    return course[CLOCK]
