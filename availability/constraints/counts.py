"""Constraints on the number of clients: fixed, on a schedule, or drawn."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.text_values import integer_in, number_in

from .constraint import ConstraintConfig

# Above this NumPy draws no Poisson variable.
_LARGEST_MEAN = 1e18


@register("constraint", "fixed", "Fixed K", about="K: the same K in every round", order=1)
@dataclass(frozen=True)
class FixedK(ConstraintConfig):
    """The usual setting of federated averaging; the default constraint.

    K is the setting `clients_per_round`; the text has no arguments.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import FixedK
        >>> fixed = FixedK(clients_per_round=3).build(num_clients=10)
        >>> ranking = np.array([7, 2, 9, 4])
        >>> fixed.limit(1).admit(ranking).tolist()
        [7, 2, 9]
    """

    clients_per_round: int = parameter(10, "K, the most clients per round", minimum=1)

    def require(self) -> None:
        if self.arguments:
            raise self.refused("must be a number alone")

    def refused(self, allowed: str) -> ParameterError:
        if self.arguments:
            return super().refused(allowed)
        return ParameterError("clients_per_round", self.clients_per_round, allowed)

    @property
    def largest_k(self) -> int:
        """K."""
        return self.clients_per_round

    @property
    def mean_k(self) -> float:
        """K."""
        return float(self.clients_per_round)

    def limit(self, round_number: int) -> RoundConstraint:
        return RoundConstraint(self.clients_per_round)


@dataclass(frozen=True)
class ListedK(ConstraintConfig):
    """Base of constraints with a list of numbers K.

    Attributes:
        values: The numbers, `int`, each at least 1.
    """

    @cached_property
    def values(self) -> tuple[int, ...]:
        """The arguments as numbers."""
        return tuple(integer_in(entry) for entry in self.arguments.split(","))

    def require(self) -> None:
        if min(self.values) < 1:
            raise self.refused("must be one or more numbers, each at least 1")

    @property
    def largest_k(self) -> int:
        """The largest of the values."""
        return max(self.values)

    @property
    def mean_k(self) -> float:
        """The mean of the values."""
        return sum(self.values) / len(self.values)


@register(
    "constraint",
    "cycle",
    "Cycle of K",
    about="cycle:K,K,...: K_t goes through the list, again and again",
    order=2,
)
@dataclass(frozen=True)
class CycleK(ListedK):
    """K_t is entry (t - 1) mod n of a list of n.

    Examples:
        >>> from f3ast_tff.availability import CycleK
        >>> cycle = CycleK("2,2,8").build(num_clients=10)
        >>> [cycle.limit(t).k for t in (1, 2, 3, 4)], cycle.mean_k
        ([2, 2, 8, 2], 4.0)
    """

    def limit(self, round_number: int) -> RoundConstraint:
        return RoundConstraint(self.values[(round_number - 1) % len(self.values)])


@register(
    "constraint",
    "hold",
    "K held",
    about="hold:K,K,...: K_t goes through the list and stays at its last",
    order=3,
)
@dataclass(frozen=True)
class HoldK(ListedK):
    """K_t is entry min(t, n) - 1 of a list of n.

    Examples:
        >>> from f3ast_tff.availability import HoldK
        >>> hold = HoldK("2,4,8").build(num_clients=10)
        >>> [hold.limit(t).k for t in (1, 2, 3, 4)], hold.mean_k
        ([2, 4, 8, 8], 8.0)
    """

    @property
    def mean_k(self) -> float:
        """The last value, which holds in the long run."""
        return float(self.values[-1])

    def limit(self, round_number: int) -> RoundConstraint:
        return RoundConstraint(self.values[min(round_number, len(self.values)) - 1])


@register(
    "constraint",
    "steps",
    "Steps of K",
    about="steps:ROUND=K,ROUND=K,...: each K holds from its round on, the first from round 1",
    order=4,
)
@dataclass(frozen=True)
class StepsK(HoldK):
    """A step function of the round.

    Attributes:
        starts: Rounds from which each value holds, `int`, rising from 1.

    Examples:
        >>> from f3ast_tff.availability import StepsK
        >>> steps = StepsK("1=2,100=8").build(num_clients=10)
        >>> [steps.limit(t).k for t in (1, 99, 100)]
        [2, 2, 8]
    """

    @cached_property
    def _steps(self) -> list[tuple[int, int]]:
        pairs = [entry.split("=") for entry in self.arguments.split(",")]
        return [(integer_in(start), integer_in(k)) for start, k in pairs]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first rounds of the steps."""
        return tuple(start for start, _ in self._steps)

    @cached_property
    def values(self) -> tuple[int, ...]:
        """K of the steps."""
        return tuple(k for _, k in self._steps)

    def require(self) -> None:
        super().require()
        if self.starts[0] != 1 or any(a >= b for a, b in zip(self.starts, self.starts[1:])):
            raise self.refused("first rounds must be 1 and then increase, one for each value")

    def limit(self, round_number: int) -> RoundConstraint:
        return RoundConstraint(self.values[bisect_right(self.starts, round_number) - 1])


