"""Base of what goes around a strategy, of any kind."""

from __future__ import annotations

import numpy as np

from f3ast_tff.selection.strategy import Cohort, Outcome, Round, Strategy


class Wrapped:
    """Does as the strategy inside it does; a subclass overrides what is otherwise.

    Attributes:
        strategy: The strategy.
    """

    def __init__(self, strategy: Strategy) -> None:
        """Takes the strategy, before its first round."""
        self.strategy = strategy

    @property
    def needs_losses(self) -> bool:
        """See `Strategy`."""
        return self.strategy.needs_losses

    @property
    def needs_outcome(self) -> bool:
        """See `Strategy`."""
        return self.strategy.needs_outcome

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        return self.strategy.select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`."""
        return self.strategy.weigh(now, ids, delivered)

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """See `Strategy.observe`."""
        self.strategy.observe(round_number, outcome)

    def participation_rates(self) -> np.ndarray | None:
        """See `BaseStrategy.participation_rates`."""
        tell = getattr(self.strategy, "participation_rates", None)
        return None if tell is None else tell()

    def state(self) -> dict[str, np.ndarray]:
        """See `Strategy.state`."""
        return self.strategy.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Strategy.restore`."""
        self.strategy.restore(state)
