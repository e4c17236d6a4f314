"""Best rates, H and the biases of FedAvg and F3AST under a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.randomness import generator
from f3ast_tff.core.rates import ParticipationRates, best_if_all_available, variance_bound
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.rate_region import AvailabilityStates, StatesOracle, optimal_rates, sampled_states

# Rounds until rates have settled, in units of 1 / beta.
_SETTLING = 4
# Relative gap of H(r*); the page shows three digits.
_TOLERANCE = 1e-3
_MAX_STEPS = 3000
# Limit on steps times clients, with which advice takes time linear in the log.
_MAX_WORK, _LEAST_STEPS = 150_000_000, 200
# Limit on steps times rounds times clients, of many clients those available.
_MAX_CELLS = 1_000_000_000
# Above it the search starts from a uniform choice, and looks at the available clients alone.
_MANY_CLIENTS = 1000
# Limit on rounds times clients for the best rates; of longer logs rounds are drawn.
_MAX_STATES = 5_000_000


@dataclass(frozen=True)
class Plan:
    """A number of clients per round, K, under a log.

    Attributes:
        k: K.
        short_rounds: Share of the rounds with fewer than K clients online.
        rates: r*, the best participation rates, `float64 [N]`.
        bound: H(r*), which bounds the sampling variance (eq. 3).
        gap: Largest distance of H(r*) from the least H, for the rounds used.
        rounds_used: Number of rounds that r* was computed from.
        bound_if_always: Least H if all clients were always online.
        largest_weight: Largest weight of an update, max of p_k / r*_k.
        bias_at_first: Total variation between p and the weights of F3AST's updates in rounds 1 to
            1 / beta.
        bias_later: The same after the rates have settled, after 4 / beta rounds.
    """

    k: int
    short_rounds: float
    rates: np.ndarray
    bound: float
    gap: float
    rounds_used: int
    bound_if_always: float
    largest_weight: float
    bias_at_first: float
    bias_later: float


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Returns half the sum of |p_k - q_k|, in [0, 1]; both `float [N]` of sum 1."""
    return float(np.abs(p - q).sum()) / 2


def trained_by_fedavg(masks: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Returns the weight that FedAvg gives to each client in the long run, `float64 [N]`.

    FedAvg samples from the available set A_t in proportion to p, with replacement, and averages. So
    a client's weight is the mean over rounds of p_k 1{k in A_t} / sum of p over A_t, for any K.
    FedAvg converges towards the optimum of the losses with these weights.

    Args:
        masks: Available clients by round, `bool [T, N]`; rounds without clients do not count.
        p: Client shares, `float [N]`.
    """
    there = masks @ p
    weights = np.divide(1, there, out=np.zeros(len(masks)), where=there > 0)
    trained = (weights @ masks) * p
    return np.asarray(trained / max(trained.sum(), np.finfo(float).tiny))


def plan(masks: np.ndarray, p: np.ndarray, k: int, objective: str) -> Plan:
    """Computes the best rates under a log, and simulates F3AST's selection on the repeated log.

    Args:
        masks: Available clients by round, `bool [T, N]`, each client in at least one round.
        p: Client shares p_k, `float [N]`, each above 0.
        k: K, at least 1.
        objective: `"p"` or `"p_squared"`, the case of eq. (3).
    """
    states = _states(masks, k)
    many = len(p) > _MANY_CLIENTS
    cells = int(np.count_nonzero(states.masks)) if many else states.masks.size
    most = min(_MAX_STEPS, _MAX_WORK // len(p), _MAX_CELLS // cells)
    found = optimal_rates(
        p,
        objective,
        StatesOracle(states, _MANY_CLIENTS),
        tolerance=_TOLERANCE,
        max_steps=max(most, _LEAST_STEPS),
        with_policy=False,
        point=_fair(states) if many else None,
    )
    at_first, later = _trained_by_f3ast(masks, p, k, objective)
    ideal, scale = best_if_all_available(p, k, objective)
    return Plan(
        k,
        short_rounds=float(np.mean(masks.sum(axis=1) < k)),
        rates=found.rates,
        bound=found.value,
        gap=found.gap,
        rounds_used=len(states.masks),
        bound_if_always=variance_bound(np.minimum(ideal * scale, 1), p, objective),
        largest_weight=float(np.max(p / found.rates)),
        bias_at_first=total_variation(p, at_first),
        bias_later=total_variation(p, later),
    )


def _fair(states: AvailabilityStates) -> np.ndarray:
    """Rates of a uniform choice of K among the clients of each state, `float64 [N]`."""
    sizes = np.maximum(states.masks.sum(axis=1), 1)
    return np.asarray((states.chances * np.minimum(states.k / sizes, 1)) @ states.masks)


def _states(masks: np.ndarray, k: int) -> AvailabilityStates:
    """The rounds of a log as states; of a long log drawn ones, and all of clients in none of these.

    The latter have their own chance, so that a rare client's best rate is within its share of
    rounds online; the drawn ones share the others' chance.
    """
    rounds, n = masks.shape
    if masks.size <= _MAX_STATES:
        return sampled_states(masks, k)
    rng = generator(0, "rounds of a plan")
    drawn = np.sort(rng.choice(rounds, max(_MAX_STATES // n, 1), replace=False))
    whole = masks[:, ~masks[drawn].any(axis=0)].any(axis=1)
    others = drawn[~whole[drawn]]
    if not len(others):
        return sampled_states(masks, k)
    chosen = np.concatenate([np.flatnonzero(whole), others])
    chances = np.full(len(chosen), 1 / rounds)
    chances[whole.sum() :] = (rounds - whole.sum()) / rounds / len(others)
    return AvailabilityStates(masks[chosen], chances, np.full(len(chosen), k, np.int64))


def _trained_by_f3ast(
    masks: np.ndarray, p: np.ndarray, k: int, objective: str
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of F3AST's updates, of sum 1: in rounds 1 to 1 / beta, and after the rates settle."""
    beta = F3AST.rate_beta
    strategy = F3AST.tracking(p, ParticipationRates(p, beta), availability_objective=objective)
    first, settled = int(1 / beta), int(_SETTLING / beta)
    # Whole repetitions of the log, so that every hour counts equally often.
    turns = -(-first // len(masks)) * len(masks)
    totals = np.zeros((2, len(p)))
    for t in range(1, settled + turns + 1):
        now = Round(t, masks[(t - 1) % len(masks)], RoundConstraint(k))
        cohort = cohort_of(strategy, now)
        if t <= first or t > settled:
            totals[int(t > settled)][cohort.ids] += cohort.weights
    sums = totals.sum(axis=1, keepdims=True)
    at_first, later = totals / np.maximum(sums, np.finfo(float).tiny)
    return at_first, later
