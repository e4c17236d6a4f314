"""Which worker holds which clients' data."""

from __future__ import annotations

import numpy as np

from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.methods.parts.strategy import Cohort


def owners(sizes: np.ndarray, num_workers: int) -> np.ndarray:
    """Returns the worker of each client, so that all hold about as many examples.

    Largest first, each to the worker that holds least so far.

    Args:
        sizes: Training examples of each client, `int [N]`.
        num_workers: At least 1.

    Returns:
        `int64 [N]`, in `0 .. num_workers - 1`.
    """
    owner = np.zeros(len(sizes), np.int64)
    # One example more each, so that clients without any are spread as well.
    held = np.zeros(num_workers, np.int64)
    for k in np.argsort(-np.asarray(sizes), kind="stable").tolist():
        owner[k] = int(np.argmin(held))
        held[owner[k]] += sizes[k] + 1
    return owner


def shard(examples: ClientExamples, owner: np.ndarray, worker: int) -> ClientExamples:
    """Returns what a worker holds: its clients under their own ids, the others without examples."""
    own = owner == worker
    rows = np.repeat(own, examples.sizes)
    offsets = np.concatenate([[0], np.cumsum(np.where(own, examples.sizes, 0))])
    return ClientExamples(examples.features[rows], examples.labels[rows], offsets)


def split(cohort: Cohort, owner: np.ndarray) -> dict[int, Cohort]:
    """Returns the part of each worker that owns any client of a cohort, in order of workers."""
    of_client = owner[cohort.ids]
    return {
        int(worker): Cohort(cohort.ids[of_client == worker], cohort.weights[of_client == worker])
        for worker in np.unique(of_client)
    }
