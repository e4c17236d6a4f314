"""CA-Fed's Theorems 1 to 3 on quadratics: bias, its two bounds, and the optimization error.

Theorem 1 bounds eps_bias = F(w_B*) - F* by kappa^2 chi^2(alpha, p) Gamma, Theorem 3 by
4 kappa^2 d_TV(alpha, p)^2 Gamma'. Both follow with kappa in place of kappa^2: 2 mu (F(w) - F*) is
at most |grad F(w)|^2, grad F(w_B*) = sum_k (alpha_k - p_k) grad F_k(w_B*), and |grad F_k(w)|^2 is
at most 2 L (F_k(w) - F_k*).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from f3ast_tff.analysis.studies.theory.quadratics import Quadratics, play, row, slope_row
from f3ast_tff.availability import Markov
from f3ast_tff.core.randomness import generator
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.methods.unbiased import MoreAvailable, Unbiased

KAPPAS = (1, 2, 4, 8, 16)
CORRELATIONS = (0.0, 0.5, 0.8, 0.9, 0.95)
PI = np.array([0.9, 0.8, 0.6, 0.5, 0.4, 0.2])
# Number of added terms in the infinite sums of Theorem 2; an integral replaces the rest.
_TERMS = 10**6


def bias_bounds(problem: Quadratics, p: np.ndarray) -> tuple[float, float, float]:
    """Returns eps_bias and the right sides of (11) and (15), p the biased weights `[N]`."""
    kappa, biased = problem.smoothness / problem.mu, problem.optimum(p)
    gamma = float(problem.losses(problem.optimum()).max())
    gamma_biased = float(problem.losses(biased).max())
    chi = float(((problem.p - p) ** 2 / p)[p > 0].sum()) if (p > 0).all() else math.inf
    distance = float(np.abs(problem.p - p).sum()) / 2
    bias = float(problem.excess(biased))
    return bias, kappa**2 * chi * gamma, 4 * kappa**2 * distance**2 * gamma_biased


def two_clients(alpha: float, kappa: float = 1.0) -> Quadratics:
    """Returns clients with optima -1 and 1, weights alpha and 1 - alpha, curvatures 1 and kappa."""
    weights = np.array([alpha, 1 - alpha])
    return Quadratics(weights, np.array([[1.0], [kappa]]), np.array([[-1.0], [1.0]]))


def tightness() -> list[dict[str, Any]]:
    """Theorems 1 and 3 for two clients of curvature 1, p near alpha: bias over bound, by alpha.

    For p = (b, 1 - b) the ratios are b (1 - b) / max(alpha, 1 - alpha)^2 and
    1 / (4 max(b, 1 - b)^2). Both reach 1 at 1/2.
    """
    found = []
    for alpha in np.linspace(0.05, 0.95, 19):
        b = alpha + 1e-3
        bias, *bounds = bias_bounds(two_clients(alpha), np.array([b, 1 - b]))
        exact = (b * (1 - b) / max(alpha, 1 - alpha) ** 2, 1 / (2 * max(b, 1 - b)) ** 2)
        for name, most, ratio in zip(("Theorem 1", "Theorem 3"), bounds, exact):
            found.append(row("bias by alpha", name, alpha, [bias / most], exact=ratio, bound=1))
    return found


def random_problems(problems: int) -> list[dict[str, Any]]:
    """Theorems 1 and 3 for random clients: the largest bias over bound, by kappa.

    Two to five clients in one dimension; alpha and p are close to each other or not.
    """
    random, found = generator(0, "theory of ca_fed"), []
    for kappa in KAPPAS:
        largest = np.zeros(2)
        for _ in range(problems):
            n = int(random.integers(2, 6))
            alpha, other = random.dirichlet(np.ones(n), 2)
            curvature = kappa ** random.uniform(0, 1, n)
            curvature[random.permutation(n)[:2]] = 1, kappa
            share = random.choice([0.01, 1.0])
            world = Quadratics(alpha, curvature[:, None], random.normal(size=(n, 1)))
            bias, *bounds = bias_bounds(world, (1 - share) * alpha + share * other)
            largest = np.maximum(largest, bias / np.array(bounds))
        for name, ratio in zip(("Theorem 1", "Theorem 3"), largest):
            found.append(row("bias by kappa", name, kappa, [ratio], exact=1 / kappa, bound=1))
    return found


def where_weights_lead(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Theorem 1's optimum of F_B, for q = alpha, q = alpha / pi, and without rarer clients.

    F at the mean model of the second half, over the closed form F(w_B*) with p_k of pi_k q_k.
    """
    n = len(PI)
    alpha = np.full(n, 1 / n)
    problem = Quadratics(alpha, np.ones((n, 1)), np.linspace(-1, 2, n)[:, None])
    known = KnownAvailability(PI)
    above = PI >= 0.5
    cases: tuple[tuple[str, Callable[[int], Strategy], np.ndarray], ...] = (
        ("q = alpha", lambda seed: AllAvailable.start(alpha, 1), alpha * PI),
        ("q = alpha / pi", lambda seed: Unbiased.knowing(alpha, known, seed=seed), alpha),
        (
            "more available",
            lambda seed: MoreAvailable.knowing(alpha, known, seed=seed),
            alpha * above,
        ),
    )
    rates, found = np.full((rounds, 1), 0.02), []
    for name, make, weights in cases:
        p = weights / weights.sum()
        # Without the rounding errors of p = alpha, some 1e-32.
        bias, chi, variation = (round(value, 15) for value in bias_bounds(problem, p))
        for correlation in (0.0, 0.9):
            paths = play(
                problem,
                make,
                process=partial(Markov, PI, np.full(n, correlation)),
                k=n,
                rates=rates,
                start=np.zeros(1),
                draws=draws,
            )
            ends = problem.excess(paths[:, rounds // 2 :].mean(1))
            setting = f"correlation {correlation:g}"
            found.append(row("eps_bias", name, values=ends, setting=setting, exact=bias))
        found.append(row("eps_bias bounds", f"{name}, (11)", exact=bias, bound=chi))
        found.append(row("eps_bias bounds", f"{name}, (15)", exact=bias, bound=variation))
    return found


def optimization_bound(correlation: float, rounds: np.ndarray) -> np.ndarray:
    """Returns the right side of (13), over the sum of eta_t, for `two_clients` on W = [-1, 1].

    Client 0 is always available, client 1 by a chain of two states with chance 1/2. So M = 2,
    pi = (1, 1/2), q = (1/2, 1), Q = 3/2, E = 1, D = G = 2, H = 3/2, Gamma = 1/2, C_P = 2 and
    T_P = 0: the chain's matrix is symmetric, with eigenvectors of Frobenius norm sqrt(2). A part of
    (156) is missing from the text that was read; the sum of n_i^2 is taken over the one block.
    """
    t = np.arange(1, _TERMS + 1)
    lam = (1 + correlation) / 2
    eta = step_sizes(_TERMS)
    log = np.log(2 * 2 * 1.5 * t)
    back = np.minimum(np.ceil(log / math.log(1 / lam)).astype(int), t)
    # eta_0 counts as eta_1.
    earlier = eta[np.maximum(t - back, 1) - 1]
    tail = eta[-1] ** 2 * _TERMS / (2 * 0.75 - 1)
    squares = float((eta**2).sum()) + tail
    v = 2 * 2**2 + 0.25 * 2 * 1.5 * (squares + math.pi**2 / 6)
    psi = (4 * (1 + 1.5) * 0.5 + 2 * 4) * squares
    phi = 2 * 2 * 2 * 1.5 * (float((log * earlier**2).sum()) + tail * (log[-1] + 2))
    top = v / 1.0 + psi + phi / math.log(1 / lam)
    return top / np.cumsum(eta)[rounds - 1]


def step_sizes(rounds: int) -> np.ndarray:
    """Returns eta_t = t^(-3/4) / 8, which satisfies (12) with L = 1 and Q = 3/2, `[T]`."""
    return np.arange(1, rounds + 1) ** -0.75 / 8


def optimization(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Theorem 2: E F_B - F_B* of the weighted mean model, by round and by correlation."""
    world, found = two_clients(0.5), []
    known = KnownAvailability(np.array([1.0, 0.5]))
    eta = step_sizes(rounds)
    looks = np.unique(np.geomspace(10, rounds, 12).astype(int))
    for correlation in CORRELATIONS:
        paths = play(
            world,
            lambda seed: Unbiased.knowing(world.p, known, seed=seed),
            process=partial(Markov, np.array([1.0, 0.5]), np.array([0.0, correlation])),
            k=2,
            rates=eta[:, None],
            start=-np.ones(1),
            draws=draws,
        )[:, :-1]
        means = np.cumsum(eta[:, None] * paths, 1) / np.cumsum(eta)[:, None]
        values, setting = world.excess(means)[:, looks - 1], f"correlation {correlation:g}"
        for t, each, most in zip(looks, values.T, optimization_bound(correlation, looks)):
            found.append(row("Theorem 2", setting, int(t), each, bound=float(most)))
        late = looks >= 100
        found.append(slope_row("Theorem 2 slope", setting, looks[late], values[:, late]))
    return found


def results(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Returns all rows of this part."""
    return [
        *tightness(),
        *random_problems(rounds),
        *where_weights_lead(draws, rounds),
        *optimization(draws, rounds),
    ]
