"""A minimum separation between two selections of a client, for any strategy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from f3ast_tff.saved_state import check_saved
from f3ast_tff.selection.strategy import Cohort, Round, Strategy
from f3ast_tff.selection.wrapped import Wrapped


class Separated(Wrapped):
    """Whoever is selected in round t cannot be in rounds t + 1 .. t + R: C_t holds no set with it.

    The strategy sees those who rest as not available. So F3AST's rates, which follow who is
    selected, stay right; what knows or estimates pi_k does not know of the rest, and its weights
    p_k / pi_k are too small.
    """

    def __init__(self, strategy: Strategy, separation: int, num_clients: int) -> None:
        """Takes the strategy, before its first round.

        Args:
            strategy: Picks among the others.
            separation: R, rounds between two selections, at least 1.
            num_clients: Number of clients N.
        """
        super().__init__(strategy)
        self._separation = separation
        # First round in which each client can be selected.
        self._free = np.zeros(num_clients, np.int64)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        return super().select(self._rested(now))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`; a selected client rests for R rounds, its update lost or not."""
        cohort = super().weigh(self._rested(now), ids, delivered)
        self._free[ids] = now.number + self._separation + 1
        return cohort

    def _rested(self, now: Round) -> Round:
        return replace(now, available=now.available & (self._free <= now.number))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the strategy's state, and from which round on each client is free."""
        return {**super().state(), "free_from": self._free.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned.

        Raises:
            ValueError: If a part is missing, or is of another number of clients.
        """
        check_saved(state, {"free_from": self._free}, "selections")
        super().restore({n: value for n, value in state.items() if n != "free_from"})
        self._free[:] = state["free_from"]
