"""The names on the command line and what they stand for: a new part is one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import availability
import datasets
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection import F3AST, PowerOfChoice, Proportional, Strategy

if TYPE_CHECKING:
    from experiments.settings import Settings


@dataclass(frozen=True)
class AvailabilityEntry:
    """An availability process by name.

    Attributes:
        process: Its class.
        arguments: Its arguments beside the seed, given settings and client shares p_k.
    """

    process: type[availability.IndependentAvailability]
    arguments: Callable[[Settings, np.ndarray], dict[str, Any]]


AVAILABILITY: dict[str, AvailabilityEntry] = {
    "always": AvailabilityEntry(availability.Always, lambda s, p: {"num_clients": len(p)}),
    "scarce": AvailabilityEntry(availability.Scarce, lambda s, p: {"num_clients": len(p)}),
    "home_devices": AvailabilityEntry(
        availability.HomeDevices,
        lambda s, p: {"num_clients": len(p), "spread_is": s.lognormal_spread},
    ),
    "smartphones": AvailabilityEntry(
        availability.Smartphones,
        lambda s, p: {
            "num_clients": len(p),
            "spread_is": s.lognormal_spread,
            "grid": s.smartphones_grid,
        },
    ),
    "uneven": AvailabilityEntry(availability.Uneven, lambda s, p: {"p": p}),
}


def _proportional(s: Settings, p: np.ndarray, sizes: np.ndarray) -> Strategy:
    by_size = s.baseline_average == "examples"
    average_weights = sizes.astype(np.float64) if by_size else np.ones(len(p))
    return Proportional(p, average_weights, s.baseline_sampling == "with_replacement", s.seed)


def _f3ast(s: Settings, p: np.ndarray, sizes: np.ndarray) -> Strategy:
    initial_rates = {
        "k_over_n": np.full(len(p), s.clients_per_round / len(p)),
        "p": p,
        "one_over_n": np.full(len(p), 1 / len(p)),
    }
    return F3AST(
        p,
        ParticipationRates(initial_rates[s.rate_init], s.rate_beta),
        s.availability_objective,
        random_ties=s.ties == "random",
        fill_unavailable=s.short_rounds == "fill_unavailable",
        divisor=s.clients_per_round if s.aggregate == "sum_over_k" else 1.0,
        seed=s.seed,
    )


def _power_of_choice(s: Settings, p: np.ndarray, sizes: np.ndarray) -> Strategy:
    return PowerOfChoice(p, s.poc_candidates, s.seed)


# Given settings, client shares p_k and numbers of training examples.
SELECTIONS: dict[str, Callable[[Settings, np.ndarray, np.ndarray], Strategy]] = {
    "proportional": _proportional,
    "f3ast": _f3ast,
    "power_of_choice": _power_of_choice,
}


@dataclass(frozen=True)
class Algorithm:
    """A composition of selection, aggregate and server optimizer.

    Attributes:
        selection: One of `SELECTIONS`.
        aggregation: `"mean"` or `"sum"`.
        server_optimizer: One of `f3ast_tff.optimizer.OPTIMIZERS`.
    """

    selection: str
    aggregation: str
    server_optimizer: str


ALGORITHMS: dict[str, Algorithm] = {
    "fedavg": Algorithm("proportional", "mean", "sgd"),
    "fedadam": Algorithm("proportional", "mean", "adam"),
    "f3ast": Algorithm("f3ast", "sum", "sgd"),
    "f3ast_adam": Algorithm("f3ast", "sum", "adam"),
    "poc": Algorithm("power_of_choice", "mean", "sgd"),
}

DATASETS: dict[str, Callable[[Settings], FederatedData]] = {
    "synthetic": lambda s: datasets.synthetic(
        s.num_clients, s.synthetic_alpha, s.synthetic_beta, s.data_seed
    ),
}
