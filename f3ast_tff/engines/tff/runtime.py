"""What executes the rounds of a TFF learning process; the process itself does not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class TffRuntime:
    """Base of what executes a `tff.learning.templates.LearningProcess`, given when it is made.

    What a runtime cannot do raises `NotImplementedError`.
    """

    def initialize(self) -> Any:
        """Returns the state before the first round, as `process.initialize()`."""
        raise NotImplementedError

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
        raise NotImplementedError

    def next_with_updates(self, state: Any, client_data: Sequence[Any]) -> tuple[Any, list[Any]]:
        """As `next`, with the `ClientResult` of each client as a further result."""
        raise NotImplementedError

    def prepare(self, state: Any) -> list[np.ndarray]:
        """Returns what clients get from the server: the model, and what else the process sends."""
        raise NotImplementedError

    def merge(self, one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the accumulator of the clients of both; see `InProcessRuntime.accumulate`."""
        raise NotImplementedError

    def finish(self, state: Any, accumulator: Sequence[np.ndarray]) -> Any:
        """Makes the server's step along an accumulator of the whole cohort; see `next`.

        Args:
            state: The state that was prepared.
            accumulator: From workers' `accumulate`, or `merge`.
        """
        raise NotImplementedError

    def statistics(self) -> dict[str, Any]:
        """Returns what the runtime says of itself in `summary.json`."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of processes and devices; the runtime cannot be used any more."""
        raise NotImplementedError
