"""The model at which each method rests under each kind of availability, against F's optimum.

Clients have f_k(w) = (w - c_k)^2 / 2 with c_k from 0 to 1 and take one exact local step. If S_t
does not depend on the model, a method whose weights have the means omega_k rests, up to the first
order in the rate, at the mean of c_k weighted by omega_k.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.analysis.studies.theory.quadratics import Quadratics, row
from f3ast_tff.availability import (
    AvailabilityProcess,
    Grouped,
    IndependentAvailability,
    Markov,
    NonStationary,
    Turns,
)
from f3ast_tff.availability.constraints.counts import FixedK
from f3ast_tff.engines.host.rules_in_numpy import QuadraticClients, path_of
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.resolve import resolve

N, K, RATE = 8, 3, 0.05
SIZES = np.array([6, 1, 3, 2, 8, 2, 1, 9])
Q = np.linspace(0.9, 0.2, N)
HALVES = np.arange(N) // (N // 2)
# Adam's step on the server, and training in one place, are not compared.
LEFT_OUT = ("fedadam", "f3ast_adam", "sequential_sgd")
# F3AST's rates settle within the run; CA-Fed is told no law, and turns have none that it knows; the
# published periods of amplification are for much smaller rates.
OWN: dict[str, dict[str, Any]] = {
    "f3ast": {"rate_beta": 0.01},
    "f3ast_of_ca_fed": {"rate_beta": 0.01},
    "ca_fed": {"availability_knowledge": "estimated"},
    "amplified_fedavg": {"amplified_period": 8, "amplified_gain": 1.5},
    "amplified_scaffold": {"control_period": 8, "control_gain": 1.5},
}
# omega_k = p_k: they rest at F's optimum, or move about it.
RIGHT = ("unbiased", "f3ast", "f3ast_fixed", "fedlaavg", "mifa", "fedvarp", "fedstale", "scaffold")


@dataclass(frozen=True)
class Regime:
    """A kind of availability.

    Attributes:
        name: For tables.
        process: The process of a seed.
        laws: Chances of the clients, independent within a law, `float64 [laws, N]`; the available
            set's long-run law is a mixture of them.
        shares: Share of each law in the mixture, `float64 [laws]`.
    """

    name: str
    process: Callable[[int], AvailabilityProcess]
    laws: np.ndarray
    shares: np.ndarray


def regimes(sizes: np.ndarray) -> list[Regime]:
    """Returns seven kinds of availability with different rates, durations and correlations."""
    one, night = np.ones(1), np.where(HALVES == 0, 6, 2)
    turns = Turns(6 * HALVES, night, 8)
    wave = 0.5 + 0.4 * np.sin(2 * np.pi * np.arange(24) / 24)
    states = np.array(list(itertools.product([0.0, 1.0], repeat=2)))
    chances = np.prod(np.where(states > 0, [0.8, 0.4], [0.2, 0.6]), axis=1)
    uneven = sizes.min() / sizes
    return [
        Regime("always", lambda s: IndependentAvailability(np.ones(N), s), np.ones((1, N)), one),
        Regime("independent", lambda s: IndependentAvailability(Q, s), Q[None], one),
        Regime("uneven", lambda s: IndependentAvailability(uneven, s), uneven[None], one),
        Regime("Markov 0.9", lambda s: Markov(Q, np.full(N, 0.9), s), Q[None], one),
        Regime(
            "two groups",
            lambda s: Grouped(Markov(np.array([0.8, 0.4]), np.full(2, 0.8), s), HALVES),
            states[:, HALVES],
            chances,
        ),
        Regime(
            "by turns",
            lambda s: turns,
            np.array([turns.mask(t) for t in range(1, 9)], float),
            np.full(8, 1 / 8),
        ),
        Regime("sine", lambda s: NonStationary(Q, s, wave), wave[:, None] * Q, np.full(24, 1 / 24)),
    ]


def mean_weights(method: str, p: np.ndarray, regime: Regime) -> np.ndarray | None:
    """Returns omega_k of a method up to a factor, `float64 [N]`; `None` without a closed form."""
    if method in RIGHT:
        return p
    if method not in ("fedavg", "uniform", "fedavg_all"):
        return None
    found = np.zeros(N)
    for members in itertools.product((False, True), repeat=N):
        there = np.array(members)
        if not there.any():
            continue
        chance = np.where(there, regime.laws, 1 - regime.laws).prod(1) @ regime.shares
        if method == "fedavg_all":
            found += chance * there * p * min(1, K / there.sum())
        else:
            basis = p if method == "fedavg" else np.ones(N)
            found += chance * there * basis / basis[there].sum()
    return found


def path(
    method: str,
    problem: Quadratics,
    sizes: np.ndarray,
    process: AvailabilityProcess,
    rounds: int,
    seed: int,
) -> np.ndarray:
    """Runs a method, a component of this suite by name, from 0.

    Returns:
        The model that the method is scored by, after each round, `float64 [rounds]`.
    """
    p, registry = problem.p, builtin_registry()
    given = {
        "task": "synthetic",
        "algorithm": method,
        "availability": process,
        "num_clients": N,
        "constraint": K,
        "rounds": rounds,
        **OWN.get(method, {}),
    }
    if method == "more_available":
        given["more_available_pi"] = float(np.mean(np.asarray(process.stationary)))
    settings, registry = settings_of(given, registry)
    configs = resolve(settings, registry).configs
    absent: Any = None  # Strategies here look at neither data nor model.
    world = StrategyContext(
        p=p,
        sizes=sizes.astype(int),
        availability=process,
        constraint=FixedK(clients_per_round=K),
        rounds=rounds,
        seed=seed,
        train=absent,
        model=absent,
        preprocessing=absent,
        server_lr=RATE,
    )
    return path_of(
        configs["algorithm"].build(world),
        configs["aggregation"].build(),
        QuadraticClients(problem.optima[:, 0], RATE),
        p=p,
        process=process,
        k=K,
        rounds=rounds,
    )


def results(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Returns mean and root mean square of every method's distance to F's optimum.

    They are over the second half of `rounds` 3 / 5 rounds; optima span 1. `exact` is the closed
    form, if there is one.
    """
    found, rounds = [], rounds * 3 // 5
    methods = [name for name in builtin_registry().names("algorithm") if name not in LEFT_OUT]
    for objective, sizes in (("1 / N", np.ones(N)), ("n_k / n", SIZES)):
        p = sizes / sizes.sum()
        problem = Quadratics(p, np.ones((N, 1)), np.linspace(0, 1, N)[:, None])
        optimum = float(problem.optimum()[0])
        for method, regime in itertools.product(methods, regimes(SIZES)):
            late = np.array(
                [
                    path(method, problem, sizes, regime.process(s), rounds, seed=s)[rounds // 2 :]
                    for s in range(max(draws // 6, 3))
                ]
            )
            weights = mean_weights(method, p, regime)
            exact = np.nan if weights is None else problem.optimum(weights)[0] - optimum
            name = builtin_registry().find("algorithm", method).display
            shift, size = late.mean(1) - optimum, np.sqrt(((late - optimum) ** 2).mean(1))
            found.append(
                row(f"mean, {objective}", name, values=shift, setting=regime.name, exact=exact)
            )
            found.append(row(f"distance, {objective}", name, values=size, setting=regime.name))
    return found
