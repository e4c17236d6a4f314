"""Who was available, selected and received, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from f3ast_tff.training.delivering import Delivered


class Totals(NamedTuple):
    """Sums over the rounds so far.

    Attributes:
        bytes_down: Bytes that the server sent.
        bytes_up: Bytes that it received.
        seconds: Simulated time; NaN without a clock.
    """

    bytes_down: int
    bytes_up: int
    seconds: float


class SelectionHistory:
    """Per-round record of the selection, the content of `selection.npz`."""

    def __init__(self) -> None:
        """Starts empty."""
        self._available: list[int] = []
        self._dropped: list[int] = []
        self._rejected: list[bool] = []
        self._asked: list[np.ndarray] = []
        self._received: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []
        self._seconds: list[float] = []
        self._bytes: list[tuple[int, int]] = []
        self._total = Totals(0, 0, 0.0)

    def append(
        self, num_available: int, delivered: Delivered, num_dropped: int, rejected: bool
    ) -> None:
        """Adds a round."""
        weights = np.zeros(len(delivered.asked))
        weights[delivered.received] = delivered.cohort.weights
        of_bytes = (delivered.bytes_down, delivered.bytes_up)
        self._available.append(num_available)
        self._dropped.append(num_dropped)
        self._rejected.append(rejected)
        self._asked.append(delivered.asked)
        self._received.append(delivered.received)
        self._weights.append(weights)
        self._add(delivered.seconds, *of_bytes)

    def _add(self, seconds: float, bytes_down: int, bytes_up: int) -> None:
        self._seconds.append(seconds)
        self._bytes.append((bytes_down, bytes_up))
        down, up, before = self._total
        self._total = Totals(down + bytes_down, up + bytes_up, before + seconds)

    @property
    def total(self) -> Totals:
        """Bytes and seconds of all rounds."""
        return self._total

    @property
    def num_empty(self) -> int:
        """Rounds without any client whose update arrived."""
        return sum(not received.any() for received in self._received)

    @property
    def num_lost(self) -> int:
        """Clients asked whose update was not received, over all rounds."""
        return sum(int(np.count_nonzero(~received)) for received in self._received)

    @property
    def num_dropped(self) -> int:
        """Client updates dropped for not being finite, over all rounds."""
        return sum(self._dropped)

    @property
    def num_rejected(self) -> int:
        """Rounds with clients that left the model alone."""
        pairs = zip(self._received, self._rejected)
        return sum(rejected and bool(received.any()) for received, rejected in pairs)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the record.

        Returns:
            `num_available`, `num_selected`, `num_received`, `num_dropped`: `int64 [T]`;
            `rejected`: `bool [T]`; `selected`: `int64 [T, widest cohort]`, client ids, -1 where
            there is none; `received`: whose update arrived, `bool`, same shape; `weights`:
            `float64`, same shape, 0 where there is none; `weight_sum`, their sum over those
            received: `float64 [T]`; `round_seconds`: duration, NaN without a clock, `float64 [T]`;
            `bytes_down`, `bytes_up`: that the server sent and received, `int64 [T]`.
        """
        sizes = np.array([len(ids) for ids in self._asked], np.int64)
        filled = np.arange(sizes.max(initial=0)) < sizes[:, None]
        of_bytes = np.array(self._bytes, np.int64).reshape(-1, 2)
        pairs = zip(self._weights, self._received)
        return {
            "num_available": np.array(self._available, np.int64),
            "num_selected": sizes,
            "num_received": np.array([np.count_nonzero(r) for r in self._received], np.int64),
            "num_dropped": np.array(self._dropped, np.int64),
            "rejected": np.array(self._rejected, bool),
            "selected": _table(self._asked, filled, -1, np.dtype(np.int64)),
            "received": _table(self._received, filled, False, np.dtype(bool)),
            "weights": _table(self._weights, filled, 0, np.dtype(np.float64)),
            "weight_sum": np.array([weights[came].sum() for weights, came in pairs], np.float64),
            "round_seconds": np.array(self._seconds, np.float64),
            "bytes_down": of_bytes[:, 0],
            "bytes_up": of_bytes[:, 1],
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes back what `arrays` returned."""
        sizes = arrays["num_selected"].tolist()
        self._available = arrays["num_available"].tolist()
        self._dropped = arrays["num_dropped"].tolist()
        self._rejected = arrays["rejected"].tolist()
        self._asked = [ids[:size] for ids, size in zip(arrays["selected"], sizes)]
        self._received = [came[:size] for came, size in zip(arrays["received"], sizes)]
        self._weights = [weights[:size] for weights, size in zip(arrays["weights"], sizes)]
        of_rounds = (arrays["round_seconds"], arrays["bytes_down"], arrays["bytes_up"])
        for seconds, down, up in zip(*(column.tolist() for column in of_rounds)):
            self._add(seconds, down, up)


def _table(
    rows: Sequence[np.ndarray], filled: np.ndarray, nothing: int | bool, dtype: np.dtype
) -> np.ndarray:
    table = np.full(filled.shape, nothing, dtype)
    if len(rows):
        table[filled] = np.concatenate(rows)
    return table
