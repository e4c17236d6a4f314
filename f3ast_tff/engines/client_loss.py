"""A client's loss from those of its examples (reading R10)."""

from __future__ import annotations

import numpy as np

from f3ast_tff.engines.engine import ExampleScores
from f3ast_tff.local_training import LocalTraining

LOSS_REDUCTIONS = ("mean", "sum_of_batches", "one_batch")


def scored_rows(
    ids: np.ndarray, offsets: np.ndarray, work: LocalTraining, reduction: str, round_number: int
) -> list[np.ndarray]:
    """Returns the examples that each client scores for its loss, rows of the training data.

    Args:
        ids: Clients, `int [m]`.
        offsets: Of the training data, `int64 [N + 1]`.
        work: Local training.
        reduction: `"one_batch"`: the first batch that the client would train on in this round,
            B_{t,0}^k of CA-Fed's Algorithm 1; otherwise all of its examples.
        round_number: Round t.
    """
    rows = []
    for k in ids.tolist():
        here = np.arange(offsets[k], offsets[k + 1])
        if reduction == "one_batch":
            here = here[work.order(round_number, k, len(here))[0, : work.batch_size]]
        rows.append(here)
    return rows


def reduce_losses(
    scores: ExampleScores, sizes: np.ndarray, reduction: str, batch_size: int
) -> np.ndarray:
    """Returns one loss a client.

    Args:
        scores: Of the examples of all clients, one client after the other.
        sizes: Examples of each client, `int [m]`, each at least 1.
        reduction: `"mean"` over the client's labels, `"sum_of_batches"`: the sum of the means
            of its batches, in the order of the data, or `"one_batch"`: the mean over what
            `scored_rows` gave.
        batch_size: Examples a batch.

    Returns:
        `float64 [m]`.
    """
    if reduction not in LOSS_REDUCTIONS:
        raise ValueError(f"client loss {reduction!r}: must be one of {', '.join(LOSS_REDUCTIONS)}")
    ends = np.cumsum(sizes)
    if reduction != "sum_of_batches":
        return _means(scores, ends - sizes)
    cuts = [np.arange(end - size, end, batch_size) for end, size in zip(ends, sizes)]
    by_batch = _means(scores, np.concatenate(cuts))
    batches = [len(cut) for cut in cuts]
    return np.add.reduceat(by_batch, np.cumsum(batches) - batches)


def _means(scores: ExampleScores, starts: np.ndarray) -> np.ndarray:
    count = np.add.reduceat(scores.count, starts)
    return np.add.reduceat(scores.loss, starts) / np.maximum(count, 1)
