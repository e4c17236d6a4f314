"""Random K_t, independent from round to round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from f3ast_tff.components import register
from f3ast_tff.errors import ParameterError
from f3ast_tff.methods.parts.feasible import Feasible
from f3ast_tff.randomness import generator

from .constraint import ConstraintConfig


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
