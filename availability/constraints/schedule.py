"""Schedules: K_t written down in advance."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.components import register
from f3ast_tff.errors import ParameterError
from f3ast_tff.methods.parts.feasible import Feasible

from .constraint import ConstraintConfig, integers

THEN = ("repeat", "hold")


def check_counts(values: tuple[int, ...]) -> None:
    """Checks numbers of clients.

    Raises:
        ParameterError: If there is none, or one is below 1.
    """
    if not values or min(values) < 1:
        text = ",".join(map(str, values))
        raise ParameterError("communication", text, "must be one or more numbers, each at least 1")


@dataclass(frozen=True)
class Schedule:
    """One number a round.

    Attributes:
        values: K_1, K_2, ..., each at least 1.
        then: What follows the last: `"repeat"` from the first, or `"hold"` the last.
    """

    values: tuple[int, ...]
    then: str = "repeat"

    def __post_init__(self) -> None:
        check_counts(self.values)
        if self.then not in THEN:
            raise ParameterError("communication", self.then, f"must be one of {', '.join(THEN)}")

    @property
    def largest_k(self) -> int:
        """The largest of the values."""
        return max(self.values)

    @property
    def mean_k(self) -> float:
        """The mean of the values; where the last is held, that one."""
        if self.then == "hold":
            return float(self.values[-1])
        return sum(self.values) / len(self.values)

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`."""
        if self.then == "repeat":
            return Feasible(self.values[(round_number - 1) % len(self.values)])
        return Feasible(self.values[min(round_number, len(self.values)) - 1])


@dataclass(frozen=True)
class Steps:
    """A step function of the round.

    Attributes:
        starts: Rounds from which each value holds, increasing, the first of them 1.
        values: The values, each at least 1.
    """

    starts: tuple[int, ...]
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        check_counts(self.values)
        increasing = all(a < b for a, b in zip(self.starts, self.starts[1:]))
        if len(self.starts) != len(self.values) or self.starts[0] != 1 or not increasing:
            text = ",".join(map(str, self.starts))
            allowed = "first rounds must be 1 and then increase, one for each value"
            raise ParameterError("communication", text, allowed)

    @property
    def largest_k(self) -> int:
        """The largest of the values."""
        return max(self.values)

    @property
    def mean_k(self) -> float:
        """The last value, which holds in the long run."""
        return float(self.values[-1])

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`."""
        return Feasible(self.values[bisect_right(self.starts, round_number) - 1])


@register(
    "communication",
    "cycle",
    "Cycle of K",
    about="cycle:K,K,...: K_t goes through the list, again and again",
    order=2,
)
@dataclass(frozen=True)
class CycleConfig(ConstraintConfig):
    """Configuration of a repeated `Schedule`."""

    form: ClassVar[str] = "cycle:K,K,..."

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> Schedule:
        """See `ConstraintConfig.constraint`."""
        return Schedule(integers(self.arguments))


@register(
    "communication",
    "hold",
    "K held",
    about="hold:K,K,...: K_t goes through the list and stays at its last",
    order=3,
)
@dataclass(frozen=True)
class HoldConfig(ConstraintConfig):
    """Configuration of a `Schedule` that stays at its last value."""

    form: ClassVar[str] = "hold:K,K,..."

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> Schedule:
        """See `ConstraintConfig.constraint`."""
        return Schedule(integers(self.arguments), "hold")


@register(
    "communication",
    "steps",
    "Steps of K",
    about="steps:ROUND=K,ROUND=K,...: each K holds from its round on, the first from round 1",
    order=4,
)
@dataclass(frozen=True)
class StepsConfig(ConstraintConfig):
    """Configuration of `Steps`."""

    form: ClassVar[str] = "steps:ROUND=K,ROUND=K,..."

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> Steps:
        """See `ConstraintConfig.constraint`."""
        pairs = [entry.split("=") for entry in self.arguments.split(",")]
        return Steps(tuple(int(t) for t, _ in pairs), tuple(int(k) for _, k in pairs))
