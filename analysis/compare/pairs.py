"""Two methods over their common draws, and what a run that diverged counts.

**One rule for a run that diverged**: it has the worst value of the score. That is 0 for an
accuracy; for a score without a worst value, such as a loss, it is infinitely bad. A run has
diverged at a time if its score there, or the loss of the same kind (of samples, of users), is not
finite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from f3ast_tff.analysis.compare.independent_difference import independent_difference
from f3ast_tff.analysis.compare.paired_difference import PairedDifference, difference_of_common
from f3ast_tff.analysis.compare.scored import Pair, Score, Scored, summarised
from f3ast_tff.analysis.compare.times import Time, measured

_LOSS = "loss"


@dataclass(frozen=True)
class Divergence:
    """Number of common runs in which A and B diverged; `runs_of_b` if B has others."""

    a: int
    b: int
    runs: int
    runs_of_b: int | None = None

    @property
    def loser(self) -> str:
        """`A`, `B` or `AB`: methods that diverged in more than half of the runs; `""` if none."""
        return "A" * (2 * self.a > self.runs) + "B" * (2 * self.b > self._of_b)

    @property
    def _of_b(self) -> int:
        return self.runs if self.runs_of_b is None else self.runs_of_b

    def said(self, a: str = "A", b: str = "B") -> str:
        """Returns which method diverged how often, by its name; `""` if none did."""
        counts = [(a, self.a, self.runs), (b, self.b, self._of_b)]
        said = " and ".join(f"{name} diverged in {n} of {runs}" for name, n, runs in counts if n)
        return f"{said} runs" if said else ""


@dataclass(frozen=True, eq=False)
class Paired:
    """Methods A and B in one score at one time.

    Attributes:
        a: Values of A by run; those of a diverged run by the rule.
        b: Values of B, likewise.
        higher_is_better: Whether a higher value is better.
        generates_data: Whether the task generates its data.
        diverged_a: Runs of A that diverged.
        diverged_b: Runs of B that diverged.
        independent: Whether runs of A and B are samples of their own: a seed of both is no pair.
    """

    a: Mapping[Pair, float]
    b: Mapping[Pair, float]
    higher_is_better: bool
    generates_data: bool = False
    diverged_a: frozenset[Pair] = frozenset()
    diverged_b: frozenset[Pair] = frozenset()
    independent: bool = False

    @cached_property
    def common(self) -> list[Pair]:
        """Draws and seeds of runs that both methods have."""
        return sorted(self.a.keys() & self.b.keys())

    @property
    def num_draws(self) -> int:
        """Number of common draws of the data; of the method with fewer, if independent."""
        if self.independent:
            return min(len({pair.draw for pair in runs}) for runs in (self.a, self.b))
        return len({pair.draw for pair in self.common})

    @property
    def num_pairs(self) -> int:
        """Number of common runs; of the method with fewer, if independent."""
        return min(len(self.a), len(self.b)) if self.independent else len(self.common)

    @cached_property
    def found(self) -> PairedDifference | None:
        """A minus B over the common runs; `None` for fewer than 2."""
        if self.independent:
            return independent_difference(self.a, self.b)
        return difference_of_common(self.a, self.b)

    @cached_property
    def mean(self) -> float:
        """Mean of A minus B, also of a single common run; NaN without one or with an infinity."""
        if self.found is not None:
            return self.found.mean
        if self.independent:
            return float(np.mean([*self.a.values()]) - np.mean([*self.b.values()]))
        return self.a[self.common[0]] - self.b[self.common[0]] if self.common else math.nan

    @cached_property
    def divergence(self) -> Divergence:
        """Numbers of common runs in which A and B diverged."""
        if self.independent:
            return Divergence(
                len(self.diverged_a), len(self.diverged_b), len(self.a), runs_of_b=len(self.b)
            )
        common = frozenset(self.common)
        of_a, of_b = (len(common & each) for each in (self.diverged_a, self.diverged_b))
        return Divergence(of_a, of_b, len(common))

    @property
    def turned(self) -> Paired:
        """B and A."""
        return replace(
            self, a=self.b, b=self.a, diverged_a=self.diverged_b, diverged_b=self.diverged_a
        )

    @property
    def sign(self) -> float:
        """Turns A minus B so that positive is better for A."""
        return 1.0 if self.higher_is_better else -1.0


def paired(a: Scored, b: Scored, metric: str, time: str | int | Time) -> Paired:
    """Pairs the runs of two methods in one score at one time.

    Args:
        a: Runs of method A.
        b: Runs of method B, which have the same score.
        metric: Score, such as `user_accuracy`, or metric of it; see `times.measured`.
        time: A round, a period, or a `Time`.

    Raises:
        RunsError: If a run was not evaluated at that time.
    """
    score, when = measured(metric, time)
    return Paired(
        a=ranked(a, score, when),
        b=ranked(b, score, when),
        # A time until a score is better when it is shorter.
        higher_is_better=when.reach is None and a.higher_is_better(score),
        generates_data=a.generates_data,
        diverged_a=diverged(a, score, when),
        diverged_b=diverged(b, score, when),
        independent=a.independent or b.independent,
    )


def ranked(runs: Scored, metric: str, time: str | int | Time) -> dict[Pair, float]:
    """Returns a method's score by run; a run that diverged has the worst value."""
    score, when = measured(metric, time)
    worst = _worst(score, runs.higher_is_better(score))
    lost = diverged(runs, score, when)
    return {pair: worst if pair in lost else value for pair, value in runs.at(score, when).items()}


