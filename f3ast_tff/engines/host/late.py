"""Updates under way between rounds, one row per slot."""

from __future__ import annotations

import numpy as np

from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.engines.host.local_work import LocalResult

_PREFIX = "late_"


class LateUpdates:
    """Updates D_k, losses and buffers of the clients whose updates are under way.

    Of an aggregation that `mixes_models` the rows are the clients' trained models.
    """

    def __init__(self, num_weights: int, num_buffers: int) -> None:
        """Starts without updates, of `num_weights` numbers with `num_buffers` of buffers."""
        self._updates = np.zeros((0, num_weights), np.float32)
        self._losses = np.zeros(0)
        self._buffers = np.zeros((0, num_buffers), np.float32)

    def keep(self, late_cohort: LateCohort, trained: LocalResult) -> None:
        """Keeps the updates of a round's asked clients in their slots; rows are added if needed."""
        missing = max(0, int(late_cohort.slots.max(initial=-1)) + 1 - len(self._losses))
        if missing:
            # At least doubled, so that rows are rarely copied.
            missing = max(missing, len(self._losses))
            self._updates = _longer(self._updates, missing)
            self._losses = _longer(self._losses, missing)
            self._buffers = _longer(self._buffers, missing)
        self._updates[late_cohort.slots] = trained.updates
        self._losses[late_cohort.slots] = trained.losses
        self._buffers[late_cohort.slots] = trained.buffers

    def of(self, slots: np.ndarray) -> LocalResult:
        """Returns the updates in these slots, `int64 [m]`; 0 for a slot below 0."""
        there = slots >= 0
        updates = np.zeros((len(slots), self._updates.shape[1]), np.float32)
        updates[there] = self._updates[slots[there]]
        losses = np.full(len(slots), np.nan)
        losses[there] = self._losses[slots[there]]
        buffers = np.zeros((len(slots), self._buffers.shape[1]), np.float32)
        buffers[there] = self._buffers[slots[there]]
        return LocalResult(updates, losses, buffers)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the updates for a checkpoint."""
        state: dict[str, np.ndarray] = {f"{_PREFIX}update": self._updates}
        state[f"{_PREFIX}loss"] = self._losses
        if self._buffers.shape[1]:
            state[f"{_PREFIX}buffers"] = self._buffers
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores updates, and removes them from `state`.

        Raises:
            ValueError: If the updates are of another model.
        """
        updates, losses, *more = (np.array(state.pop(name)) for name in self.state())
        buffers = more[0] if more else np.zeros((len(losses), 0), np.float32)
        wanted = [(len(losses), own.shape[1]) for own in (self._updates, self._buffers)]
        if [updates.shape, buffers.shape] != wanted:
            raise ValueError("the saved updates under way are those of another model")
        self._updates, self._losses, self._buffers = updates, losses, buffers


def _longer(rows: np.ndarray, more: int) -> np.ndarray:
    return np.concatenate([rows, np.zeros((more, *rows.shape[1:]), rows.dtype)])
