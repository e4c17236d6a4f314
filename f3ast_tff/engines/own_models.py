"""Scores of examples under models that differ from client to client, see `Memory.own_model`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.engine import ExampleScores


def scores_by_owner(
    examples: ClientExamples,
    score: Callable[[int, np.ndarray], ExampleScores],
    *,
    rows: np.ndarray | None = None,
    clients: np.ndarray | None = None,
) -> ExampleScores:
    """Returns the scores of examples, in their order, each under its client's model.

    Args:
        examples: Examples by client.
        score: Function from a client and rows of its examples to their scores.
        rows: Rows of the examples to score, `int [n]`; by default all.
        clients: Client whose model scores each client of `examples`, `int [C]`; by default itself.
    """
    if rows is None:
        rows = np.arange(len(examples.labels))
    owners = np.searchsorted(examples.offsets, rows, side="right") - 1
    order = np.argsort(owners, kind="stable")
    places, first = np.unique(owners[order], return_index=True)
    ids = (places if clients is None else clients[places]).tolist()
    if not ids:
        return score(0, rows)
    parts = [score(k, rows[here]) for k, here in zip(ids, np.split(order, first[1:]))]

    def of_all(sums: Sequence[np.ndarray]) -> np.ndarray:
        values = np.zeros(len(rows))
        values[order] = np.concatenate(sums)
        return values

    values = [part.correct for part in parts if part.correct is not None]
    return ExampleScores(
        of_all([part.loss for part in parts]),
        of_all(values) if values else None,
        of_all([part.count for part in parts]),
        {name: of_all([part.more[name] for part in parts]) for name in parts[0].more},
    )
