"""Declaration of a component's parameter: default, range, help and units in one place.

A default beyond a single value is `REQUIRED`, `Published`, `Derived` or a `Reading`.
"""

from __future__ import annotations

import difflib
import math
import os
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Protocol, Union

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import is_plain

PRESETS = ("paper", "released", "ca_fed", "textbook")
_KEY = "f3ast_tff.parameter"
# Programs compute with integers of 32 bits and in single precision.
_LARGEST = {int: 2**31 - 1, float: float(np.finfo(np.float32).max)}
_SMALLEST = float(np.finfo(np.float32).tiny)
_NO_CONTROLS = "must not hold control characters"
_KINDS = {"int": int, "float": float, "str": str, "bool": bool}


class ResolvedSettings(Protocol):
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

    def find(self, kind: str, name: str) -> Any:
        """Returns the `Config` class of any component of a kind, chosen or not."""
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
    """The value published for the task, else a fallback.

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
        compute: Function from `ResolvedSettings`, the other settings, to the value.
        words: The rule in words, for `--help`.
        from_rounds: Whether the value follows from the number of rounds.

    Examples:
        >>> from f3ast_tff.settings import Derived
        >>> half = Derived(lambda known: known["rounds"] // 2, "half-way", from_rounds=True)
        >>> half.compute({"rounds": 100})
        50
    """

    compute: Callable[[ResolvedSettings], Any]
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


@dataclass(frozen=True)
class Parameter:
    """A declared parameter of a component.

    Attributes:
        name: Name of the field, of the setting and of the flag.
        kind: `int`, `float`, `str` or `bool`.
        optional: Whether `None` is allowed.
        default: A value, or `REQUIRED`, `Published`, `Derived` or `Reading`.
        help: Help text, one line.
        choices: Allowed texts, matched without regard to case; empty for any.
        minimum: Least allowed value.
        above: Bound that the value must exceed.
        maximum: Greatest allowed value; of an integer by default 2^31 - 1.
        below: Bound that the value must stay under.
        units: Units of the value, for help.
        decides_result: Whether another value makes another run.
        is_path: Whether it names a file or folder; `~` is expanded.
        is_input: Whether it names a file that a run reads. Its content decides the result, its path
            does not.
        method_specific: Whether compared methods may differ in it; `False` for a condition of the
            experiment, `None` for the rule of the component's kind.

    Examples:
        >>> from f3ast_tff.availability import ScarceConfig
        >>> from f3ast_tff.settings import parameters_of
        >>> (q,) = parameters_of(ScarceConfig)
        >>> q.name, q.default, q.checked(1)
        ('scarce_q', 0.2, 1.0)
    """

    name: str
    kind: type
    optional: bool
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    below: float | None = None
    units: str = ""
    decides_result: bool = True
    is_path: bool = False
    is_input: bool = False
    method_specific: bool | None = None

    def checked(self, value: Any) -> Any:
        """Returns the value in its canonical form.

        Raises:
            ParameterError: If it is not allowed; names the allowed values.
        """
        if value is None:
            if self.optional:
                return None
            raise ParameterError(self.name, "", "must be given")
        value = self._typed(value)
        if self.kind is str and not is_plain(value):
            foreign = any("\ud800" <= c < "\ue000" for c in value)
            allowed = "must be UTF-8, in a locale of UTF-8, such as LC_ALL=C.UTF-8"
            raise ParameterError(self.name, value, allowed if foreign else _NO_CONTROLS)
        if self.is_path:
            return os.path.expanduser(value)
        if self.choices:
            return one_of(self.name, value, self.choices)
        if self.kind in (int, float):
            self._check_range(value)
        return value

    def _typed(self, value: Any) -> Any:
        if self.is_path and isinstance(value, os.PathLike):
            value = os.fspath(value)
        if self.kind is float and type(value) is int:
            try:
                return float(value)
            except OverflowError as error:
                raise ParameterError(self.name, value, "must be finite") from error
        if self.kind in (int, float) and hasattr(value, "item") and np.ndim(value) == 0:
            value = value.item()
        if type(value) is float:
            value += 0.0  # -0.0 becomes 0.0.
        if type(value) is not self.kind:
            words = {int: "an integer", float: "a number", str: "a text", bool: "true or false"}
            raise ParameterError(self.name, value, f"must be {words[self.kind]}")
        return value

    def _check_range(self, value: float) -> None:
        bounds: list[tuple[bool, str, float | None]] = []
        if self.minimum is not None:
            bounds.append((value >= self.minimum, "at least {}", self.minimum))
        if self.above is not None:
            bounds.append((value > self.above, "above {}", self.above))
        if self.below is not None:
            bounds.append((value < self.below, "below {}", self.below))
        if self.maximum is not None:
            bounds.append((value <= self.maximum, "at most {}", self.maximum))
        if isinstance(value, float) and not math.isfinite(value):
            bounds.append((False, "finite", None))
        elif self.maximum is None and abs(value) > _LARGEST[self.kind]:
            bounds.append((False, "at most {} in magnitude", _LARGEST[self.kind]))
        elif isinstance(value, float) and 0 < abs(value) < _SMALLEST:
            bounds.append((False, "at least {} in magnitude unless 0", _SMALLEST))
        if not all(holds for holds, _, _ in bounds):
            # Texts are made only for the error, because a campaign checks 100,000 values.
            allowed = "must be " + " and ".join(text.format(bound) for _, text, bound in bounds)
            raise ParameterError(self.name, value, allowed)


