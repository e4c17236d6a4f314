"""Defaults beyond a single value: required, published for a task, derived, or read in a paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

PRESETS = ("paper", "released", "ca_fed", "textbook")


class Known(Protocol):
    """The settings of one experiment, each resolved on first use."""

    def __getitem__(self, name: str) -> Any:
        """Returns the value of a setting or the name of a chosen component."""
        ...

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a setting, `default` if no chosen component has it."""
        ...

    def config_class(self, kind: str) -> Any:
        """Returns the `Config` class of the chosen component of a kind."""
        ...

    def run_name(self) -> str:
        """Returns the default of the run's name, which depends on every other setting."""
        ...


class _Required:
    """Type of `REQUIRED`."""

    def __repr__(self) -> str:
        return "REQUIRED"


# The parameter has no default: it must be given when its component is chosen.
REQUIRED = _Required()


@dataclass(frozen=True)
class Published:
    """The value published for the task: by the algorithm, else by the task, else a fallback.

    Attributes:
        fallback: Value for tasks that publish none; `REQUIRED` if there is no sensible one.

    Examples:
        >>> from f3ast_tff.optimizers.sgd import ClientSgdConfig
        >>> from f3ast_tff.settings import Published, parameters_of
        >>> from f3ast_tff.settings.resolve import resolve
        >>> isinstance(parameters_of(ClientSgdConfig)[0].default, Published)
        True
        >>> [resolve({"task": task}).settings["client_lr"] for task in ("synthetic", "shakespeare")]
        [0.01, 1.0]
    """

    fallback: Any = REQUIRED


@dataclass(frozen=True)
class Derived:
    """A default that follows from other settings.

    Attributes:
        compute: Function from `Known`, the other settings, to the value.
        words: The rule in words, for `--help`.
        from_rounds: Whether the value follows from the number of rounds.

    Examples:
        >>> from f3ast_tff.settings import Derived
        >>> half = Derived(lambda known: known["rounds"] // 2, "half-way", from_rounds=True)
        >>> half.compute({"rounds": 100})
        50
    """

    compute: Callable[[Known], Any]
    words: str
    from_rounds: bool = False


@dataclass(frozen=True)
class Reading:
    """A point that the paper, its released code or CA-Fed's authors settle differently.

    Attributes:
        number: Number of the reading, such as `"R1"`.
        paper: Value in the paper, or in the authors' code if the paper is silent; `Derived` if it
            depends on another setting.
        released: Value in the released code.
        ca_fed: Value in CA-Fed's released code; `None` for the paper's.
        textbook: Value with which a baseline is strongest; `None` for the paper's.

    Examples:
        >>> from f3ast_tff.settings import Reading
        >>> ties = Reading("R11", "random", "lowest_id")
        >>> [ties.value(preset) for preset in ("paper", "released", "textbook")]
        ['random', 'lowest_id', 'random']
    """

    number: str
    paper: Any
    released: Any
    ca_fed: Any | None = None
    textbook: Any | None = None

    def value(self, preset: str) -> Any:
        """Returns the value (or `Derived`) under one of `PRESETS`."""
        value = getattr(self, preset)
        return self.paper if value is None else value
