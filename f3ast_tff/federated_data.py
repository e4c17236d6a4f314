"""Federated data: columnar arrays of examples, cut into clients by offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ClientExamples:
    """Examples of all clients, one client after the other.

    Attributes:
        features: `[num_examples, ...]`, any dtype.
        labels: Integer class ids, `[num_examples]`, or `[num_examples, length]` for sequences; a
            negative label does not count, in no loss and no accuracy (the pads of a sequence).
        offsets: `int64 [num_clients + 1]`; client k holds rows `offsets[k]:offsets[k + 1]`.
    """

    features: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        rows = len(self.features)
        if len(self.labels) != rows:
            raise ValueError(f"{rows} rows of features but {len(self.labels)} of labels")
        if self.offsets[0] != 0 or self.offsets[-1] != rows or np.any(np.diff(self.offsets) < 0):
            raise ValueError(f"offsets must rise from 0 to {rows}, the number of examples")

    @property
    def num_clients(self) -> int:
        """Number of clients N."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Examples per client, `int64 [num_clients]`."""
        return np.diff(self.offsets)

    def client(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the features and labels of client `k`, as views."""
        rows = slice(self.offsets[k], self.offsets[k + 1])
        return self.features[rows], self.labels[rows]

    def take(self, ids: np.ndarray) -> ClientExamples:
        """Returns the examples of these clients alone, in this order, `int [m]`."""
        sizes = self.sizes[ids]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[ids] - offsets[:-1], sizes)
        return ClientExamples(self.features[rows], self.labels[rows], offsets)

    def pooled(self) -> ClientExamples:
        """Returns the same examples, all held by one client."""
        everything = np.array([0, len(self.labels)], np.int64)
        return ClientExamples(self.features, self.labels, everything)


@dataclass(frozen=True)
class FederatedData:
    """The data of a task.

    Attributes:
        train: Training examples by client.
        test: Test examples by client (for a task whose test clients are other clients, theirs).
        num_classes: Number of classes, labels being `0 .. num_classes - 1`.
    """

    train: ClientExamples
    test: ClientExamples
    num_classes: int
