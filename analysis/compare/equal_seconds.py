"""Runs at equal simulated seconds.

A run at S seconds has the scores of its last evaluation up to S: of a model that was there at S.
With a score to reach, the time until it is compared, at most S; see `times`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from f3ast_tff.analysis.compare.scored import RunsError, Scored, varying
from f3ast_tff.analysis.compare.times import NotEvaluated, Time, clock_of
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.core.errors import ParameterError

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
        Time(seconds=self.seconds, reach=self.reach)

    def time(self, groups: Sequence[Scored]) -> Time:
        """Returns the time of these runs.

        Raises:
            RunsError: If a run has no clock.
            ParameterError: If a run ends before `seconds`.
        """
        ends = []
        for group in groups:
            for pair, course in group.courses.items():
                try:
                    ends.append((float(clock_of(course)[-1]), group.name_of(pair)))
                except NotEvaluated as error:
                    raise RunsError(f"{group.name_of(pair)} has {error}") from error
        end, name = min(ends)
        if self.seconds is not None and self.seconds > end:
            more = "with more rounds it lasts longer"
            allowed = f"must be at most {end:g}, when the first run ends, {name}; {more}"
            raise ParameterError("seconds", self.seconds, allowed)
        return Time(seconds=end if self.seconds is None else self.seconds, reach=self.reach)

    def cut(self, groups: Sequence[RunGroup]) -> list[RunGroup]:
        """Returns the runs up to S, for tables and pictures.

        Raises:
            RunsError: If a run has no clock, or no evaluation up to S.
            ParameterError: If a run ends before `seconds`.
        """
        end = self.time(groups).seconds or 0.0
        found = []
        for group in groups:
            runs = {}
            for pair, run in group.runs.items():
                metrics = run.metrics[clock_of(run.course) <= end]
                if metrics.empty:
                    raise RunsError(f"{run.path} has no evaluation up to {end:g} seconds")
                # Without the summary, whose scores are those of the whole run.
                runs[pair] = replace(run, metrics=metrics, summary={})
            found.append(replace(group, runs=runs))
        return found

    def theirs(self, groups: Sequence[Scored]) -> list[str]:
        """Returns the settings that are a method's own at equal seconds, of those that differ."""
        return varying(groups, _THEIRS)


def arrived(runs: Scored, score: str, time: Time) -> int:
    """Returns how many runs of a method have the score to reach by the end of `time`."""
    higher = runs.higher_is_better(score)
    return sum(time.reached(course, score, higher) for course in runs.courses.values())


def by_arrivals(groups: Sequence[Scored]) -> bool:
    """Whether a round of some runs is no common unit, so that only seconds compare them."""
    return any(group.setting("delivery") == "asynchronous" for group in groups)
