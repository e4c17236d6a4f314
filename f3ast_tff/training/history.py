"""Who was available and selected, round by round."""

from __future__ import annotations

import numpy as np

from f3ast_tff.selection import Cohort


class SelectionHistory:
    """Per-round record of the selection, the content of `selection.npz`."""

    def __init__(self) -> None:
        """Starts empty."""
        self._available: list[int] = []
        self._dropped: list[int] = []
        self._rejected: list[bool] = []
        self._cohorts: list[Cohort] = []

    def append(self, num_available: int, cohort: Cohort, num_dropped: int, rejected: bool) -> None:
        """Adds a round."""
        self._available.append(num_available)
        self._cohorts.append(cohort)
        self._dropped.append(num_dropped)
        self._rejected.append(rejected)

    @property
    def num_empty(self) -> int:
        """Rounds without any client."""
        return sum(len(cohort) == 0 for cohort in self._cohorts)

    @property
    def num_dropped(self) -> int:
        """Client updates dropped for not being finite, over all rounds."""
        return sum(self._dropped)

    @property
    def num_rejected(self) -> int:
        """Rounds with clients that left the model alone."""
        pairs = zip(self._cohorts, self._rejected)
        return sum(rejected and len(cohort) > 0 for cohort, rejected in pairs)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the record.

        Returns:
            `num_available`, `num_selected`, `num_dropped`: `int64 [T]`; `rejected`: `bool [T]`;
            `selected`: `int64 [T, widest cohort]`, client ids, -1 where there is none;
            `weights`: `float64`, same shape, 0 where there is none; `weight_sum`, their sum over
            the cohort: `float64 [T]`.
        """
        sizes = np.array([len(cohort) for cohort in self._cohorts], np.int64)
        filled = np.arange(sizes.max(initial=0)) < sizes[:, None]
        selected = np.full(filled.shape, -1, np.int64)
        weights = np.zeros(filled.shape)
        if len(sizes):
            selected[filled] = np.concatenate([cohort.ids for cohort in self._cohorts])
            weights[filled] = np.concatenate([cohort.weights for cohort in self._cohorts])
        return {
            "num_available": np.array(self._available, np.int64),
            "num_selected": sizes,
            "num_dropped": np.array(self._dropped, np.int64),
            "rejected": np.array(self._rejected, bool),
            "selected": selected,
            "weights": weights,
            "weight_sum": np.array([cohort.weights.sum() for cohort in self._cohorts], np.float64),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes back what `arrays` returned."""
        self._available = arrays["num_available"].tolist()
        self._dropped = arrays["num_dropped"].tolist()
        self._rejected = arrays["rejected"].tolist()
        rows = zip(arrays["selected"], arrays["weights"], arrays["num_selected"])
        self._cohorts = [Cohort(ids[:size], weights[:size]) for ids, weights, size in rows]
