"""What executes the rounds of a TFF learning process; the process itself does not change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np


class TffRuntime(ABC):
    """Base of what executes a `tff.learning.templates.LearningProcess`, given when it is made.

    Not every runtime can split a round (`prepare`, `merge`, `finish`); the checks of the settings
    keep to that.
    """

    @abstractmethod
    def initialize(self) -> Any:
        """Returns the state before the first round, as `process.initialize()`."""

    @abstractmethod
    def next(self, state: Any, client_data: Sequence[Any]) -> Any:
        """Executes a round, as `process.next`.

        Args:
            state: From `initialize`, or of the round before; it is left as it is.
            client_data: A `tf.data.Dataset` a client, of the type that the process takes.

        Returns:
            A `tff.learning.templates.LearningProcessOutput`: the state after the round and its
            metrics, NumPy leaves.

        Raises:
            EngineError: If the round could not be completed.
        """

    def prepare(self, state: Any) -> list[np.ndarray]:
        """Returns what clients get from the server: the model, and what else the process sends."""
        raise TypeError(f"{type(self).__name__} does not split a round")

    def merge(self, one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the accumulator of the clients of both; see `InProcessRuntime.accumulate`."""
        raise TypeError(f"{type(self).__name__} does not split a round")

    def finish(self, state: Any, accumulator: Sequence[np.ndarray]) -> Any:
        """Makes the server's step along an accumulator of the whole cohort; see `next`.

        Args:
            state: The state that was prepared.
            accumulator: From workers' `accumulate`, or `merge`.
        """
        raise TypeError(f"{type(self).__name__} does not split a round")

    @abstractmethod
    def statistics(self) -> dict[str, Any]:
        """Returns what the runtime says of itself in `summary.json`."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of processes and devices; the runtime cannot be used any more."""