def parameter(
    default: Any,
    help: str,
    *,
    choices: Sequence[str] = (),
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    units: str = "",
    decides_result: bool = True,
    is_path: bool = False,
    is_input: bool = False,
    method_specific: bool | None = None,
) -> Any:
    """Declares a field of a component's `Config` as a parameter; see `Parameter`.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff.settings import parameter
        >>> @dataclass(frozen=True)
        ... class Config:
        ...     scarce_q: float = parameter(0.2, "probability of every client", above=0, maximum=1)
        >>> Config().scarce_q
        0.2
    """
    declared = Parameter(
        name="",  # Name and type follow from the field.
        kind=str,
        optional=False,
        default=default,
        help=help,
        choices=tuple(choices),
        minimum=minimum,
        above=above,
        maximum=maximum,
        below=below,
        units=units,
        decides_result=decides_result and not is_input,
        is_path=is_path or is_input,
        is_input=is_input,
        method_specific=method_specific,
    )
    plain = default
    if isinstance(default, Reading):
        plain = None if isinstance(default.paper, Derived) else default.paper
    elif isinstance(default, Published):
        plain = None if default.fallback is REQUIRED else default.fallback
    elif default is REQUIRED or isinstance(default, Derived):
        plain = None
    return field(default=plain, metadata={_KEY: declared})


def parameters_of(config: type) -> tuple[Parameter, ...]:
    """Returns the parameters of a `Config` class, in the order of declaration.

    Raises:
        TypeError: If the type of a parameter is not `int`, `float`, `str` or `bool`, or one of
            them `| None`.
    """
    return _declared(config)


@lru_cache(maxsize=1024)
def _declared(config: Any) -> tuple[Parameter, ...]:
    return tuple(_of_field(spec) for spec in fields(config) if _KEY in spec.metadata)


def _of_field(spec: Field) -> Parameter:
    kind, optional = _kind(spec)
    assert spec.default is not MISSING
    return replace(spec.metadata[_KEY], name=spec.name, kind=kind, optional=optional)


def _kind(spec: Field) -> tuple[type, bool]:
    """The type in an annotation, which may be a text, and whether `None` is allowed."""
    annotation: Any = spec.type
    if isinstance(annotation, str):
        text = annotation.replace(" ", "")
        if text.startswith(("Optional[", "typing.Optional[")):
            text = text[text.index("[") + 1 : -1] + "|None"
        names = text.split("|")
    else:
        union = typing.get_origin(annotation) in (Union, types.UnionType)
        parts = typing.get_args(annotation) if union else (annotation,)
        names = ["None" if part is type(None) else part.__name__ for part in parts]
    kinds = [name for name in names if name != "None"]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        raise TypeError(f"parameter {spec.name}: its type must be int, float, str or bool")
    return _KINDS[kinds[0]], "None" in names


def one_of(name: str, value: str, allowed: Sequence[str], beside: str = "") -> str:
    """Returns the allowed text that the value names, without regard to case.

    Args:
        name: Name of the parameter.
        value: Value of the parameter.
        allowed: Allowed texts.
        beside: End of the message: further allowed values.

    Raises:
        ParameterError: If no text matches; names the nearest.
    """
    by_lower = _by_lower(tuple(allowed))
    found = by_lower.get(value.strip().lower())
    if found is not None:
        return found
    near = nearest(value.lower(), by_lower)
    hint = f"did you mean {by_lower[near]}? It " if near else ""
    raise ParameterError(name, value, f"{hint}must be one of {', '.join(allowed)}{beside}")


# Names of other programs, which are alike to none, or to another one.
_OF_OTHERS = {
    **dict.fromkeys(("dataset", "data"), "task"),
    **dict.fromkeys(("strategy", "method", "aggregator"), "algorithm"),
    **dict.fromkeys(("num_users", "n_clients", "num_parties"), "num_clients"),
    **dict.fromkeys(("k", "clients", "frac", "participation"), "clients_per_round"),
    **{"bs": "batch_size", "e": "local_epochs", "gpu": "engine", "alpha": "dirichlet_s"},
}


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that was meant, if any is near.

    The word of other programs comes first, then a misspelling, then the longest name whose words
    are all in the given one, also as initials (`lr` in `client_learning_rate`), then a name that
    ends in it (`client_lr` for `lr`) or its initials, then any that is alike.
    """
    names, words = sorted(known), name.split("_")
    ends = range(len(words) + 1)
    initials = {"".join(w[:1] for w in words[i:j]) for i in ends for j in ends[i + 2 :]}
    within = [each for each in names if {*each.split("_")} <= {*words, *initials}]
    found = (
        [each for each in names if each == _OF_OTHERS.get(name.lower())]
        or difflib.get_close_matches(name, names, 1, cutoff=0.9)
        or sorted(within, key=lambda each: (-each.count("_"), -len(each)))
        or [
            each
            for each in names
            if each.rpartition("_")[2] in {name, *initials} - {*"abcdefghijklmnopqrstuvwxyz"}
        ]
        or difflib.get_close_matches(name, names, 1)
    )
    return found[0] if found else None


@lru_cache(maxsize=1024)
def _by_lower(allowed: tuple[str, ...]) -> dict[str, str]:
    return {text.lower(): text for text in allowed}
