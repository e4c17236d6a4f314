"""Attributes that a strategy may lack: what counts then stands here alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods.parts.strategy import BaseStrategy, Strategy


@dataclass(frozen=True)
class StrategyFacts:
    """Optional attributes of a strategy; see `BaseStrategy`.

    Attributes:
        aggregation: Name of the aggregation for the strategy's weights.
        client_loss: The loss to ask for, as `AlgorithmConfig.client_loss`.
        may_select: Rules that `select` may break.
        participation_rates: Returns r(t), see `BaseStrategy.participation_rates`.
        num_clients: N, the length of its p; `None` if it has no p.
    """

    aggregation: str
    client_loss: str
    may_select: Collection[str]
    participation_rates: Callable[[], np.ndarray | None]
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
    names = ("aggregation", "client_loss", "may_select", "participation_rates")
    found = {name: getattr(strategy, name, getattr(_DEFAULTS, name)) for name in names}
    p = getattr(strategy, "p", None)
    return StrategyFacts(**found, num_clients=len(p) if isinstance(p, np.ndarray) else None)


def participation_rates(strategy: Strategy, num_clients: int) -> np.ndarray | None:
    """Returns the strategy's r(t), `float64 [N]`; `None` if it tracks no rates.

    Raises:
        ComponentError: If the rates are not N numbers.
    """
    rates = facts_of(strategy).participation_rates()
    if rates is None:
        return None
    if np.shape(rates) != (num_clients,):
        raise ComponentError(
            f"algorithm {type(strategy).__name__}: participation_rates returned shape "
            f"{np.shape(rates)}: must be ({num_clients},)"
        )
    return np.array(rates, np.float64)
