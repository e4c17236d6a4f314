"""The clients that are seldom there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.process import stationary_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.scores.score_of import ScoreOfConfig
from f3ast_tff.settings import parameter, register


@register(
    "score_of",
    "seldom",
    "Seldom available clients",
    about="mean over the fifth of the clients that are least often available",
    order=2,
)
@dataclass(frozen=True)
class Seldom(ScoreOfConfig):
    """Mean over the clients with a test example whose long-run availability is lowest.

    The number of clients is rounded, at least one. Clients that tie with the last one count too.

    Examples:
        >>> from f3ast_tff import simulate
        >>> result = simulate(score_of="seldom", availability="home_devices", rounds=2)
        >>> "test_seldom_accuracy" in result.metrics
        True
    """

    needs_training_clients: ClassVar[bool] = True

    seldom_share: float = parameter(
        0.2, "share of the clients with a test example that count as seldom", above=0, maximum=1
    )

    def build(self, world: StrategyContext) -> SeldomScore:
        """See `ScoreOfConfig`.

        Raises:
            ParameterError: If the long-run availability is not known.
        """
        pi = stationary_of(world.availability)
        if pi is None:
            name = type(world.availability).__name__
            allowed = f"must be another: the long-run availability of {name} is not known"
            raise ParameterError("score_of", "seldom", allowed)
        return SeldomScore(pi, self.seldom_share)


@dataclass(frozen=True, eq=False)
class SeldomScore:
    """`Seldom` of clients whose long-run availability is `stationary`, `[N]`."""

    stationary: np.ndarray
    share: float

    def score(self, means: np.ndarray, ids: np.ndarray, higher_is_better: bool) -> float:
        """See `ScoreOfConfig`."""
        there = self.stationary[ids]
        last = np.sort(there)[max(1, round(self.share * len(ids))) - 1]
        return float(np.mean(means[there <= last]))
