"""FedLaAvg's Example 1, Lemma 1 and Corollary 1 on quadratics: bias, absence, speed-up in N.

The formulas of both are missing from the text that was read. Lemma 1's proof gives its bound: each
time a client is passed over, K clients are before it, and no client is so twice. So it is selected
at the latest when it is available for the ceil(N / K)-th time, within E ceil(N / K) rounds. The
rate of Corollary 1 is known, E^(1/2) / (N^(1/4) T^(1/2)); its step size is not.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from f3ast_tff.analysis.studies.theory.quadratics import row, slope_row
from f3ast_tff.availability import AvailabilityProcess, IndependentAvailability, Turns
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.engines.host.rules_in_numpy import RulesInNumpy
from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.methods.sum_and_mean import WeightedMean

SIZES = ((2, 1, 1), (5, 2, 3), (6, 1, 4), (7, 3, 5), (12, 4, 6), (20, 6, 2))
CLIENTS = (4, 8, 16, 32, 64)
PERIOD = 4
# Example 1: turns of both clients in rounds, learning rates, optima and shares.
TURNS, RATES = ((6, 2), (10, 5), (4, 4)), (0.02, 0.002)
OPTIMA, HALF = np.array([-1.0, 3.0]), np.array([0.5, 0.5])


def longest_absence(process: AvailabilityProcess, k: int, rounds: int, seed: int) -> int:
    """Returns the longest time from the start or a participation to the next, in rounds."""
    n = process.num_clients
    strategy = FedLaAvg.start(np.full(n, 1 / n), 1, seed=seed)
    longest = 0
    for t in range(1, rounds + 1):
        before = strategy.last_participation
        ids = cohort_of(strategy, Round(t, process.mask(t), RoundConstraint(k))).ids
        longest = max(longest, int((t - before[ids]).max(initial=0)))
    return longest


def absences(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Lemma 1: all clients available in the same round of E, or each in another round."""
    found = []
    for n, k, window in SIZES:
        at_most, together = window * math.ceil(n / k), np.full(n, window - 1)
        for setting in ("together", "apart", "half of the rounds, at random"):
            longest = []
            for seed in range(draws):
                random = generator(seed, "fedlaavg windows", n)
                start = together if setting == "together" else random.integers(window, size=n)
                process: AvailabilityProcess = Turns(start, np.ones(n, int), window)
                if "random" in setting:
                    process = IndependentAvailability(np.full(n, 0.5), seed)
                longest.append(longest_absence(process, k, rounds, seed))
            case = f"N = {n}, K = {k}, E = {window}"
            largest = [float(max(longest))]
            found.append(row("Lemma 1", case, values=largest, setting=setting, bound=at_most))
    return found


def mean_square(num_clients: int, rounds: int, seed: int) -> float:
    """Returns the mean of |grad F(w_t)|^2 over the rounds, with K = N / 4.

    f_k(w) = |w - c_k|^2 / 2 in four dimensions with sigma^2 = 4. The two halves of the clients are
    available in turn, for `PERIOD` rounds each. The step is N^(1/4) (E T)^(-1/2), at most 1 / E.
    """
    n, window = num_clients, PERIOD + 1
    random = generator(seed, "fedlaavg noise", n)
    optima = random.normal(size=(n, 4))
    half = np.arange(n) % 2
    process = Turns(half * PERIOD, np.full(n, PERIOD), 2 * PERIOD)
    rate = min(n**0.25 / math.sqrt(window * rounds), 1 / window)
    p = np.full(n, 1 / n)
    server = RulesInNumpy(FedLaAvg(memory_from_round=1), p, optima.mean(0) + 1)
    strategy, squares = FedLaAvg.start(p, 1, seed=seed), []
    constraint = RoundConstraint(n // 4)
    for t in range(1, rounds + 1):
        squares.append(float(np.sum((server.model - optima.mean(0)) ** 2)))
        targets = optima - random.standard_normal((n, 4))
        cohort = cohort_of(strategy, Round(t, process.mask(t), constraint))
        server.round(t, cohort, partial(_update, targets, rate), rate)
    return float(np.mean(squares))


def _update(targets: np.ndarray, rate: float, k: int, model: np.ndarray, offset: Any) -> np.ndarray:
    """Returns a step of client k towards its optimum, which noise has moved."""
    return -rate * (model - targets[k])


def speed_up(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Corollary 1: the mean squared gradient by N and by T, with fitted exponents."""
    found = []
    lengths = np.array([rounds // 8, rounds // 4, rounds // 2])
    by_n = {n: [mean_square(n, int(lengths[-1]), seed) for seed in range(draws)] for n in CLIENTS}
    for n, values in by_n.items():
        found.append(row("Corollary 1 by N", "FedLaAvg", n, values))
    by_t = np.array([[mean_square(16, int(t), seed) for t in lengths] for seed in range(draws)])
    for t, values in zip(lengths, by_t.T):
        found.append(row("Corollary 1 by T", "FedLaAvg", int(t), values))
    matrix = np.array(list(by_n.values())).T
    found.append(slope_row("Corollary 1 slopes", "in N", np.array(CLIENTS), matrix))
    found.append(slope_row("Corollary 1 slopes", "in T", lengths, by_t))
    return found


def example_one(rounds: int) -> list[dict[str, Any]]:
    """Example 1: two clients with optima -1 and 3 take turns, with exact gradients, one each.

    Theorem 1: FedAvg's model at the ends of the periods has a limit, here in closed form, that
    weighs clients by the time that they are there. Theorem 2: FedLaAvg comes to the optimum, 1.
    """
    found = []
    for first, second in TURNS:
        period = first + second
        process = Turns(np.array([0, first]), np.array([first, second]), period)
        for rate in RATES:
            setting = f"turns of {first} and {second} rounds, rate {rate:g}"
            a, b = (1 - rate) ** first, (1 - rate) ** second
            limit = (OPTIMA[1] * (1 - b) + b * OPTIMA[0] * (1 - a)) / (1 - a * b)
            long = rounds - rounds % period
            for claim, strategy, aggregation, exact in (
                (
                    "Example 1, FedAvg",
                    FedAvg.start(HALF, 1, baseline_sampling="without_replacement"),
                    WeightedMean(),
                    float(limit),
                ),
                (
                    "Example 1, FedLaAvg",
                    FedLaAvg.start(HALF, 1),
                    FedLaAvg(memory_from_round=1),
                    float("nan"),
                ),
            ):
                server = RulesInNumpy(aggregation, HALF, np.zeros(1))
                for t in range(1, long + 1):
                    cohort = cohort_of(strategy, Round(t, process.mask(t), RoundConstraint(1)))
                    server.round(t, cohort, partial(_update, OPTIMA[:, None], rate), rate)
                distance = [abs(float(server.model[0]) - float(OPTIMA.mean()))]
                away = abs(exact - float(OPTIMA.mean()))
                found.append(
                    row(claim, "two clients in turn", long, distance, setting=setting, exact=away)
                )
    return found


def results(draws: int, rounds: int) -> list[dict[str, Any]]:
    """Returns all rows of this part."""
    few = max(draws // 3, 3)
    return [*absences(few, rounds // 5), *speed_up(few, rounds), *example_one(2 * rounds)]
