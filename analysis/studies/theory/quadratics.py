"""Clients with different quadratic losses, and rounds of a method on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.analysis.compare.paired_difference import mean_interval
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.availability import AvailabilityProcess
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import Round, Strategy, cohort_of

COLUMNS = ("claim", "case", "setting", "x", "measured", "low", "high", "exact", "bound")


@dataclass(frozen=True)
class Quadratics:
    """F_k(w) = sum_i h_ki (w_i - c_ki)^2 / 2, with F_k* = 0 and gradients of additive noise.

    Attributes:
        p: Weight of each client in F, `float64 [N]`, of sum 1.
        curvature: h, `float64 [N, d]`, above 0.
        optima: c, `float64 [N, d]`.
        noise: Standard deviation of each coordinate of a stochastic gradient.
    """

    p: np.ndarray
    curvature: np.ndarray
    optima: np.ndarray
    noise: float = 0.0

    @property
    def mu(self) -> float:
        """Constant of strong convexity of every F_k."""
        return float(self.curvature.min())

    @property
    def smoothness(self) -> float:
        """L, the constant of smoothness of every F_k."""
        return float(self.curvature.max())

    @property
    def variance(self) -> float:
        """sigma_k^2, the variance of a stochastic gradient."""
        return self.noise**2 * self.optima.shape[1]

    def optimum(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Returns the minimizer of sum_k weights_k F_k, `float64 [d]`; weights p by default."""
        h = (self.p if weights is None else weights)[:, None] * self.curvature
        return (h * self.optima).sum(0) / h.sum(0)

    def losses(self, model: np.ndarray) -> np.ndarray:
        """Returns F_k at models `float64 [..., d]`, `float64 [..., N]`."""
        distance = model[..., None, :] - self.optima
        return (self.curvature * distance**2).sum(-1) / 2

    def excess(self, model: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Returns F - F* at models `float64 [..., d]`, F with other weights if they are given."""
        p = self.p if weights is None else weights
        distance = model - self.optimum(weights)
        return (p @ self.curvature * distance**2).sum(-1) / 2

    def gradient_bound(self, models: np.ndarray) -> float:
        """Returns G^2 over models `[..., d]`: the largest E |stochastic gradient|^2 of a client."""
        gradients = self.curvature * (models[..., None, :] - self.optima)
        return float((gradients**2).sum(-1).max()) + self.variance

    def updates(self, ids: np.ndarray, model: Any, rates: np.ndarray, random: Any) -> np.ndarray:
        """Returns D_k of clients after a local step of each rate, `float64 [m, d]`."""
        h, c = self.curvature[ids], self.optima[ids]
        local = np.repeat(np.asarray(model, float)[None], len(ids), 0)
        for rate in rates:
            local -= rate * (h * (local - c) + self.noise * random.standard_normal(local.shape))
        return local - model


def play(
    problem: Quadratics,
    strategy: Callable[[int], Strategy],
    process: Callable[[int], AvailabilityProcess],
    k: int,
    rates: np.ndarray,
    start: np.ndarray,
    draws: int,
) -> np.ndarray:
    """Trains with the cohort's weighted sum as the server's step, once for each seed from 0.

    Args:
        problem: The clients.
        strategy: Selection and weights of a seed.
        process: Clients available per round, by seed.
        k: Largest number of clients per round.
        rates: Rate of each local step, `float64 [T, E]`.
        start: First model, `float64 [d]`.
        draws: Number of seeds, which draw availability, selection and the gradients' noise.

    Returns:
        The first model and the model after each round, `float64 [draws, T + 1, d]`.
    """
    paths, constraint = [], RoundConstraint(k)
    for seed in range(draws):
        random, select, world = generator(seed, "gradient noise"), strategy(seed), process(seed)
        path = [np.asarray(start, float)]
        for t, steps in enumerate(rates, start=1):
            cohort = cohort_of(select, Round(t, world.mask(t), constraint))
            updates = problem.updates(cohort.ids, path[-1], steps, random)
            path.append(path[-1] + cohort.weights @ updates)
        paths.append(path)
    return np.array(paths)


def row(
    claim: str,
    case: str,
    x: float = math.nan,
    values: Iterable[float] = (),
    *,
    setting: str = "",
    exact: float = math.nan,
    bound: float = math.nan,
) -> dict[str, Any]:
    """Returns a row of the results: the mean of draws, with its 95% interval from 3 draws on."""
    found = np.array(list(values), float)
    mean = low = high = math.nan
    if len(found):
        mean = float(found.mean())
    if len(found) > 2 and np.ptp(found) > 0:
        over_draws = mean_interval({Pair(0, n): value for n, value in enumerate(found)})
        low, high = over_draws.low, over_draws.high
    return dict(zip(COLUMNS, (claim, case, setting, x, mean, low, high, exact, bound)))


def slope_row(
    claim: str, case: str, x: np.ndarray, values: np.ndarray, setting: str = ""
) -> dict[str, Any]:
    """Returns a row with the slope of log mean value on log x, and its 95% interval.

    The interval holds the middle of 500 bootstrap samples of the draws; x `float64 [points]` and
    values `float64 [draws, points]` are above 0.
    """
    picks = generator(0, "slopes").integers(len(values), size=(500, len(values)))
    means = np.concatenate([values.mean(0)[None], values[picks].mean(1)])
    centred = np.log(x) - np.log(x).mean()
    found = np.log(means) @ centred / (centred @ centred)
    low, high = np.quantile(found[1:], [0.025, 0.975])
    return {
        **row(claim, case, setting=setting, values=found[:1]),
        "low": float(low),
        "high": float(high),
    }
