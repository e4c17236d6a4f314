"""Clients whose remembered update counts no more: they enter a late round with the update 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.methods.parts.memory import Memory


def with_forgotten(
    cohort: LateCohort, memory: Memory | None, p: np.ndarray | None, t: int
) -> LateCohort:
    """Returns the cohort followed by its `forgets`, each with an update 0 of weight p_k.

    With `UpdateMemory` of weights p_k, client k then adds p_k (0 - y_k) to Delta, and y_k = 0.
    Without a memory of clients nothing changes.

    Args:
        cohort: Clients whose update enters. The slot of a forgotten client k is -1 - k.
        memory: The aggregation's memory, if any.
        p: Client shares, `float [N]`.
        t: The round.
    """
    gone = cohort.forgets
    if gone is None or len(gone) == 0 or p is None or memory is None or not memory.keeps_clients:
        return cohort
    gone = gone.astype(np.int64)
    return replace(
        cohort,
        ids=np.concatenate([cohort.ids, gone]),
        weights=np.concatenate([cohort.weights, p[gone]]),
        entering=np.concatenate([cohort.entering, -1 - gone]),
        asked_in=np.concatenate([cohort.asked_in, np.full(len(gone), t)]),
    )
