"""A client's loss from those of its examples (reading R10)."""

from __future__ import annotations

import numpy as np

LOSS_REDUCTIONS = ("mean", "sum_of_batches")


def reduce_losses(
    losses: np.ndarray, sizes: np.ndarray, reduction: str, batch_size: int
) -> np.ndarray:
    """Returns one loss a client.

    Args:
        losses: Of the examples of all clients, one client after the other, `float64 [n]`.
        sizes: Examples of each client, `int [m]`, each at least 1.
        reduction: `"mean"` over the client's examples, or `"sum_of_batches"`: the sum of the
            means of its batches, in the order of the data.
        batch_size: Examples a batch.

    Returns:
        `float64 [m]`.
    """
    if reduction not in LOSS_REDUCTIONS:
        raise ValueError(f"client loss {reduction!r}: must be one of {', '.join(LOSS_REDUCTIONS)}")
    ends = np.cumsum(sizes)
    if reduction == "mean":
        return np.add.reduceat(losses, ends - sizes) / sizes
    return np.array([_sum_of_batches(part, batch_size) for part in np.split(losses, ends[:-1])])


def _sum_of_batches(losses: np.ndarray, batch_size: int) -> float:
    starts = np.arange(0, len(losses), batch_size)
    counts = np.diff(np.append(starts, len(losses)))
    return float(np.sum(np.add.reduceat(losses, starts) / counts))
