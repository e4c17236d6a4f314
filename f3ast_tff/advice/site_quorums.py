"""Sites under a quorum: how long a round takes, and whose model it makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.randomness import generator

# Rounds that are drawn; a weight then has a standard error of at most .004.
DRAWS = 20_000


@dataclass(frozen=True)
class SiteTimes:
    """Independent sites whose rounds take log-normal times.

    Attributes:
        names: Names of the N sites.
        seconds: Median time of a site's round, seconds, `float64 [N]`.
        spread: Standard deviation of its logarithm, `float64 [N]`, at least 0.
        presence: Chance that the site replies at all, `float64 [N]`, in (0, 1].
        examples: Number of examples, `float64 [N]`.
    """

    names: tuple[str, ...]
    seconds: np.ndarray
    spread: np.ndarray
    presence: np.ndarray
    examples: np.ndarray


@dataclass(frozen=True)
class AtQuorum:
    """Rounds under a quorum.

    Attributes:
        quorum: Number of sites q that a round needs.
        succeeds: Share of rounds with q replies.
        seconds: Mean seconds per successful round, with the failed rounds before it; infinite if
            none succeeds.
        arrives: Share of the successful rounds in which each site is among the first q,
            `float64 [N]`.
        weight: Mean share of each site in a successful round's average by examples, `float64 [N]`.
    """

    quorum: int
    succeeds: float
    seconds: float
    arrives: np.ndarray
    weight: np.ndarray

    @property
    def left_out(self) -> np.ndarray:
        """Sites that are there in less than half of the rounds, `bool [N]`."""
        return self.arrives < 0.5


def by_quorum(sites: SiteTimes, quorums: Sequence[int] = (), draws: int = DRAWS) -> list[AtQuorum]:
    """Plays rounds in which all sites are asked and the first q replies count.

    A round without q replies waits for the last one that comes, and is then asked again.

    Args:
        sites: The sites.
        quorums: Values of q; by default 1 .. N.
        draws: Number of rounds.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.advice.site_quorums import SiteTimes, by_quorum
        >>> ones = np.ones(2)
        >>> sites = SiteTimes(("A", "B"), np.array([60.0, 90.0]), 0 * ones, ones, np.array([1, 3]))
        >>> [(each.seconds, each.weight.tolist()) for each in by_quorum(sites)]
        [(60.0, [1.0, 0.0]), (90.0, [0.25, 0.75])]
    """
    n, rng = len(sites.names), generator(0, "site quorums")
    times = sites.seconds * np.exp(sites.spread * rng.standard_normal((draws, n)))
    times = np.where(rng.random((draws, n)) < sites.presence, times, math.inf)
    ordered = np.sort(times, axis=1)
    last = np.where(np.isfinite(times), times, 0).max(axis=1)
    found = []
    for quorum in quorums or range(1, n + 1):
        end = ordered[:, quorum - 1]
        there = np.isfinite(end)
        within = times[there] <= end[there, None]
        held = within * sites.examples
        spent = float(end[there].sum() + last[~there].sum())
        count = max(int(there.sum()), 1)
        found.append(
            AtQuorum(
                quorum,
                succeeds=float(there.mean()),
                seconds=spent / count if there.any() else math.inf,
                arrives=within.sum(axis=0) / count,
                weight=(held / held.sum(axis=1, keepdims=True)).sum(axis=0) / count,
            )
        )
    return found
