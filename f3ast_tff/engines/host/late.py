"""Updates under way between rounds, one row per slot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from f3ast_tff.engines.engine import LateCohort

_PREFIX = "late_"
# Values of a client that did not train, by name; 0 for others.
_NOTHING = {"loss": np.nan, "finite": True}


class LateUpdates:
    """Updates D_k, losses and more of the clients whose updates are under way, by name.

    Of an aggregation that `mixes_models` the rows are the clients' trained models.
    """

    def __init__(self, **rows: np.ndarray) -> None:
        """Starts without updates; takes arrays of no row, `[0, ...]`."""
        self._rows = rows

    def keep(self, cohort: LateCohort, trained: Mapping[str, np.ndarray]) -> None:
        """Keeps the updates of a round's asked clients in their slots; rows are added if needed."""
        number = len(next(iter(self._rows.values())))
        missing = max(0, int(cohort.slots.max(initial=-1)) + 1 - number)
        for name, rows in self._rows.items():
            if missing:
                # At least doubled, so that rows are rarely copied.
                more = np.zeros((max(missing, number), *rows.shape[1:]), rows.dtype)
                self._rows[name] = rows = np.concatenate([rows, more])
            rows[cohort.slots] = trained[name]

    def of(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Returns the updates in these slots, `int64 [m]`; those of nobody for a slot below 0."""
        there, found = slots >= 0, {}
        for name, rows in self._rows.items():
            nothing = _NOTHING.get(name, 0)
            found[name] = np.full((len(slots), *rows.shape[1:]), nothing, rows.dtype)
            found[name][there] = rows[slots[there]]
        return found

    def state(self) -> dict[str, np.ndarray]:
        """Returns the updates for a checkpoint."""
        return {f"{_PREFIX}{name}": rows for name, rows in self._rows.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores updates, and removes them from `state`.

        Raises:
            ValueError: If the updates are of another model.
        """
        found = {name: np.array(state.pop(f"{_PREFIX}{name}")) for name in self._rows}
        number = len(next(iter(found.values())))
        if any(found[n].shape != (number, *own.shape[1:]) for n, own in self._rows.items()):
            raise ValueError("the saved updates under way are those of another model")
        self._rows = found
