"""Flower's grid, the link to the nodes, without an error that a node causes by leaving."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid


class Link:
    """A grid whose `send_and_receive` bears nodes that leave.

    If a node leaves after the list of nodes was read, its message gets no id, but `None`, which
    Flower's own `send_and_receive` cannot look up.
    """

    def __init__(self, grid: Grid) -> None:
        """Takes Flower's grid."""
        self._grid = grid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Returns the replies that come in time; see Flower's `Grid`."""
        own = type(self._grid).send_and_receive
        sending: Any = _Sending(self._grid)
        return own(sending, messages, timeout=timeout)


class _Sending:
    """A grid whose messages all have an id."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        return [number for number in self._grid.push_messages(messages) if number is not None]