def diverged(runs: Scored, metric: str, time: str | int | Time) -> frozenset[Pair]:
    """Returns the runs of a method that diverged; none if the value is the time until a score."""
    score, when = measured(metric, time)
    if when.reach is not None:
        # A score that is not finite is not reached: the run is censored, see `times`.
        return frozenset()
    kind = score.partition("_")[0]
    known = runs.score_names
    names = [name for name in dict.fromkeys((score, f"{kind}_{_LOSS}")) if name in known]
    every = [runs.at(name, when) for name in names]
    return frozenset(p for found in every for p, value in found.items() if not math.isfinite(value))


def mean_score(runs: Scored, metric: str, time: str | int | Time) -> Score:
    """Returns a method's mean over draws, by the rule for runs that diverged; NaN if infinite."""
    return summarised(ranked(runs, metric, time))


def best_first(runs: Scored, metric: str, time: str | int | Time) -> float:
    """Returns a key that sorts methods by mean score, the best first; infinitely bad ones last."""
    mean = mean_score(runs, metric, time).mean
    sign = -1.0 if runs.higher_is_better(metric) else 1.0
    return sign * mean if math.isfinite(mean) else math.inf


def mean_over(parts: Sequence[Paired]) -> Paired:
    """Returns the mean of both methods over several conditions, by run.

    Args:
        parts: The pairs by condition, at least one. A run that a part lacks is left out. A run that
            diverged in any of them counts as diverged.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    a, b = (_mean([getattr(part, side) for part in parts]) for side in "ab")
    return Paired(
        a=a,
        b=b,
        higher_is_better=first.higher_is_better,
        generates_data=first.generates_data,
        diverged_a=frozenset().union(*(part.diverged_a for part in parts)),
        diverged_b=frozenset().union(*(part.diverged_b for part in parts)),
    )


def lead_over(one: Paired, other: Paired) -> Paired:
    """Pairs the lead of A over B under one condition with that under another, by run.

    A lead is turned so that positive is better for A, also for a loss.
    """
    leads = [{pair: p.sign * (p.a[pair] - p.b[pair]) for pair in p.common} for p in (one, other)]
    lost = [p.diverged_a | p.diverged_b for p in (one, other)]
    return Paired(
        a=leads[0],
        b=leads[1],
        higher_is_better=True,
        generates_data=one.generates_data,
        diverged_a=lost[0],
        diverged_b=lost[1],
    )


def _worst(score: str, higher_is_better: bool) -> float:
    if score.endswith("accuracy"):
        return 0.0
    return -math.inf if higher_is_better else math.inf


def _mean(parts: Sequence[Mapping[Pair, float]]) -> dict[Pair, float]:
    common = set.intersection(*(set(part) for part in parts))
    return {pair: float(np.mean([part[pair] for part in parts])) for pair in sorted(common)}
