"""A world of a few clients, with strategies built from an algorithm's `Config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from f3ast_tff.availability import CommunicationConstraint, FixedK
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.preprocessing import AsStored
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.strategy import Cohort, Losses, Round, Strategy, cohort_of, no_losses
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.settings import REQUIRED, Derived, Published, Reading, builtin_registry

N, K = 6, 3
SIZES = np.array([4, 2, 6, 3, 5, 4])
# Defaults that an experiment derives from other settings.
FOLLOWS: Mapping[str, Any] = {
    "availability_objective": "p_squared",
    "baseline_sampling": "with_replacement",
    "memory_from_round": 1,
    "switch_round": 51,
    "rate_init": "p",
}


class Blinking:
    """Client k is available with its own probability, independently per round; counts calls."""

    num_clients = N
    positively_correlated = False
    periodic = False
    stationary = np.linspace(0.4, 0.9, N)
    eigenvalue = np.linspace(0.5, 0.0, N)

    def __init__(self) -> None:
        self.rounds: list[int] = []

    def mask(self, round_number: int) -> np.ndarray:
        self.rounds.append(round_number)
        return np.random.default_rng(round_number).random(N) < self.stationary


def small_world(
    availability: Any = None, constraint: CommunicationConstraint | None = None, **changes: Any
) -> StrategyContext:
    """Returns a world of `N` clients, `K` per round, for 100 rounds."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, SIZES.sum())
    train = ClientExamples(rng.normal(size=(SIZES.sum(), 3)), labels, np.cumsum([0, *SIZES]))
    parts = {
        "p": SIZES / SIZES.sum(),
        "sizes": SIZES,
        "availability": availability or Blinking(),
        "constraint": constraint or FixedK(clients_per_round=K),
        "rounds": 100,
        "seed": 1,
        "train": train,
        "model": SoftmaxRegression(3, 2, ridge=0.1),
        "preprocessing": AsStored(),
        "server_lr": 0.5,
    }
    return StrategyContext(**{**parts, **changes})


def config(algorithm: str, preset: str = "paper", **given: Any) -> Any:
    """Returns an algorithm's `Config`: its defaults under a reading, updated by `given`."""
    component = builtin_registry().find("algorithm", algorithm)
    values = {}
    for parameter in component.parameters:
        default = parameter.default
        if isinstance(default, Reading):
            default = default.value(preset)
        assert not isinstance(default, Published)
        assert default is not REQUIRED
        if isinstance(default, Derived):
            default = FOLLOWS[parameter.name]
        values[parameter.name] = parameter.checked(given.get(parameter.name, default))
    assert given.keys() <= values.keys()
    return component.config(**values)


class Spy:
    """Answers with given losses, and records the asked clients."""

    def __init__(self, losses: list[float]) -> None:
        self.losses = np.array(losses)
        self.asked: list[list[int]] = []

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        self.asked.append(ids.tolist())
        return self.losses[ids]


def played(
    strategy: Strategy,
    t: int,
    available: np.ndarray,
    k: int | RoundConstraint,
    losses: Losses = no_losses,
    delivered: np.ndarray | None = None,
) -> Cohort:
    """Plays round `t` with at most `k` clients, or under a constraint."""
    constraint = k if isinstance(k, RoundConstraint) else RoundConstraint(k)
    return cohort_of(strategy, Round(t, available, constraint, losses), delivered)
