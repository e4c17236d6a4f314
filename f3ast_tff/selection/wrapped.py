"""Base of what goes around a strategy, of any kind."""

from __future__ import annotations

import numpy as np

from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.strategy import Cohort, Losses, Outcome, Strategy


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

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`."""
        return self.strategy.select(round_number, available, feasible, losses)

    def received(self, round_number: int, cohort: Cohort, received: np.ndarray) -> Cohort:
        """See `BaseStrategy.received`."""
        tell = getattr(self.strategy, "received", None)
        return cohort.only(received) if tell is None else tell(round_number, cohort, received)

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
