"""A client's loss from the losses of its examples (reading R10)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import EngineParts, ExampleScores


def client_losses(
    parts: EngineParts,
    ids: np.ndarray,
    round_number: int,
    *,
    score: Callable[[np.ndarray], ExampleScores],
    train: Callable[[np.ndarray, int], np.ndarray],
) -> np.ndarray:
    """Returns the losses that clients report, see `Engine.client_losses`.

    Args:
        parts: Parts of the engine.
        ids: Clients, `int [m]`.
        round_number: Round t.
        score: Scores of rows of the training data, `int [n]`, under the current model.
        train: Mean loss of the batches of clients that train from the current model in a round,
            `RoundOutcome.client_losses`; nothing is added up and no memory takes part.
    """
    if parts.client_loss == "training_loss":
        return losses_met(train(ids, round_number), parts.data.train.sizes[ids], parts.work)
    offsets = parts.data.train.offsets
    rows = scored_rows(ids, offsets, parts.work, parts.client_loss, round_number)
    sizes = np.array([len(of_client) for of_client in rows])
    return mean_losses(score(np.concatenate(rows)), sizes, parts.client_loss)


def scored_rows(
    ids: np.ndarray, offsets: np.ndarray, work: LocalTraining, reduction: str, round_number: int
) -> list[np.ndarray]:
    """Returns the examples that each client scores for its loss, as rows of the training data.

    For the reduction `"one_batch"` these are the first batch that the client would train on in the
    round, B_{t,0}^k of CA-Fed's Algorithm 1; otherwise all examples of the client.
    """
    rows = []
    for k in ids.tolist():
        here = np.arange(offsets[k], offsets[k + 1])
        if reduction == "one_batch":
            here = here[work.order(round_number, k, len(here))[0, : work.batch_size]]
        rows.append(here)
    return rows


def mean_losses(scores: ExampleScores, sizes: np.ndarray, reduction: str = "mean") -> np.ndarray:
    """Returns each client's mean loss over its labels that count, `float64 [m]`.

    `scores` covers the examples of all clients, client by client; `sizes` are the numbers of
    examples per client, `int [m]`. The reduction `"mean_squares"` first squares the mean loss of
    each example.

    Returns:
        NaN for a client without a label that counts; infinity if the model has diverged.
    """
    means = np.full(len(sizes), np.nan)
    # Skip empty clients: for these reduceat would take the next client's first example.
    some = np.flatnonzero(sizes)
    if len(some) == 0:
        return means
    starts = (np.cumsum(sizes) - sizes)[some]
    count = np.add.reduceat(scores.count, starts)
    losses = scores.loss
    if reduction == "mean_squares":
        losses = losses**2 / np.maximum(scores.count, 1)
    loss = np.add.reduceat(losses, starts)
    found = np.where(np.isnan(loss), np.inf, loss / np.maximum(count, 1))
    means[some] = np.where(count > 0, found, np.nan)
    return means


def losses_met(means: np.ndarray, sizes: np.ndarray, work: LocalTraining) -> np.ndarray:
    """Returns the sum of losses during local training, over all visits to examples in a round.

    `means` are the means of these losses, `float [m]`: `RoundOutcome.client_losses`.

    Returns:
        `float64 [m]`: 0 for a client without any step, infinity if training diverged.
    """
    visits = work.num_visits(sizes)
    met = np.where(visits > 0, means * visits, 0.0)
    return np.where(np.isnan(met), np.inf, met)
