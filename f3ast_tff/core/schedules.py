"""Schedules of the client learning rate: a factor per round."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from f3ast_tff.core.errors import ParameterError

SCHEDULES = ("constant", "geometric", "inverse", "inverse_sqrt")
# Default rounds T, from the papers.
PUBLISHED_ROUNDS: Mapping[str, int] = {"inverse": 1, "inverse_sqrt": 10}


@dataclass(frozen=True)
class Schedule:
    """Base of schedules, and the constant one.

    Examples:
        >>> from f3ast_tff.optimizers import Schedule
        >>> class Warmup(Schedule):
        ...     def factor(self, round_number):
        ...         return min(round_number / 10, 1.0)
        >>> [Warmup().factor(t) for t in (1, 5, 20)], Warmup().is_constant
        ([0.1, 0.5, 1.0], False)
    """

    @property
    def is_constant(self) -> bool:
        """Whether the factor is 1 in every round; a subclass with a `factor` of its own: no."""
        return type(self).factor is Schedule.factor

    def factor(self, round_number: int) -> float:
        """Returns the learning rate of round t, from 1, over the rate of round 1."""
        return 1.0


@dataclass(frozen=True)
class Geometric(Schedule):
    """decay^(t - 1).

    Attributes:
        decay: Factor from round to round, in (0, 1].

    Examples:
        >>> from f3ast_tff.optimizers import Geometric
        >>> [Geometric(decay=0.5).factor(t) for t in (1, 2, 3)]
        [1.0, 0.5, 0.25]
    """

    decay: float

    @property
    def is_constant(self) -> bool:
        return self.decay == 1

    def factor(self, round_number: int) -> float:
        return self.decay ** (round_number - 1)


@dataclass(frozen=True)
class Inverse(Schedule):
    """1 / ((t - 1) / T + 1).

    T = 1 gives MIFA's eta_0 / (t + 1) (arXiv 2106.04159), whose rounds start at 0.

    Attributes:
        rounds: T, rounds after which the rate is halved, at least 1.

    Examples:
        >>> from f3ast_tff.optimizers import Inverse
        >>> [Inverse(rounds=100).factor(t) for t in (1, 101, 301)]
        [1.0, 0.5, 0.25]
    """

    rounds: int = PUBLISHED_ROUNDS["inverse"]

    @property
    def is_constant(self) -> bool:
        return False

    def factor(self, round_number: int) -> float:
        return 1 / ((round_number - 1) / self.rounds + 1)


@dataclass(frozen=True)
class InverseSqrt(Schedule):
    """1 / sqrt((t - 1) / T + 1).

    T = 10 gives FedAWE's eta_0 / sqrt(t / 10 + 1) (arXiv 2409.17446), whose rounds start at 0.

    Attributes:
        rounds: T, a third of the rounds after which the rate is halved, at least 1.

    Examples:
        >>> from f3ast_tff.optimizers import InverseSqrt
        >>> [InverseSqrt(rounds=100).factor(t) for t in (1, 301, 1501)]
        [1.0, 0.5, 0.25]
    """

    rounds: int = PUBLISHED_ROUNDS["inverse_sqrt"]

    @property
    def is_constant(self) -> bool:
        return False

    def factor(self, round_number: int) -> float:
        return 1 / math.sqrt((round_number - 1) / self.rounds + 1)


def client_schedule(name: str, *, decay: float, rounds: int | None) -> Schedule:
    """Returns the schedule of an experiment's clients.

    Args:
        name: The setting `client_lr_schedule`.
        decay: The setting `client_lr_decay`.
        rounds: The setting `client_lr_rounds`.

    Raises:
        ParameterError: If a parameter is given that the schedule does not have.
    """
    if name != "geometric" and decay != 1:
        allowed = f"only applies with client_lr_schedule geometric; it is {name}"
        raise ParameterError("client_lr_decay", decay, allowed)
    if name not in PUBLISHED_ROUNDS and rounds is not None:
        allowed = (
            f"only applies with client_lr_schedule {', '.join(PUBLISHED_ROUNDS)}; it is {name}"
        )
        raise ParameterError("client_lr_rounds", rounds, allowed)
    if name == "constant":
        return Schedule()
    if name == "geometric":
        return Geometric(decay)
    assert rounds is not None
    return {"inverse": Inverse, "inverse_sqrt": InverseSqrt}[name](rounds)
