"""Scores over time of the runs of one method under one condition, and their mean over draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.analysis.compare.times import FINAL, Course, NotEvaluated, Time, measured

# First words of the scores that every run has.
KINDS_OF_SCORES = ("sample", "user")


class Pair(NamedTuple):
    """Data draw and seed of a run; runs of one experiment differ only in these.

    Attributes:
        draw: Draw of the data, setting `data_seed`; 0 for tasks without one.
        seed: Setting `seed`: availability, selection, batches, initial weights.
    """

    draw: int
    seed: int


class RunsError(ValueError):
    """Runs or their scores cannot be used: they are missing, damaged or not comparable."""


class Scored:
    """Runs that differ only by data draw and seed: what a comparison needs of them.

    Attributes:
        settings: Settings of all the runs, by name.
        directions: Whether a higher score is better, by the score's name without `sample_` or
            `user_`, such as `accuracy`.
        kinds: First words of the scores: `sample`, `user`, and that of further scores.
        ways: Whether a higher further score is better, by its first word, where that is the same
            for all names.
        courses: Evaluations by run, see `times`.
        generates_data: Whether the task generates its data, so that there are other draws.
        independent: Whether a run of another method with the same seed is no pair of this one's.
    """

    settings: Mapping[str, Any]
    directions: Mapping[str, bool]
    courses: Mapping[Pair, Course]
    generates_data: bool
    independent: bool = False
    kinds: Sequence[str] = KINDS_OF_SCORES
    ways: Mapping[str, bool] = MappingProxyType({})

    def name_of(self, pair: Pair) -> str:
        """Returns a run's name in an error."""
        what = ", ".join(f"{name} {text}" for name, text in self.settings.items() if text)
        return f"the run {what}, {pair}"

    def setting(self, name: str) -> Any:
        """Returns a setting, `None` if the runs do not have it."""
        return self.settings.get(name)

    @property
    def algorithm(self) -> str:
        """Name of the algorithm, as in the settings."""
        return str(self.settings["algorithm"])

    @property
    def score_names(self) -> tuple[str, ...]:
        """The scores: over samples, over users and further ones, by each name of `directions`."""
        return scores_named(self.directions, self.kinds)

    def higher_is_better(self, metric: str) -> bool:
        """Returns whether a higher value of a score, or of a metric of it, is better."""
        score, _ = measured(metric, FINAL)
        kind, _, name = score.partition("_")
        return self.ways.get(kind, self.directions[name])

    def at(self, metric: str, time: str | int | Time) -> dict[Pair, float]:
        """Returns a score by run at a time, or the time until a score; see `times`.

        Args:
            metric: One of `score_names`, or a metric of it, see `times.measured`.
            time: A round, a period, or a `Time`.

        Returns:
            The values; not finite where the score is not.

        Raises:
            RunsError: If a run was not evaluated at that time.
        """
        score, when = measured(metric, time)
        # A cell of a table stands in many pairs.
        known: dict[tuple[str, Time], dict[Pair, float]] = vars(self).setdefault("_known", {})
        if (score, when) in known:
            return known[score, when]
        found, higher = {}, self.higher_is_better(score)
        for pair, course in self.courses.items():
            try:
                found[pair] = when.value(course, score, higher)
            except NotEvaluated as error:
                raise RunsError(f"{self.name_of(pair)} has {error}") from error
        known[score, when] = found
        return found


@dataclass(frozen=True, eq=False)
class Kept(Scored):
    """Runs of which only scores are kept; see `Scored` for the attributes."""

    settings: Mapping[str, Any]
    courses: Mapping[Pair, Course]
    directions: Mapping[str, bool]
    generates_data: bool = False
    independent: bool = False
    kinds: Sequence[str] = KINDS_OF_SCORES
    ways: Mapping[str, bool] = field(default_factory=dict)


def scores_named(names: Iterable[str], kinds: Sequence[str] = KINDS_OF_SCORES) -> tuple[str, ...]:
    """Returns the scores of these names: over samples and over users, then further ones."""
    return tuple(f"{kind}_{name}" for name in names for kind in kinds)


@dataclass(frozen=True)
class Score:
    """Mean and standard deviation over draws of the data; with one draw, over its seeds.

    Attributes:
        mean: Mean over draws, of each draw's mean over its seeds; NaN if a score is not finite.
        deviation: Standard deviation of the draws' means (of the seeds with one draw), with n - 1
            degrees of freedom; NaN for one run.
        num_runs: Number of runs.
        num_draws: Number of data draws among the runs.
    """

    mean: float
    deviation: float
    num_runs: int
    num_draws: int


def summarised(scores: Mapping[Pair, float]) -> Score:
    """Returns mean and deviation of a score by pair, at least one."""
    by_draw: dict[int, list[float]] = {}
    for pair, value in scores.items():
        by_draw.setdefault(pair.draw, []).append(value)
    draws = list(by_draw.values())
    values = np.array(draws[0] if len(draws) == 1 else [np.mean(each) for each in draws])
    if not np.isfinite(values).all():
        return Score(math.nan, deviation=math.nan, num_runs=len(scores), num_draws=len(draws))
    deviation = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return Score(
        float(values.mean()), deviation=deviation, num_runs=len(scores), num_draws=len(draws)
    )


def varying(groups: Sequence[Scored], names: Iterable[str] | None = None) -> list[str]:
    """Returns the settings that differ between groups, of these names or of all."""
    if names is None:
        names = dict.fromkeys(name for group in groups for name in group.settings)
    return [name for name in names if len({group.setting(name) for group in groups}) > 1]
