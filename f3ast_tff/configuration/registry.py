"""The names on the command line and what they stand for: a new part is one line here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from f3ast_tff.availability import AvailabilityProcess as World
from f3ast_tff.configuration import ca_fed, fedlaavg
from f3ast_tff.errors import SettingError
from f3ast_tff.rate_region import StatesOracle, greedy_policy, optimal_rates, sampled_states
from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection import (
    F3AST,
    ClusterF3AST,
    FixedPolicy,
    PowerOfChoice,
    Proportional,
    Strategy,
    Uniform,
)

if TYPE_CHECKING:
    from f3ast_tff.configuration.settings import Settings


def _proportional(s: Settings, p: np.ndarray, sizes: np.ndarray, world: World) -> Proportional:
    by_size = s.baseline_average == "examples"
    average_weights = sizes.astype(np.float64) if by_size else np.ones(len(p))
    return Proportional(p, average_weights, s.baseline_sampling == "with_replacement", s.seed)


def _longest_absent(s: Settings, p: np.ndarray, sizes: np.ndarray, world: World) -> Strategy:
    return fedlaavg.longest_absent(s, p)


def _switching(s: Settings, p: np.ndarray, sizes: np.ndarray, world: World) -> Strategy:
    return fedlaavg.fedavg_then_fedlaavg(s, p, _proportional(s, p, sizes, world))


def _uniform(s: Settings, p: np.ndarray, sizes: np.ndarray, world: World) -> Strategy:
    return Uniform(np.ones(len(p)), s.seed)


def _f3ast(s: Settings, p: np.ndarray, sizes: np.ndarray, world: World) -> Strategy:
    if s.f3ast_rule == "ca_fed":
        return ca_fed.f3ast(s, p, sizes, world)
    initial_rates = {
        "k_over_n": np.full(len(p), s.clients_per_round / len(p)),
        "p": p,
        "one_over_n": np.full(len(p), 1 / len(p)),
    }
    initial = initial_rates[s.rate_init]
    if s.rate_clusters is not None:
        clusters = np.arange(len(p)) * s.rate_clusters // len(p)
        mean = np.bincount(clusters, initial) / np.bincount(clusters)
        rates = ParticipationRates(mean, s.rate_beta)
        return ClusterF3AST(p, clusters, rates, s.availability_objective, s.seed)
    return F3AST(
        p,
        ParticipationRates(initial, s.rate_beta),
        s.availability_objective,
        random_ties=s.ties == "random",
        fill_unavailable=s.short_rounds == "fill_unavailable",
        divisor=s.clients_per_round if s.aggregate == "sum_over_k" else 1.0,
        seed=s.seed,
    )


def _fixed_policy(s: Settings, p: np.ndarray, sizes: np.ndarray, world: World) -> Strategy:
    # Rounds that the run does not reach: the policy must not have seen its available sets.
    foreseen = range(s.rounds + 1, s.rounds + 1 + s.policy_states)
    states = sampled_states((world.mask(t) for t in foreseen), s.clients_per_round)
    try:
        best = optimal_rates(
            p, s.availability_objective, StatesOracle(states), tolerance=1e-3, max_steps=3000
        )
    except ValueError as error:
        raise SettingError("policy_states", s.policy_states, str(error)) from error
    logging.info("r*: H %.4g, duality gap %.2g", best.value, best.gap)
    return FixedPolicy(p, best.rates, greedy_policy(best), s.seed)


def _power_of_choice(s: Settings, p: np.ndarray, sizes: np.ndarray, world: World) -> Strategy:
    return PowerOfChoice(p, s.poc_candidates, s.seed)


# Given settings, client shares p_k, numbers of training examples and the availability.
SELECTIONS: dict[str, Callable[[Settings, np.ndarray, np.ndarray, World], Strategy]] = {
    "proportional": _proportional,
    "uniform": _uniform,
    "f3ast": _f3ast,
    "fixed_policy": _fixed_policy,
    "power_of_choice": _power_of_choice,
    "longest_absent": _longest_absent,
    "switching": _switching,
    "unbiased": ca_fed.unbiased,
    "more_available": ca_fed.more_available,
    "adafed": ca_fed.adafed,
    "ca_fed": ca_fed.ca_fed,
}


@dataclass(frozen=True)
class Algorithm:
    """A composition of selection, aggregate and server optimizer.

    Attributes:
        selection: One of `SELECTIONS`.
        aggregation: `"mean"`, `"sum"`, or `"latest"` for the latest updates of all clients.
        server_optimizer: One of `f3ast_tff.optimizer.OPTIMIZERS`.
        client_loss: What a client reports as its loss (`f3ast_tff.engines.client_loss`); `None`
            for what `--poc_loss` says.
        pooled: Whether one client holds all data, and is always there: no federated learning.
    """

    selection: str
    aggregation: str
    server_optimizer: str
    client_loss: str | None = None
    pooled: bool = False


ALGORITHMS: dict[str, Algorithm] = {
    "fedavg": Algorithm("proportional", "mean", "sgd"),
    "fedadam": Algorithm("proportional", "mean", "adam"),
    "f3ast": Algorithm("f3ast", "sum", "sgd"),
    "f3ast_adam": Algorithm("f3ast", "sum", "adam"),
    "f3ast_fixed": Algorithm("fixed_policy", "sum", "sgd"),
    "uniform": Algorithm("uniform", "mean", "sgd"),
    "poc": Algorithm("power_of_choice", "mean", "sgd"),
    "unbiased": Algorithm("unbiased", "sum", "sgd"),
    "more_available": Algorithm("more_available", "sum", "sgd"),
    "adafed": Algorithm("adafed", "sum", "sgd"),
    "ca_fed": Algorithm("ca_fed", "sum", "sgd", client_loss="one_batch"),
    "fedlaavg": Algorithm("longest_absent", "latest", "sgd"),
    "fedavg_then_fedlaavg": Algorithm("switching", "latest", "sgd"),
    "sequential_sgd": Algorithm("uniform", "mean", "sgd", pooled=True),
}
