"""The interface of a selection strategy: who trains this round, with what weight."""

from __future__ import annotations

from typing import Callable, ClassVar, Protocol

import numpy as np

from f3ast_tff.selection.cohort import Cohort
from f3ast_tff.selection.feasible import Feasible

# Current losses of the clients asked for: ids `int [m]` -> `float [m]`.
Losses = Callable[[np.ndarray], np.ndarray]


def no_losses(ids: np.ndarray) -> np.ndarray:
    """Losses where there is no model: for strategies that ask nobody, see `needs_losses`."""
    raise RuntimeError(f"asked clients {ids} for their losses, but there is no model")


class Strategy(Protocol):
    """A selection policy over N clients; owns neither data nor model.

    Randomness comes from (seed, round) alone, so that the state below is all there is to save.

    Attributes:
        needs_losses: Whether it asks for losses; if not, its cohorts do not depend on the model.
    """

    needs_losses: ClassVar[bool]

    def select(
        self, round_number: int, available: np.ndarray, k: int | Feasible, losses: Losses
    ) -> Cohort:
        """Picks the cohort of a round.

        Args:
            round_number: Round t, from 1.
            available: Who is reachable, `bool [N]`.
            k: K_t, the most clients that the server can talk to, at least 1; or a constraint of
                another kind.
            losses: Asks clients for their current loss; costs communication, so a strategy asks
                only those that its definition asks.

        Returns:
            The cohort; empty where nobody is available.
        """
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Returns all that a checkpoint must hold."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned."""
        ...


class Stateless:
    """Mixin for strategies that remember nothing between rounds."""

    needs_losses: ClassVar[bool] = False

    def state(self) -> dict[str, np.ndarray]:
        """Returns nothing to save."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Checks that there is nothing to take back."""
        if state:
            raise ValueError(f"unexpected saved state: {sorted(state)}")
