"""Targets of an audit, and the new servers that they make."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

# A stranger's code may raise anything; Ctrl-C ends the audit.
FOREIGN = (Exception, SystemExit)


class Server(Protocol):
    """A server in its first round.

    Attributes:
        held: The object whose attributes are its state.
    """

    held: Any

    def play(self, world: Any, rounds: int, model: Any) -> None:
        """Plays rounds from a model; each ends with `world.close`."""
        ...


# Objectives: the clients whose mean the model is, as the rule states.
OBJECTIVES = {
    "present": "clients whose replies arrive, by their examples",
    "equal": "clients whose replies arrive, each alike",
    "drawn": "clients that are there, drawn by their examples, so that one may count twice",
    "all": "all clients by their examples, however seldom they are there",
    "latest": "all clients by their examples, with the latest reply of those that are away",
}


@dataclass(frozen=True)
class Target:
    """Target of an audit.

    Attributes:
        name: Its name in the report.
        kind: Kind of the target, in words.
        make: Function that returns a new `Server`, in its first round.
        objective: Objective that it states, of `OBJECTIVES`.
        fraction: Share of the clients that it says to train; `None` if it says none.
        least: Fewest clients that it says to wait for; `None` if it says none.
        proximal: Proximal term that it sends its clients, as FedProx does; `None` if none.
        messages: True if it owns the rounds and the model, as a Flower strategy does; a function
            has a caller who does.
        knows_clients: True if each reply comes with its client.
        calls: Rounds of the server per round of the audit: in the first, and in each later one;
            above 1 if it gathers replies.
        versions: Versions of the packages, by name.
        parts: Functions by name of an array; each returns a new server of which the audit sees
            this array. Empty if the model is one array.
        words: Words in its code that may be names of arrays.
        own_arrays: Whether it begins from arrays of its own.
        seen: Name of the array that the audit sees; `""` if the model is one array.
    """

    name: str
    kind: str
    make: Callable[[], Server]
    objective: str = "present"
    fraction: float | None = None
    least: int | None = None
    proximal: float | None = None
    messages: bool = False
    knows_clients: bool = True
    calls: tuple[int, int] = (1, 1)
    versions: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Callable[[], Server]] = field(default_factory=dict)
    words: Sequence[str] = ()
    own_arrays: bool = False
    seen: str = ""

    @property
    def gathers(self) -> bool:
        """Whether it gathers replies of several rounds before it moves its model."""
        return self.calls[1] > 1


def required(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the parameters without a default."""
    found = inspect.signature(function).parameters.values()
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in found if p.default is p.empty and p.kind not in skipped]


def is_aggregation(function: Callable[..., Any]) -> bool:
    """Whether a function is `aggregate(model, updates, weights)` itself, not one that makes it."""
    return len(inspect.signature(function).parameters) >= 3 and len(required(function)) >= 2
