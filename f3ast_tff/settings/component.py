"""A component: a frozen `Config` of one strategy, task, process ..."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.settings.kinds import KINDS, Kind
from f3ast_tff.settings.parameter import Parameter, parameters_of

_ATTRIBUTE = "component"
# Attribute of a `Config` instance: names of the fields given to its constructor.
_GIVEN = "_given"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_Config = TypeVar("_Config", bound=type)


@dataclass(frozen=True)
class Component:
    """A registered component.

    Attributes:
        kind: Name of the kind, see `KINDS`.
        name: Name, unique within the kind.
        display: Name in tables and figures.
        about: Description, one line.
        config: Frozen `Config` class, which builds the component.
        order: Place within the kind in tables; ties by name.
    """

    kind: str
    name: str
    display: str
    about: str
    config: Any
    order: int = 1000

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, in the order of declaration."""
        return parameters_of(self.config)


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in.

    Attributes:
        name: The file's stem, or the module's dotted name.
        source: Absolute path or dotted name, also for loading it in another process.
        sha256: Digest of the source: of a file and the modules beside it that it imports, or of
            all modules of the package.
        components: Registered components.
        lasting: Whether the digest is the same in every process; not of an object given in Python
            without an identity.
    """

    name: str
    source: str
    sha256: str
    components: tuple[Component, ...]
    lasting: bool = True


def register(
    kind: str, name: str, display: str = "", *, about: str, order: int = 1000
) -> Callable[[_Config], _Config]:
    """Registers a frozen dataclass as the `Config` of a component.

    The class has a field made by `parameter` for each parameter, and a method `build`. The base
    class of its kind (`AlgorithmConfig`, `AvailabilityConfig` ...) describes arguments and result
    of `build`. The constructor checks each value against its declaration and raises
    `ParameterError`. There is no global state: a plug-in's components are found by
    searching its modules, those of this package in a table (settings/built_in.py).

    Args:
        kind: Name of a kind, see `KINDS`.
        name: Lower-case letters, digits and underscores.
        display: Name in tables and figures; by default `name`.
        about: Description, one line.
        order: Place among its kind in tables.

    Raises:
        ComponentError: If the class cannot be a component.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff.availability import ConstraintConfig, FixedK
        >>> from f3ast_tff.settings import parameter, register
        >>> @register("constraint", "a_tenth", about="a part of all clients")
        ... @dataclass(frozen=True)
        ... class Part(ConstraintConfig):
        ...     part: float = parameter(0.1, "clients per round over all", above=0, maximum=1)
        ...     def build(self, num_clients, seed, update_bytes):
        ...         return FixedK(round(self.part * num_clients))
        >>> Part(part=0.2).build(50, 0, 0).limit(1).k
        10
    """

    def decorate(config: _Config) -> _Config:
        label = f"{kind} {name!r} ({config.__qualname__})"
        if kind not in KINDS:
            raise ComponentError(f"{label}: its kind must be one of {', '.join(KINDS)}")
        if not _NAME.fullmatch(name):
            raise ComponentError(f"{label}: its name must be lower-case letters, digits and _")
        own = "__dataclass_fields__" in vars(config)
        if not dataclasses.is_dataclass(config) or not _is_frozen(config) or not own:
            raise ComponentError(f"{label}: must be a frozen dataclass")
        _check_protocol(config, KINDS[kind], label)
        if not about.strip() or "\n" in about:
            raise ComponentError(f"{label}: about must be one line")
        component = Component(
            kind, name, display=display or name, about=about, config=config, order=order
        )
        try:
            component.parameters  # noqa: B018 - refuses a parameter of an unknown type.
        except TypeError as error:
            raise ComponentError(f"{label}: {error}") from error
        setattr(config, _ATTRIBUTE, component)
        _check_what_is_given(config)
        return config

    return decorate


def _check_protocol(config: Any, kind: Kind, label: str) -> None:
    base = kind.base_class
    if not issubclass(config, base):
        raise ComponentError(f"{label}: must derive from {base.__name__}")
    try:
        inspect.signature(config.build).bind(config, *kind.build_arguments)
    except TypeError as error:
        wanted = ", ".join(("self", *kind.build_arguments))
        raise ComponentError(f"{label}: its build must take ({wanted})") from error


def component_of(config: Any) -> Component:
    """Returns the component of a `Config` class or instance."""
    return getattr(config, _ATTRIBUTE)


def parts_of(config: Any) -> tuple[Any, ...]:
    """Returns the `Config`s that a component is put together from, such as those of `product`."""
    found = getattr(config, "parts", ())
    return found if isinstance(found, tuple) else ()


def given_fields(config: Any) -> tuple[str, ...]:
    """Returns the names of the fields that the constructor of a component's `Config` was given."""
    return getattr(config, _GIVEN, tuple(field.name for field in dataclasses.fields(config)))


def without_note(config: Any) -> Any:
    """Returns a copy of a `Config` without the note of its given fields; a class as it is."""
    bare = copy.copy(config)
    if not inspect.isclass(bare):
        vars(bare).pop(_GIVEN, None)
    return bare


def _check_what_is_given(config: Any) -> None:
    """Makes the constructor check values against their declarations, and note given fields."""
    made = config.__init__
    names = [field.name for field in dataclasses.fields(config) if field.init]
    unresolved = {field.name for field in dataclasses.fields(config) if field.default is None}

    @wraps(made)
    def checking(self: Any, *values: Any, **by_name: Any) -> None:
        made(self, *values, **by_name)
        given = (*names[: len(values)], *by_name)
        for parameter in parameters_of(config):
            value = getattr(self, parameter.name)
            if parameter.name in given and not (value is None and parameter.name in unresolved):
                object.__setattr__(self, parameter.name, parameter.checked(value))
        object.__setattr__(self, _GIVEN, given)

    config.__init__ = checking


def registered_in(module: Any) -> list[Component]:
    """Returns the components that a module registers, also within a class, in their order."""
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    own = [v for c in classes for v in (c, *vars(c).values()) if isinstance(v, type)]
    found = [vars(value).get(_ATTRIBUTE) for value in own]
    return [component for component in found if isinstance(component, Component)]


def _is_frozen(config: Any) -> bool:
    return config.__dataclass_params__.frozen
