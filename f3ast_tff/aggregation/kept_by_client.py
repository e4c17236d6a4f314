"""What a memory keeps for each client, as NumPy tables with a row for each."""

from __future__ import annotations

import numpy as np

from f3ast_tff.aggregation.memory import Memory
from f3ast_tff.errors import ParameterError
from f3ast_tff.process_memory import available_memory_bytes

# The share of what is free that tables may take; training needs the rest.
_SHARE_OF_HOST = 0.85
_ITEM_BYTES = np.dtype(np.float32).itemsize


def table_bytes(memory: Memory, num_clients: int, num_weights: int) -> int:
    """Returns the size of all tables."""
    per_client = len(memory.vectors) * num_weights + len(memory.numbers)
    return num_clients * per_client * _ITEM_BYTES


def check_room(needed: int, num_clients: int) -> None:
    """Checks that the machine has room for tables, so that nothing is swapped out.

    Args:
        needed: Their size in bytes.
        num_clients: N.

    Raises:
        ParameterError: If it has not.
    """
    room = _SHARE_OF_HOST * available_memory_bytes()
    if needed > room:
        allowed = (
            f"what is remembered of these clients takes {needed / 2**30:.1f} GiB, "
            f"this machine has {room / 2**30:.1f} to spare"
        )
        raise ParameterError("num_clients", num_clients, allowed)


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
