"""F3AST's theorems on quadratics: III.5, III.3, Lemma B.1, and the mixing of III.7.

The bound of III.5 has the constants of its proof, with the factor L / 2 that the last line of the
proof leaves out: E F(w_T) - F* <= (L / 2) v / (gamma + T E), beta = 2 / mu, and

    v = max(4 (Var_1 + Var_2) / mu^2, (gamma + 1) |w_1 - w*|^2),
    Var_1 = sum_k p_k^2 sigma_k^2 + 6 L Gamma + 8 (E - 1)^2 G^2,
    Var_2 = 4 E^2 G^2 (sum_k p_k / r_k - 1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from f3ast_tff.analysis.studies.theory import rate_convergence
from f3ast_tff.analysis.studies.theory.quadratics import Quadratics, play, row, slope_row
from f3ast_tff.availability import IndependentAvailability, Markov
from f3ast_tff.core.policies import GreedyMixture
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.rates import ParticipationRates, variance_bound
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.f3ast_fixed import FixedPolicy
from f3ast_tff.methods.parts.strategy import Round, Strategy, cohort_of
from f3ast_tff.rate_region import IndependentOracle, greedy_policy, optimal_rates

N, K, BETA = 8, 3, 0.002
Q = np.linspace(0.9, 0.25, N)
CORRELATIONS = (0.0, 0.5, 0.9, 0.95, 0.98, 0.99, 0.995)
RATE_BETAS = (0.1, 0.03, 0.01, 0.003)


def problem() -> Quadratics:
    """Returns N clients in two dimensions with mu = 1 and L = 2."""
    random = generator(0, "theory of f3ast")
    sizes = random.lognormal(0, 0.7, N)
    curvature = np.clip(random.uniform(0.9, 2.1, (N, 2)), 1.0, 2.0)
    return Quadratics(sizes / sizes.sum(), curvature, random.normal(0, 1, (N, 2)), noise=0.5)


def step_sizes(problem: Quadratics, rounds: int, steps: int) -> tuple[float, np.ndarray]:
    """Returns gamma, and eta_(t,i) = 2 / (mu (gamma + (t - 1) E + i)), `float64 [T, E]`."""
    gamma = max(8 * problem.smoothness / problem.mu, steps)
    place = np.arange(rounds * steps).reshape(rounds, steps) + 1
    return gamma, 2 / (problem.mu * (gamma + place))


def bound(
    problem: Quadratics, r: np.ndarray, steps: int, start: np.ndarray, g2: float, rounds: np.ndarray
) -> np.ndarray:
    """Returns the bound of III.5 after the given rounds; see the module docstring."""
    gamma = max(8 * problem.smoothness / problem.mu, steps)
    optimum = problem.optimum()
    var_1 = float(problem.p**2 @ np.full(len(problem.p), problem.variance))
    var_1 += 6 * problem.smoothness * float(problem.p @ problem.losses(optimum))
    var_1 += 8 * (steps - 1) ** 2 * g2
    var_2 = 4 * steps**2 * g2 * (variance_bound(r, problem.p, "p") - 1)
    first = (gamma + 1) * float(np.sum((start - optimum) ** 2))
    v = max(4 * (var_1 + var_2) / problem.mu**2, first)
    return problem.smoothness / 2 * v / (gamma + rounds * steps)


def convergence(draws: int, rounds: int) -> list[dict[str, Any]]:
    """III.5: fixed policy and F3AST, independent and Markov clients, 1 and 5 local steps."""
    world, found = problem(), []
    best = optimal_rates(world.p, "p_squared", IndependentOracle(Q, K), tolerance=1e-6)
    start = world.optimum() + 2.0
    looks = np.unique(np.geomspace(4, rounds, 24).astype(int))

    def fixed(seed: int) -> Strategy:
        return FixedPolicy.following(world.p, best.rates, greedy_policy(best), seed)

    def learning(seed: int) -> Strategy:
        return F3AST.tracking(world.p, ParticipationRates(best.rates, BETA), seed=seed)

    strategies: dict[str, Callable[[int], Strategy]] = {"fixed policy": fixed, "F3AST": learning}
    for (name, make), correlation, steps in itertools.product(
        strategies.items(), (0.0, 0.9), (1, 5)
    ):
        _, rates = step_sizes(world, rounds, steps)
        paths = play(
            world,
            make,
            process=partial(Markov, Q, np.full(N, correlation)),
            k=K,
            rates=rates,
            start=start,
            draws=draws,
        )
        excess = world.excess(paths)[:, looks]
        limit = bound(
            problem=world,
            r=best.rates,
            steps=steps,
            start=start,
            g2=world.gradient_bound(paths),
            rounds=looks,
        )
        setting = f"{'Markov 0.9' if correlation else 'independent'}, E = {steps}"
        found += [
            row("III.5", name, int(t), values, setting=setting, bound=float(most))
            for t, values, most in zip(looks, excess.T, limit)
        ]
        late = looks >= 100
        found.append(slope_row("III.5 slope", name, looks[late], excess[:, late], setting))
    return found


def two_clients() -> tuple[Quadratics, FixedPolicy]:
    """Returns the smallest counterexample: optima -1 and 1, and the policy of the best rates.

    Let K = 1, p = (1/2, 1/2), client 0 always available and client 1 in half of the rounds. The
    best rates are (1/2, 1/2): client 1 whenever it is available. Both weights are 1.
    """
    half = np.array([0.5, 0.5])
    policy = GreedyMixture(np.array([[1.0, 2.0]]), np.ones(1))
    world = Quadratics(half, np.ones((2, 1)), np.array([[-1.0], [1.0]]))
    return world, FixedPolicy.following(half, half, policy)


def exact_two_clients(correlation: float, rounds: int) -> float:
    """Returns E F(w_T) - F* of `two_clients` from w = 0, in closed form.

    w' = (1 - eta) w + eta x with x = -1 or 1, E x' x = rho; V = E w^2 and m = E w x obey
    V' = (1 - eta)^2 V + 2 eta (1 - eta) m + eta^2 and m' = rho ((1 - eta) m + eta).
    """
    v = m = 0.0
    for t in range(1, rounds + 1):
        eta = 2 / (8 + t)
        v = (1 - eta) ** 2 * v + 2 * eta * (1 - eta) * m + eta**2
        m = correlation * ((1 - eta) * m + eta)
    return v / 2


def counterexample(draws: int, rounds: int) -> list[dict[str, Any]]:
    """III.5 for `two_clients`: error over bound, for each correlation from round to round.

    G^2 = 4 on [-1, 1], which the model never leaves; the bound is 38 / (8 + T).
    """
    world, strategy = two_clients()
    _, rates = step_sizes(world, rounds, 1)
    most = float(
        bound(problem=world, r=world.p, steps=1, start=np.zeros(1), g2=4.0, rounds=np.array(rounds))
    )
    found = []
    for correlation in CORRELATIONS:
        paths = play(
            world,
            lambda seed: strategy,
            process=partial(Markov, np.array([1.0, 0.5]), np.array([0.0, correlation])),
            k=1,
            rates=rates,
            start=np.zeros(1),
            draws=draws,
        )
        exact = exact_two_clients(correlation, rounds) / most
        values = world.excess(paths[:, -1]) / most
        found.append(
            row("III.5 two clients", "error / bound", correlation, values, exact=exact, bound=1)
        )
    return found


def rate_distances(draws: int) -> list[dict[str, Any]]:
    """III.3: mean |r(t) - r*| for 4 / beta to 8 / beta rounds, and its slope in beta."""
    found = []
    p = rate_convergence.shares()
    for world in rate_convergence.worlds():
        best = optimal_rates(p, world.objective, world.oracle, tolerance=1e-6).rates
        late = np.array(
            [
                [rate_convergence.track(world, best, b, 8, 16, s)[8:].mean() for b in RATE_BETAS]
                for s in range(draws)
            ]
        )
        found += [row("III.3", world.name, b, v) for b, v in zip(RATE_BETAS, late.T)]
        found.append(slope_row("III.3 slope", world.name, np.array(RATE_BETAS), late))
    return found


def weight_sums(draws: int) -> list[dict[str, Any]]:
    """Lemma B.1: sum of weights per round once r has settled; 1 for an unbiased aggregate.

    Two clients alike that are always available, K = 1: the one selected last has the larger rate,
    1 / (2 - beta) after the update, so the sum is 1 - beta / 2 in every round.
    """
    half, everyone, found = np.array([0.5, 0.5]), np.ones(2), []
    best = optimal_rates(problem().p, "p_squared", IndependentOracle(Q, K), tolerance=1e-6)
    worlds = (
        ("two clients, always", half, half, everyone, 1),
        ("8 clients", problem().p, best.rates, Q, K),
    )
    for case, p, r, q, k in worlds:
        for beta in RATE_BETAS:
            sums = []
            for seed in range(draws):
                strategy = F3AST.tracking(p, ParticipationRates(r, beta), seed=seed)
                process, each = IndependentAvailability(q, seed), []
                for t in range(1, round(12 / beta) + 1):
                    now = Round(t, process.mask(t), RoundConstraint(k))
                    each.append(cohort_of(strategy, now).weights.sum())
                sums.append(np.mean(each[len(each) // 2 :]))
            exact = 1 - beta / 2 if len(p) == 2 else math.nan
            found.append(row("B.1", case, beta, sums, exact=exact, bound=1))
    return found


def distance_to_stationary(num_clients: int, chance: float, remains: float) -> float:
    """Returns the total variation distance to stationarity from "all available".

    Clients are independent, available with a stationary chance; `remains` is lambda^t of each
    chain.
    """
    now = chance + (1 - chance) * remains
    counts = np.arange(num_clients + 1)
    ways = np.array([math.comb(num_clients, int(m)) for m in counts])
    laws = [a**counts * (1 - a) ** (num_clients - counts) for a in (now, chance)]
    return float((ways * np.abs(laws[0] - laws[1])).sum() / 2)


def mixing() -> list[dict[str, Any]]:
    """III.7: distance over epsilon after log(epsilon) / log(alpha) rounds, chance 0.1."""
    epsilon = 0.01
    return [
        row(
            "III.7",
            "distance / epsilon",
            n,
            exact=distance_to_stationary(n, 0.1, epsilon) / epsilon,
            bound=1,
        )
        for n in (1, 2, 4, 8, 16, 32)
    ]


def results(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Returns all rows of this part."""
    return [
        *convergence(draws, rounds),
        *counterexample(draws, rounds),
        *rate_distances(max(draws // 4, 3)),
        *weight_sums(max(draws // 4, 3)),
        *mixing(),
    ]
