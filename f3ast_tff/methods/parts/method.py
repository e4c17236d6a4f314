"""A method in one class: it selects, has rules of clients and server, or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, TypeVar

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods.parts.aggregation import Aggregation, SumOrMean
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig, StrategyContext
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.methods.parts.selecting_method import SelectingMethod
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.settings import register

_Method = TypeVar("_Method", bound=type)
# What a class of rules may declare of its algorithm, as attributes or arguments of `method`.
_FACTS = ("client_share", "corrects", "reaches_optimum", "step_scale", "unbiased")


class MethodRules(Memory, Aggregation):
    """Base of a method that is its own memory: its fields are the parameters of its rules.

    Attributes:
        algorithm: `Config` of the algorithm, made by `method`.
    """

    algorithm: ClassVar[type[AlgorithmConfig]]

    @property
    def memory(self) -> Memory | None:
        return self


@dataclass(frozen=True)
class MeanOfAvailable(MethodRules, SumOrMean):
    """Base of methods that take the weighted mean of the available clients' updates.

    With the weights of F3AST, p_k / r_k, the mean becomes a sum; see `SumOrMean`.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.methods.parts.memory import ClientInit
        >>> from f3ast_tff.methods.parts.method import MeanOfAvailable, method
        >>> from f3ast_tff.settings import parameter
        >>> @method("half_steps", about="clients send a part of their update")
        ... @dataclass(frozen=True)
        ... class HalfSteps(MeanOfAvailable):
        ...     part: float = parameter(0.5, "factor of each update", above=0)
        ...     def client(self, client, server, now):
        ...         return ClientInit(scale=self.part)
        >>> HalfSteps.algorithm.__name__, HalfSteps("mean", 0.25).memory.part
        ('HalfStepsConfig', 0.25)
    """


def method(
    name: str,
    display: str = "",
    *,
    about: str,
    order: int = 1000,
    selects: type[AlgorithmConfig] | None = None,
    takes: str = "",
    client_share: str | None = None,
    corrects: Mapping[str, str] | None = None,
    reaches_optimum: bool | None = None,
    step_scale: float | None = None,
) -> Callable[[_Method], _Method]:
    """Registers a frozen dataclass as a method.

    A class that derives from `SelectingMethod` becomes an algorithm. One that derives from
    `MethodRules`, in most cases from `MeanOfAvailable`, becomes an aggregation and, over a
    selection, an algorithm. Its attribute `algorithm` becomes the `Config` of the algorithm, whose
    attribute `rules` is the class.

    A class with both halves derives from `SelectingMethod` first, then from `Aggregation`, or from
    `MethodRules` with a memory. It becomes an algorithm; its attribute `rules` becomes the
    aggregation, with the parameters of the class itself and of its bases of rules.

    Args:
        name: Name of algorithm and aggregation, as in `register`.
        display: Name in tables and figures; by default `name`.
        about: Line that describes the method.
        order: Place among algorithms, and among aggregations.
        selects: For rules alone: `Config` of the selection and its weights, `AllAvailable` by
            default.
        takes: Line that describes the selection; the algorithm's line begins with it.
        client_share: The paper's objective, as `AlgorithmConfig.client_share`; by default the
            class's attribute of the name, if any, or that of `selects`; likewise the others.
        corrects: The method's baseline, as `AlgorithmConfig.corrects`; likewise.
        reaches_optimum: `AlgorithmConfig.reaches_optimum`; likewise.
        step_scale: `AlgorithmConfig.step_scale`; likewise.

    Raises:
        ComponentError: If the class neither selects nor has rules, has rules before it selects,
            selects and has `selects` too, or cannot be a component.
    """
    facts = {
        "client_share": client_share,
        "corrects": corrects,
        "reaches_optimum": reaches_optimum,
        "step_scale": step_scale,
    }
    given = {key: value for key, value in facts.items() if value is not None}

    def decorate(declared: _Method) -> _Method:
        label = f"method {name!r} ({declared.__qualname__})"
        algorithm = partial(register, "algorithm", name, display, order=order)
        aggregation = register("aggregation", name, display, about=about, order=order)
        if issubclass(declared, SelectingMethod):
            if selects is not None:
                raise ComponentError(f"{label}: must select itself, or by selects=, not both")
            if issubclass(declared, Aggregation):
                if not issubclass(_owner(declared, "build"), AlgorithmConfig):
                    bases = f"{SelectingMethod.__name__} before the base of its rules"
                    raise ComponentError(f"{label}: must derive from {bases}")
                declared.aggregation = name
                declared.rules = aggregation(_rules_of(declared))
            for key, value in given.items():
                setattr(declared, key, value)
            return algorithm(about=f"{takes}; {about}" if takes else about)(declared)
        if not issubclass(declared, MethodRules):
            both = f"{SelectingMethod.__name__} or {MethodRules.__name__}"
            raise ComponentError(f"{label}: must derive from {both}")
        selection = AllAvailable if selects is None else selects
        members: dict[str, Any] = {
            "__module__": declared.__module__,
            "__qualname__": f"{declared.__qualname__}.algorithm",
            "__doc__": f"The selection of `{selection.__name__}`, with {display or name}'s rules.",
            "aggregation": name,
            "rules": declared,
        }
        members |= {fact: getattr(declared, fact) for fact in _FACTS if hasattr(declared, fact)}
        members |= given
        if issubclass(selection, SelectingMethod):
            members["build"] = _build_of(selection)
        made: Any = type(f"{declared.__name__}Config", (selection,), members)
        says = f"{takes or 'takes all available clients (or K of them)'}; {about}"
        declared.algorithm = algorithm(about=says)(dataclass(frozen=True)(made))
        return aggregation(declared)

    return decorate


def _rules_of(declared: type[SelectingMethod]) -> Any:
    """The class as an aggregation, without the parameters that bases of its selection declare."""
    rules: dict[str, Any] = {
        "__module__": declared.__module__,
        "__qualname__": f"{declared.__qualname__}.rules",
        "__doc__": f"The rules of `{declared.__name__}`.",
        "build": Aggregation.build,
        "check": Aggregation.check,
        "__annotations__": {},
    }
    for parameter in fields(declared):  # type: ignore[arg-type]
        owner = _owner(declared, parameter.name)
        if issubclass(owner, AlgorithmConfig) and not issubclass(owner, Aggregation):
            rules["__annotations__"][parameter.name] = parameter.type
            rules[parameter.name] = field(init=False, repr=False)
    return dataclass(frozen=True)(type(declared.__name__, (declared,), rules))


def _owner(declared: type, name: str) -> type:
    """The class that declares an attribute: the first in the order of look-up."""
    return next(base for base in declared.__mro__ if name in vars(base))


def _build_of(selects: type[SelectingMethod]) -> Callable[[Any, StrategyContext], Strategy]:
    """Builds the selection alone, as the rules are the aggregation's."""

    def build(self: Any, world: StrategyContext) -> Strategy:
        names = (field.name for field in fields(selects))
        return selects(**{name: getattr(self, name) for name in names}).build(world)

    return build
