"""Attributes that a strategy may lack: what counts then stands here alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.methods.parts.strategy import BaseStrategy


@dataclass(frozen=True)
class StrategyFacts:
    """Optional attributes of a strategy; see `BaseStrategy`.

    Attributes:
        aggregation: Name of the aggregation for the strategy's weights.
        client_loss: The loss to ask for, as `AlgorithmConfig.client_loss`.
        may_select: Rules that `select` may break.
        num_clients: N, the length of its p; `None` if it has no p.
    """

    aggregation: str
    client_loss: str
    may_select: Collection[str]
    num_clients: int | None


class _Defaults(BaseStrategy):
    def select(self, now: Any) -> np.ndarray:
        return np.zeros(0, np.int64)


_DEFAULTS = _Defaults()


def facts_of(strategy: Any) -> StrategyFacts:
    """Returns the optional attributes of a strategy, or of a function that makes one.

    Examples:
        >>> from f3ast_tff import F3AST
        >>> from f3ast_tff.methods.parts.strategy_facts import facts_of
        >>> facts_of(F3AST.start([0.5, 0.5], k=1)).num_clients, facts_of(object()).aggregation
        (2, 'sum')
    """
    names = ("aggregation", "client_loss", "may_select")
    found = {name: getattr(strategy, name, getattr(_DEFAULTS, name)) for name in names}
    p = getattr(strategy, "p", None)
    return StrategyFacts(**found, num_clients=len(p) if isinstance(p, np.ndarray) else None)