@register(
    "constraint",
    "uniform",
    "Uniform K",
    about="uniform:LEAST:MOST: K_t is drawn uniformly in every round",
    order=5,
)
@dataclass(frozen=True)
class UniformK(ConstraintConfig):
    """K_t uniform on LEAST .. MOST.

    Examples:
        >>> from f3ast_tff.availability import UniformK
        >>> uniform = UniformK("2:5").build(num_clients=10, seed=0)
        >>> [uniform.limit(t).k for t in range(1, 9)], uniform.mean_k
        ([3, 5, 5, 5, 3, 2, 3, 5], 3.5)
    """

    @cached_property
    def ends(self) -> tuple[int, int]:
        """LEAST and MOST."""
        least, most = self.arguments.split(":")
        return integer_in(least), integer_in(most)

    def require(self) -> None:
        if not 1 <= self.ends[0] <= self.ends[1]:
            raise self.refused("the first must be at least 1 and at most the second")

    @property
    def largest_k(self) -> int:
        """MOST."""
        return self.ends[1]

    @property
    def mean_k(self) -> float:
        """The middle of LEAST .. MOST."""
        return sum(self.ends) / 2

    def limit(self, round_number: int) -> RoundConstraint:
        least, most = self.ends
        rng = generator(self.seed, "communication", round_number)
        return RoundConstraint(int(rng.integers(least, most, endpoint=True)))


@register(
    "constraint",
    "poisson",
    "Poisson K",
    about="poisson:MEAN: K_t is a Poisson variable in every round, moved into 1..N",
    order=6,
)
@dataclass(frozen=True)
class PoissonK(ConstraintConfig):
    """K_t Poisson, moved into 1..N; for a mean well inside, the mean of K_t is nearly MEAN.

    Examples:
        >>> from f3ast_tff.availability import PoissonK
        >>> poisson = PoissonK("1").build(num_clients=10, seed=0)
        >>> [poisson.limit(t).k for t in range(1, 9)], round(poisson.mean_k, 2)
        ([1, 1, 2, 2, 1, 1, 1, 1], 1.37)
    """

    @cached_property
    def mean(self) -> float:
        """Mean of the Poisson variable."""
        return number_in(self.arguments)

    def require(self) -> None:
        if not 0 < self.mean <= _LARGEST_MEAN:
            raise self.refused(f"the mean must be above 0 and at most {_LARGEST_MEAN:g}")

    @property
    def largest_k(self) -> int:
        """N."""
        return self.num_clients

    @cached_property
    def mean_k(self) -> float:
        """Mean of K_t: 1 + the sum of P(X > j) over j = 1 .. N - 1, X the Poisson variable."""
        j = np.arange(self.num_clients)
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(j[1:]))])
        chances = np.exp(j * np.log(self.mean) - self.mean - log_factorial)
        above = 1 - np.minimum(np.cumsum(chances), 1)
        return 1 + float(above[1:].sum())

    def limit(self, round_number: int) -> RoundConstraint:
        drawn = int(generator(self.seed, "communication", round_number).poisson(self.mean))
        return RoundConstraint(min(max(drawn, 1), self.num_clients))


@register(
    "constraint",
    "markov",
    "Markov K",
    about="markov:K,K,...:MEMORY: K_t stays with probability MEMORY, else is drawn from the list",
    order=7,
)
@dataclass(frozen=True)
class MarkovK(ListedK):
    """K_t stays as it is with probability MEMORY, else is drawn anew, uniformly from the list.

    MEMORY is the second eigenvalue of the chain, and so the correlation of successive K_t. The
    stationary law is uniform, so `mean_k` is the list's mean. A repeated number weighs more. K_t is
    the value of the last round that drew anew, found by looking back from t. So it depends only on
    (seed, t), at some 1 / (1 - MEMORY) draws per call.

    Examples:
        >>> from f3ast_tff.availability import MarkovK
        >>> markov = MarkovK("2,8:0.8").build(num_clients=10, seed=4)
        >>> [markov.limit(t).k for t in range(1, 16)]
        [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8]
    """

    @cached_property
    def values(self) -> tuple[int, ...]:
        """The list."""
        levels, _ = self.arguments.split(":")
        return tuple(integer_in(entry) for entry in levels.split(","))

    @cached_property
    def memory(self) -> float:
        """MEMORY, in [0, 1)."""
        return number_in(self.arguments.partition(":")[2])

    def require(self) -> None:
        super().require()
        if not 0 <= self.memory < 1:
            raise self.refused("memory must be in [0, 1)")

    def limit(self, round_number: int) -> RoundConstraint:
        for t in range(round_number, 0, -1):
            rng = generator(self.seed, "communication", t)
            if rng.random() >= self.memory or t == 1:
                return RoundConstraint(self.values[int(rng.integers(len(self.values)))])
        raise ValueError(f"round {round_number}: rounds are counted from 1")
