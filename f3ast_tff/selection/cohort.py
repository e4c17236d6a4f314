"""The clients of a round and the weights of their updates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cohort:
    """Who trains in a round, and with what weight each update enters the aggregate.

    Attributes:
        ids: Client ids, `int64 [m]`; with-replacement sampling may repeat a client.
        weights: Aggregation weight of each, `float64 [m]`.
    """

    ids: np.ndarray
    weights: np.ndarray

    def __post_init__(self) -> None:
        if self.ids.shape != self.weights.shape or self.ids.ndim != 1:
            raise ValueError(f"ids {self.ids.shape} and weights {self.weights.shape} must be [m]")

    def __len__(self) -> int:
        return len(self.ids)
