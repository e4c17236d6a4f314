"""Memory of all clients: on the device, or in host memory if the device is too small."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from f3ast_tff.engines.jax.server_step import ClientsKept
from f3ast_tff.files.process_memory import available_memory_bytes
from f3ast_tff.methods.parts.host_memory import check_room, initial_tables, table_bytes
from f3ast_tff.methods.parts.memory import Memory

_LOG = logging.getLogger(__name__)

# Largest share of the free memory for tables; training needs the rest. On a CPU a checkpoint needs
# memory beside the tables that it fills.
_SHARE_OF_DEVICE, _SHARE_OF_CPU = 0.7, 0.4


class ClientTables:
    """`Memory.vectors`, `numbers` and `parts` of N clients, one row per client.

    On a device the program of a round changes the tables in place, by donation. In host memory the
    rows of a cohort travel to the device and back in every round, as tables of the cohort.

    Attributes:
        values: Tables by name, `float32 [N, num_weights]`, `[N, length]` or `[N]`.
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
            _LOG.warning(
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
    def gather(values: Mapping[str, Any], row: Any) -> dict[str, Any]:
        """Returns rows in a program, for `int32 [waves, lanes]`, -1 for no client."""
        return {name: table[jnp.maximum(row, 0)] for name, table in values.items()}

    @staticmethod
    def scatter(values: Mapping[str, Any], row: Any, clients: ClientsKept | None) -> dict[str, Any]:
        """Returns tables with the rows of the clients that have changed."""
        if clients is None:
            return dict(values)
        # Rows beyond the end are dropped.
        return {
            name: table.at[jnp.where(clients.finite, row, len(table))].set(
                clients.kept[name], mode="drop"
            )
            for name, table in values.items()
        }

    def kept(self, k: int) -> dict[str, Any]:
        """Returns the values of one client."""
        return {name: table[k] for name, table in self.values.items()}

    def lent(self, client: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
        """Returns tables for a program, and the row of each client in them.

        These are the device's tables, or a copy of the clients' rows in host memory.

        Args:
            client: Ids, -1 for no client, `int32 [waves, lanes]`.
        """
        if self.on_device:
            return self.values, client
        ids, places, rows = _first_places(client)
        return {name: table[ids] for name, table in self.values.items()}, rows

    def take_back(self, client: np.ndarray, tables: dict[str, Any]) -> None:
        """Takes tables that were `lent` for these clients, after a round."""
        if self.on_device:
            self.values = tables
            return
        ids, places, _ = _first_places(client)
        for name, table in self.values.items():
            table[ids[places]] = np.asarray(tables[name])[places]

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


def _first_places(client: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids in a row, places of the first of equal ids, and this place for each client."""
    ids = np.maximum(client.ravel(), 0)
    _, places, which = np.unique(ids, return_index=True, return_inverse=True)
    return ids, places, places[which].reshape(client.shape).astype(np.int32)


def room_on(device: Any) -> float:
    """Returns the bytes that tables may take on a device."""
    if device.platform == "cpu":
        return _SHARE_OF_CPU * available_memory_bytes()
    found = device.memory_stats() or {}
    free = found.get("bytes_limit", 0) - found.get("bytes_in_use", 0)
    return _SHARE_OF_DEVICE * free
