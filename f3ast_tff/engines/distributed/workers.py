"""What a cohort is split over: workers that each hold a shard of the clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Protocol

import numpy as np

from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.selection import Cohort


class Trainer(Protocol):
    """Trains clients of one shard, in the process of a worker."""

    def train(
        self, broadcast: Sequence[np.ndarray], round_number: int, cohort: Cohort
    ) -> list[np.ndarray]:
        """Trains these clients.

        Args:
            broadcast: What clients get from the server, the model at least.
            round_number: Round t.
            cohort: Clients of the shard and their weights, at least one.

        Returns:
            Sums over them, each an array; those of two parts of a cohort can be merged.
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
        self, broadcast: Sequence[np.ndarray], round_number: int, cohort: Cohort
    ) -> list[list[np.ndarray]]:
        """Trains a cohort, each client where its data is.

        Args:
            broadcast: See `Trainer.train`.
            round_number: Round t.
            cohort: Clients and weights.

        Returns:
            The sums of each worker that had any client, in the order of the workers.

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
