"""Markov-modulated K_t: good and bad times of a network, each lasting a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.components import register
from f3ast_tff.errors import ParameterError
from f3ast_tff.methods.parts.feasible import Feasible
from f3ast_tff.randomness import generator

from .constraint import ConstraintConfig, integers
from .schedule import check_counts


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
