"""Runs at equal simulated seconds: their scores at one time, and the time until a score.

A run at S seconds has the scores of its last evaluation up to S: of a model that was there at S.

The time until a score is T, that of the first evaluation that has it. A run that does not have it
by S is censored: its T is not known, and may be infinite. Such a run is not dropped. What is
compared is min(T, S), whose mean is the mean time restricted to S: it is known for every run, and
it is an expectation even if some runs never arrive. A method that never arrives has S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.analysis.run_groups import RunGroup, varying
from f3ast_tff.analysis.runs import Run, RunsError
from f3ast_tff.core.errors import ParameterError

CLOCK = "simulated_seconds"
# Settings of a method at equal seconds: how often the server acts, and on how many updates.
_THEIRS = ("rounds", "async_buffer", "async_starts", "staleness_weight")


@dataclass(frozen=True)
class AtSeconds:
    """A time at which methods are compared.

    Attributes:
        seconds: S, above 0; `None` for the latest time that every run reaches.
        reach: Score to reach; `None` to compare scores at S.

    Raises:
        ParameterError: If a value is out of range.
    """

    seconds: float | None = None
    reach: float | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ParameterError("seconds", self.seconds, "must be above 0 and finite")
        if self.reach is not None and not math.isfinite(self.reach):
            raise ParameterError("reach", self.reach, "must be finite")

    def time(self, groups: Sequence[RunGroup]) -> float:
        """Returns S of these runs.

        Raises:
            RunsError: If a run has no clock.
            ParameterError: If a run ends before `seconds`.
        """
        runs = [run for group in groups for run in group.runs.values()]
        end, path = min((float(_clock(run)[-1]), str(run.path)) for run in runs)
        if self.seconds is None:
            return end
        if self.seconds > end:
            more = "with more rounds it lasts longer"
            allowed = f"must be at most {end:g}, when the first run ends, {path}; {more}"
            raise ParameterError("seconds", self.seconds, allowed)
        return self.seconds

    def cut(self, groups: Sequence[RunGroup]) -> list[RunGroup]:
        """Returns the runs up to S; with `reach` they have the times until it as scores.

        The score `user_seconds_to_0.7_accuracy` is that until a user accuracy of 0.7, and so on;
        see `score_of`.

        Raises:
            RunsError: If a run has no clock, or no evaluation up to S.
            ParameterError: If a run ends before `seconds`.
        """
        end = self.time(groups)
        return [
            replace(group, runs={pair: self._cut(run, end) for pair, run in group.runs.items()})
            for group in groups
        ]

    def score_of(self, score: str) -> str:
        """Returns the score that is compared in place of a score of the runs."""
        kind, _, name = score.partition("_")
        return score if self.reach is None else f"{kind}_{self._name(name)}"

    def theirs(self, groups: Sequence[RunGroup]) -> list[str]:
        """Returns the settings that are a method's own at equal seconds, of those that differ."""
        return varying(groups, _THEIRS)

    def arrived(self, group: RunGroup, score: str) -> int:
        """Returns how many runs of a group of `cut` have the score to reach by S."""
        reach = -math.inf if self.reach is None else self.reach
        return sum(bool(_reaches(run, score, reach).any()) for run in group.runs.values())

    def said(self, end: float) -> str:
        """Returns the time of a comparison in words; `end` is S."""
        if self.reach is None:
            return f"at {end:g} simulated seconds"
        return f"up to {end:g} simulated seconds (a run that does not reach it by then counts so)"

    def _cut(self, run: Run, end: float) -> Run:
        metrics = run.metrics[_clock(run) <= end]
        if metrics.empty:
            cure = "evaluate it more often, or give the others more rounds and --seconds"
            raise RunsError(f"{run.path} has no evaluation up to {end:g} seconds; {cure}")
        # Without the summary, whose scores are those of the whole run.
        found = replace(run, metrics=metrics, summary={})
        if self.reach is None:
            return found
        times = {
            f"test_{self.score_of(score)}": _first(found, score, self.reach, end)
            for score in run.scores
        }
        directions = {self._name(name): False for name in run.directions}
        metrics = metrics.assign(**times)
        return replace(found, metrics=metrics, directions={**run.directions, **directions})

    def _name(self, score: str) -> str:
        return f"seconds_to_{self.reach:g}_{score}"


def by_arrivals(groups: Sequence[RunGroup]) -> bool:
    """Whether a round of some runs is no common unit, so that only seconds compare them."""
    return any(group.setting("delivery") == "asynchronous" for group in groups)


def _clock(run: Run) -> np.ndarray:
    if CLOCK not in run.metrics or not np.isfinite(run.metrics[CLOCK]).all() or run.metrics.empty:
        raise RunsError(f"{run.path} has no {CLOCK} to compare at: no clock, see --delivery")
    return run.metrics[CLOCK].to_numpy(np.float64)


def _reaches(run: Run, score: str, reach: float) -> np.ndarray:
    """Evaluations that have the score, `bool [n]`; one that is not finite does not."""
    values = run.metrics[f"test_{score}"].to_numpy(np.float64)
    higher = run.directions[score.partition("_")[2]]
    return values >= reach if higher else values <= reach


def _first(run: Run, score: str, reach: float, end: float) -> float:
    found = _clock(run)[_reaches(run, score, reach)]
    return float(found[0]) if len(found) else end
