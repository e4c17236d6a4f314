"""Updates under way between rounds, one row per slot."""

from __future__ import annotations

import numpy as np

from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.engines.host.local_work import LocalResult

_PREFIX = "late_"


class LateUpdates:
    """Updates D_k and losses of the clients whose updates are under way.

    Of an aggregation that `mixes_models` the rows are the clients' trained models.
    """

    def __init__(self, num_weights: int) -> None:
        """Starts without updates of `num_weights` numbers."""
        self._updates = np.zeros((0, num_weights), np.float32)
        self._losses = np.zeros(0)

    def keep(self, late_cohort: LateCohort, trained: LocalResult) -> None:
        """Keeps the updates of a round's asked clients in their slots; rows are added if needed."""
        missing = max(0, int(late_cohort.slots.max(initial=-1)) + 1 - len(self._losses))
        if missing:
            # At least doubled, so that rows are rarely copied.
            missing = max(missing, len(self._losses))
            room = np.zeros((missing, self._updates.shape[1]), np.float32)
            self._updates = np.concatenate([self._updates, room])
            self._losses = np.concatenate([self._losses, np.zeros(missing)])
        self._updates[late_cohort.slots] = trained.updates
        self._losses[late_cohort.slots] = trained.losses

    def of(self, slots: np.ndarray) -> LocalResult:
        """Returns the updates in these slots, `int64 [m]`; 0 for a slot below 0."""
        there = slots >= 0
        updates = np.zeros((len(slots), self._updates.shape[1]), np.float32)
        updates[there] = self._updates[slots[there]]
        losses = np.full(len(slots), np.nan)
        losses[there] = self._losses[slots[there]]
        return LocalResult(updates, losses)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the updates for a checkpoint."""
        return {f"{_PREFIX}update": self._updates, f"{_PREFIX}loss": self._losses}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores updates, and removes them from `state`.

        Raises:
            ValueError: If the updates are of another model.
        """
        updates, losses = (np.array(state.pop(name)) for name in self.state())
        if updates.shape != (len(losses), self._updates.shape[1]):
            raise ValueError("the saved updates under way are those of another model")
        self._updates, self._losses = updates, losses
