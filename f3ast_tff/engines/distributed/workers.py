"""What a cohort is split over: workers that each hold a shard of the clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable, Protocol

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.methods.parts.strategy import Cohort


@dataclass(frozen=True)
class TrainedPart:
    """What a worker returns of its part of a cohort.

    Attributes:
        ids: Its clients, `int [m]`.
        sums: Sums over them, each an array; those of two parts can be merged.
        client_losses: See `RoundOutcome`; `None` where not asked for, or where the sums hold it.
        received: As `client_losses`.
    """

    ids: np.ndarray
    sums: list[np.ndarray]
    client_losses: np.ndarray | None = None
    received: np.ndarray | None = None


class Trainer(Protocol):
    """Trains clients of one shard, in the process of a worker."""

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        """Trains these clients.

        Args:
            broadcast: What clients get from the server, the model at least.
            round_number: Round t.
            cohort: Clients of the shard and their weights, at least one.
            by_client: Whether to say what came back from each client.
        """
        ...

    def close(self) -> None:
        """Lets go of processes and devices."""
        ...


# Makes the trainer of a shard, where it is to train; crosses to the worker by pickle.
TrainerFactory = Callable[[ClientExamples], Trainer]


class Workers(Protocol):
    """Trains a cohort, wherever."""

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> list[TrainedPart]:
        """Trains a cohort, each client where its data is.

        Args:
            broadcast: See `Trainer.train`.
            round_number: Round t.
            cohort: Clients and weights.
            by_client: See `Trainer.train`.

        Returns:
            The part of each worker that had any client, in the order of the workers.

        Raises:
            EngineError: If they cannot be had; nothing has changed then.
        """
        ...

    def statistics(self) -> dict[str, Any]:
        """Returns what `summary.json` shall say of them."""
        ...

    def close(self) -> None:
        """Ends them."""
        ...


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


def in_order_of(
    ids: np.ndarray, found_ids: np.ndarray, *columns: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Returns values of clients in the order of a cohort.

    Args:
        ids: The cohort, `int [m]`.
        found_ids: The same clients in any order, `int [n]`.
        *columns: Values of those, `[n]`; a client has the same value wherever it stands.

    Returns:
        The values, `[m]`.
    """
    clients, first = np.unique(found_ids, return_index=True)
    places = first[np.searchsorted(clients, ids)]
    return tuple(column[places] for column in columns)
