"""A method in one class: it selects, or has rules of clients and server over a selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
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
    selects: type[AlgorithmConfig] = AllAvailable,
    takes: str = "takes all available clients (or K of them)",
    client_share: str | None = None,
    corrects: Mapping[str, str] | None = None,
    reaches_optimum: bool | None = None,
) -> Callable[[_Method], _Method]:
    """Registers a frozen dataclass as a method.

    A class that derives from `SelectingMethod` becomes an algorithm. One that derives from
    `MethodRules`, in most cases from `MeanOfAvailable`, becomes an aggregation and, over a
    selection, an algorithm. Its attribute `algorithm` becomes the `Config` of the algorithm.

    Args:
        name: Name of algorithm and aggregation, as in `register`.
        display: Name in tables and figures; by default `name`.
        about: What the method does, one line.
        order: Place among algorithms, and among aggregations.
        selects: For rules: `Config` of the selection and its weights.
        takes: What that selection does, the beginning of the algorithm's line.
        client_share: The paper's objective, as `AlgorithmConfig.client_share`; by default that of
            `selects`.
        corrects: The method's baseline, as `AlgorithmConfig.corrects`; likewise.
        reaches_optimum: As `AlgorithmConfig.reaches_optimum`; likewise.

    Raises:
        ComponentError: If the class neither selects nor has rules, does both, or cannot be a
            component.
    """
    facts = {"client_share": client_share, "corrects": corrects, "reaches_optimum": reaches_optimum}
    given = {key: value for key, value in facts.items() if value is not None}

    def decorate(rules: _Method) -> _Method:
        label = f"method {name!r} ({rules.__qualname__})"
        both = (SelectingMethod.__name__, MethodRules.__name__)
        if issubclass(rules, SelectingMethod):
            if issubclass(rules, MethodRules):
                wanted = "one class of each, and selects= of the second names the first"
                raise ComponentError(
                    f"{label}: derives from {' and '.join(both)}; must be {wanted}"
                )
            for key, value in given.items():
                setattr(rules, key, value)
            return register("algorithm", name, display, about=about, order=order)(rules)
        if not issubclass(rules, MethodRules):
            raise ComponentError(f"{label}: must derive from {' or '.join(both)}")
        members: dict[str, Any] = {
            "__module__": rules.__module__,
            "__qualname__": f"{rules.__qualname__}.algorithm",
            "__doc__": f"The selection of `{selects.__name__}`, with {display or name}'s rules.",
            "aggregation": name,
        }
        members |= given
        if issubclass(selects, SelectingMethod):
            members["build"] = _build_of(selects)
        made: Any = type(f"{rules.__name__}Config", (selects,), members)
        says = f"{takes}; {about}"
        entry = register("algorithm", name, display, about=says, order=order)
        rules.algorithm = entry(dataclass(frozen=True)(made))
        return register("aggregation", name, display, about=about, order=order)(rules)

    return decorate


def _build_of(selects: type[SelectingMethod]) -> Callable[[Any, StrategyContext], Strategy]:
    """Builds the selection alone, as the rules are the aggregation's."""

    def build(self: Any, world: StrategyContext) -> Strategy:
        names = (field.name for field in fields(selects))
        return selects(**{name: getattr(self, name) for name in names}).build(world)

    return build
