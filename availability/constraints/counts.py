"""Constraints on the number of clients: fixed, on a schedule, or drawn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.methods.parts.feasible import Feasible
from f3ast_tff.settings import parameter, register

from .constraint import ConstraintConfig, integers

THEN = ("repeat", "hold")


@dataclass(frozen=True)
class FixedK:
    """The usual setting of federated averaging.

    Attributes:
        clients_per_round: K, at least 1.
    """

    clients_per_round: int

    def __post_init__(self) -> None:
        if self.clients_per_round < 1:
            raise ParameterError("clients_per_round", self.clients_per_round, "must be at least 1")

    @property
    def largest_k(self) -> int:
        """K."""
        return self.clients_per_round

    @property
    def mean_k(self) -> float:
        """K."""
        return float(self.clients_per_round)

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`."""
        return Feasible(self.clients_per_round)


@register("communication", "fixed", "Fixed K", about="K: the same K in every round", order=1)
@dataclass(frozen=True)
class FixedConfig(ConstraintConfig):
    """Configuration of `FixedK`; what `communication` is where it is not given."""

    form: ClassVar[str] = "K"

    clients_per_round: int = parameter(10, "K, the most clients a round", minimum=1)

    def build(self, num_clients: int, seed: int, update_bytes: int) -> FixedK:
        """See `ConstraintConfig.build`."""
        if self.arguments:
            raise self._refused("must be a number alone")
        if self.clients_per_round > num_clients:
            allowed = f"must be at most num_clients, {num_clients}"
            raise ParameterError("clients_per_round", self.clients_per_round, allowed)
        return FixedK(self.clients_per_round)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `ConstraintConfig.check`."""
        self.build(settings.get("num_clients") or self.clients_per_round, 0, 1)


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


@dataclass(frozen=True)
class UniformK:
    """K_t uniform on least..most.

    Attributes:
        least: At least 1.
        most: At least `least`.
        seed: Seed of the draws.
    """

    least: int
    most: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            allowed = "the first must be at least 1 and at most the second"
            raise ParameterError("communication", f"uniform:{self.least}:{self.most}", allowed)

    @property
    def largest_k(self) -> int:
        """`most`."""
        return self.most

    @property
    def mean_k(self) -> float:
        """The middle of least..most."""
        return (self.least + self.most) / 2

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`."""
        rng = generator(self.seed, "communication", round_number)
        return Feasible(int(rng.integers(self.least, self.most, endpoint=True)))


@dataclass(frozen=True)
class PoissonK:
    """K_t Poisson, moved into 1..most; for a mean well inside, the mean of K_t is nearly `mean`.

    Attributes:
        mean: Mean of the Poisson variable, above 0.
        most: Largest K_t, for example the number of clients; at least 1.
        seed: Seed of the draws.
    """

    mean: float
    most: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.mean > 0 and np.isfinite(self.mean) and self.most >= 1):
            allowed = "the mean must be above 0 and finite, the maximum at least 1"
            raise ParameterError("communication", f"poisson:{self.mean}:{self.most}", allowed)

    @property
    def largest_k(self) -> int:
        """`most`."""
        return self.most

    @cached_property
    def mean_k(self) -> float:
        """Mean of K_t: 1 + the sum of P(X > j) over j = 1 .. most - 1, X the Poisson variable."""
        j = np.arange(self.most)
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(j[1:]))])
        chances = np.exp(j * np.log(self.mean) - self.mean - log_factorial)
        above = 1 - np.minimum(np.cumsum(chances), 1)
        return 1 + float(above[1:].sum())

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`."""
        drawn = int(generator(self.seed, "communication", round_number).poisson(self.mean))
        return Feasible(min(max(drawn, 1), self.most))


@register(
    "communication",
    "uniform",
    "Uniform K",
    about="uniform:LEAST:MOST: K_t is drawn uniformly in every round",
    order=5,
)
@dataclass(frozen=True)
class UniformKConfig(ConstraintConfig):
    """Configuration of `UniformK`."""

    form: ClassVar[str] = "uniform:LEAST:MOST"

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> UniformK:
        """See `ConstraintConfig.constraint`."""
        least, most = self.arguments.split(":")
        return UniformK(int(least), int(most), seed)


@register(
    "communication",
    "poisson",
    "Poisson K",
    about="poisson:MEAN: K_t is a Poisson variable in every round, moved into 1..N",
    order=6,
)
@dataclass(frozen=True)
class PoissonConfig(ConstraintConfig):
    """Configuration of `PoissonK`."""

    form: ClassVar[str] = "poisson:MEAN"

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> PoissonK:
        """See `ConstraintConfig.constraint`."""
        return PoissonK(float(self.arguments), num_clients, seed)


@dataclass(frozen=True)
class MarkovK:
    """K_t stays as it is with probability `memory`, else is drawn anew, uniformly from the levels.

    `memory` is the second eigenvalue of the chain, so the correlation of successive K_t; the
    stationary law is uniform. K_t is the level of the last round that drew anew, found by looking
    back from t: a function of (seed, t) alone, at some 1 / (1 - memory) draws a call.

    Attributes:
        levels: Values of K_t, each at least 1; one that is repeated weighs more.
        memory: In [0, 1).
        seed: Seed of the draws.
    """

    levels: tuple[int, ...]
    memory: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self.levels)
        if not 0 <= self.memory < 1:
            raise ParameterError("communication", self.memory, "memory must be in [0, 1)")

    @property
    def largest_k(self) -> int:
        """The largest level."""
        return max(self.levels)

    @property
    def mean_k(self) -> float:
        """The mean level: the stationary law is uniform over them."""
        return sum(self.levels) / len(self.levels)

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`."""
        for t in range(round_number, 0, -1):
            rng = generator(self.seed, "communication", t)
            if rng.random() >= self.memory or t == 1:
                return Feasible(self.levels[int(rng.integers(len(self.levels)))])
        raise ValueError(f"round {round_number}: rounds are counted from 1")


@register(
    "communication",
    "markov",
    "Markov K",
    about="markov:K,K,...:MEMORY: K_t stays with probability MEMORY, else is drawn from the list",
    order=7,
)
@dataclass(frozen=True)
class MarkovKConfig(ConstraintConfig):
    """Configuration of `MarkovK`."""

    form: ClassVar[str] = "markov:K,K,...:MEMORY"

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> MarkovK:
        """See `ConstraintConfig.constraint`."""
        levels, memory = self.arguments.split(":")
        return MarkovK(integers(levels), float(memory), seed)
