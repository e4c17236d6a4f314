"""Memory of all clients: on the device, or in host memory if the device is too small."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from f3ast_tff.core.process_memory import available_memory_bytes
from f3ast_tff.engines.jax.server_step import ClientsKept
from f3ast_tff.methods.parts.host_memory import check_room, initial_tables, table_bytes
from f3ast_tff.methods.parts.memory import Memory

# Largest share of the free memory for tables; training needs the rest. On a CPU a checkpoint needs
# memory beside the tables that it fills.
_SHARE_OF_DEVICE, _SHARE_OF_CPU = 0.7, 0.4


class ClientTables:
    """`Memory.vectors` and `Memory.numbers` of N clients, one row per client.

    On a device the program of a round changes the tables in place, by donation. In host memory the
    rows of a cohort travel to the device and back in every round.

    Attributes:
        values: Tables by name, `float32 [N, num_weights]` or `float32 [N]`.
        on_device: Whether the tables are JAX arrays.
    """

    def __init__(self, memory: Memory, num_clients: int, model: np.ndarray, device: Any) -> None:
        """Makes the tables for N clients and an initial model, `float32 [num_weights]`.

        Raises:
            ParameterError: If neither the device nor the host has room.
        """
        needed = table_bytes(memory, num_clients, len(model))
        self._device = device
        self.on_device = needed <= room_on(device)
        if not self.on_device:
            check_room(needed, num_clients)
            logging.warning(
                "what is remembered of %d clients, %.1f GiB, stays in host memory: %s has no room",
                num_clients,
                needed / 2**30,
                device.device_kind,
            )
        tables = initial_tables(memory, num_clients, model)
        self.values: dict[str, Any] = self._placed(tables) if self.on_device else tables

    def _placed(self, tables: Mapping[str, np.ndarray]) -> dict[str, Any]:
        # A copy, as a round writes into its argument.
        put = {name: jax.device_put(table, self._device) for name, table in tables.items()}
        return {name: jnp.array(table, copy=True) for name, table in put.items()}

    @staticmethod
    def gather(values: Mapping[str, Any], client: Any) -> dict[str, Any]:
        """Returns rows in a program, for ids `int32 [waves, lanes]`, -1 for no client."""
        return {name: table[jnp.maximum(client, 0)] for name, table in values.items()}

    @staticmethod
    def scatter(
        values: Mapping[str, Any], client: Any, clients: ClientsKept | None
    ) -> dict[str, Any]:
        """Returns tables with the rows of the clients that have changed."""
        if clients is None:
            return dict(values)
        # Rows beyond the end are dropped.
        return {
            name: table.at[jnp.where(clients.finite, client, len(table))].set(
                clients.kept[name], mode="drop"
            )
            for name, table in values.items()
        }

    def rows(self, client: np.ndarray) -> dict[str, np.ndarray]:
        """The same as `gather`, from host memory."""
        return {name: table[np.maximum(client, 0)] for name, table in self.values.items()}

    def set_rows(self, client: np.ndarray, clients: ClientsKept) -> None:
        """The same as `scatter`, in host memory and in place."""
        changed = np.asarray(clients.finite)
        for name, table in self.values.items():
            table[client[changed]] = clients.kept[name][changed]

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        """Restores tables of the same names and shapes; `saved` is empty afterwards."""
        names = list(self.values)
        for name in names:
            # Free the old table before placing the new table.
            del self.values[name]
            table = saved.pop(name)
            if self.on_device:
                self.values.update(self._placed({name: table}))
            else:
                self.values[name] = table if table.flags.writeable else table.copy()


def room_on(device: Any) -> float:
    """Returns the bytes that tables may take on a device."""
    if device.platform == "cpu":
        return _SHARE_OF_CPU * available_memory_bytes()
    found = device.memory_stats() or {}
    free = found.get("bytes_limit", 0) - found.get("bytes_in_use", 0)
    return _SHARE_OF_DEVICE * free
