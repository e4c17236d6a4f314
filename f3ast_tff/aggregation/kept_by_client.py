"""What a memory keeps for each client, as NumPy tables with a row for each."""

from __future__ import annotations

import numpy as np

from f3ast_tff.aggregation.memory import Memory

_ITEM_BYTES = np.dtype(np.float32).itemsize


def table_bytes(memory: Memory, num_clients: int, num_weights: int) -> int:
    """Returns the size of all tables."""
    per_client = len(memory.vectors) * num_weights + len(memory.numbers)
    return num_clients * per_client * _ITEM_BYTES


def initial_tables(memory: Memory, num_clients: int, model: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the tables before the first round.

    The operating system gives a client's part of a table of zeros when it is first written.

    Args:
        memory: Says what is kept.
        num_clients: N.
        model: Initial model, `float32 [num_weights]`.

    Returns:
        `float32 [N, num_weights]` for vectors and `float32 [N]` for numbers, by name.
    """
    tables = {}
    for name, start in memory.vectors.items():
        tables[name] = np.zeros((num_clients, len(model)), np.float32)
        if start == "model":
            tables[name][:] = model
    return {**tables, **{name: np.zeros(num_clients, np.float32) for name in memory.numbers}}
