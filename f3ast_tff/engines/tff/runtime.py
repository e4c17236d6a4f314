"""What executes the rounds of a TFF learning process; the process itself does not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class TffRuntime(Protocol):
    """Executes one `tff.learning.templates.LearningProcess`, given to it when it is made."""

    def initialize(self) -> Any:
        """Returns the state before the first round, as `process.initialize()`."""
        ...

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
        ...

    def statistics(self) -> dict[str, Any]:
        """Returns what the runtime says of itself in `summary.json`."""
        ...

    def close(self) -> None:
        """Lets go of processes and devices; the runtime cannot be used any more."""
        ...
