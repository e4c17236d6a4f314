"""Workers that each hold a shard of the clients and train their part of a cohort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.methods.parts.strategy import Cohort


@dataclass(frozen=True)
class TrainedPart:
    """Result of a worker for its part of a cohort.

    Attributes:
        ids: Clients of the part, `int [m]`.
        sums: Sums over these clients, as arrays; sums of two parts can be merged.
        client_losses: See `RoundOutcome`; `None` unless asked for, or if the sums hold them.
        delivered: See `RoundOutcome`; `None` whenever `client_losses` is.
    """

    ids: np.ndarray
    sums: list[np.ndarray]
    client_losses: np.ndarray | None = None
    delivered: np.ndarray | None = None


class Trainer(Protocol):
    """Trains clients of one shard, in the process of a worker."""

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        """Trains clients of the shard.

        Args:
            broadcast: Arrays from the server, the model included.
            round_number: Round t.
            cohort: Clients of the shard and their weights; at least one client.
            by_client: Whether to return losses and arrivals per client.
        """
        ...


# Function that makes the trainer of a shard; pickled and called on the worker.
TrainerFactory = Callable[[ClientExamples], Trainer]


def owners(sizes: np.ndarray, num_workers: int) -> np.ndarray:
    """Returns the worker of each client; workers hold about equally many examples.

    Clients are placed by falling size, each on the worker with fewest examples so far.

    Args:
        sizes: Training examples of each client, `int [N]`.
        num_workers: Number of workers, at least 1.

    Returns:
        Worker of each client, `int64 [N]` in `0 .. num_workers - 1`.
    """
    owner = np.zeros(len(sizes), np.int64)
    # Each client counts as one more example, so that empty clients are spread too.
    held = np.zeros(num_workers, np.int64)
    for k in np.argsort(-np.asarray(sizes), kind="stable").tolist():
        owner[k] = int(np.argmin(held))
        held[owner[k]] += sizes[k] + 1
    return owner


def shard(examples: ClientExamples, owner: np.ndarray, worker: int) -> ClientExamples:
    """Returns a worker's data, with all ids; clients of other workers have no examples."""
    own = owner == worker
    rows = np.repeat(own, examples.sizes)
    offsets = np.concatenate([[0], np.cumsum(np.where(own, examples.sizes, 0))])
    return ClientExamples(examples.features[rows], examples.labels[rows], offsets)


def split(cohort: Cohort, owner: np.ndarray) -> dict[int, Cohort]:
    """Returns the parts of a cohort by worker, in the order of the workers."""
    of_client = owner[cohort.ids]
    return {
        int(worker): Cohort(cohort.ids[of_client == worker], cohort.weights[of_client == worker])
        for worker in np.unique(of_client)
    }


def in_order_of(
    ids: np.ndarray, found_ids: np.ndarray, *columns: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Returns values of clients in the order of a cohort.

    Args:
        ids: The cohort, `int [m]`.
        found_ids: The same clients in any order, `int [n]`.
        *columns: Values in the order of `found_ids`, `[n]`; equal for equal clients.

    Returns:
        The values, `[m]`.
    """
    clients, first = np.unique(found_ids, return_index=True)
    places = first[np.searchsorted(clients, ids)]
    return tuple(column[places] for column in columns)
