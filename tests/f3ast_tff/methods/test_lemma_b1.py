"""Lemma B.1: under a static policy of rates r, E[sum_{k in S} p_k / r_k v_k] = sum_k p_k v_k.

F3AST with frozen rates (a beta of 1e-30 moves nothing) is a static policy: by order of p / r. It
must also achieve the r that it is frozen at. It does so with p = (0.4, 0.3, 0.2, 0.1), K = 2,
independent availability q = (0.5, 0.8, 0.4, 0.9) and r = (0.5, 0.64, 0.4, 0.36).

p / r = 0.8, 0.469, 0.5, 0.278, so the order is 0, 2, 1, 3. Clients 0 and 2 are selected whenever
available: 0.5, 0.4. Client 1 is selected unless 0 and 2 both are: 0.8 (1 - 0.5 * 0.4) = 0.64.
Client 3 is selected if at most one other is available: none 0.06, only 0 0.06, only 2 0.04, only 1
0.24, so 0.9 * 0.4.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Cohort
from tests.f3ast_tff.methods.small_world import played

P = np.array([0.4, 0.3, 0.2, 0.1])
Q = np.array([0.5, 0.8, 0.4, 0.9])
R = np.array([0.5, 0.64, 0.4, 0.36])
UPDATES = np.random.default_rng(0).normal(size=(4, 5))
FULL = P @ UPDATES


def frozen(divide_by_k: bool = False) -> F3AST:
    return F3AST.tracking(
        P, ParticipationRates(R, 1e-30), ties="lowest_id", divide_by_k=divide_by_k
    )


def weighted_sum(cohort: Cohort) -> np.ndarray:
    return cohort.weights @ UPDATES[cohort.ids]


def expectation(strategy: F3AST, value: Callable[[Cohort], np.ndarray]) -> np.ndarray:
    """Returns E[value(S)], summed over the 16 available sets."""
    total = np.zeros(1)
    for mask in map(np.array, itertools.product([False, True], repeat=4)):
        chance = np.prod(np.where(mask, Q, 1 - Q))
        total = total + chance * value(played(strategy, 1, mask, 2))
    return total


def test_policy_achieves_the_rates_that_it_is_frozen_at() -> None:
    def took_part(cohort: Cohort) -> np.ndarray:
        return np.isin(np.arange(4), cohort.ids).astype(float)

    np.testing.assert_allclose(expectation(frozen(), took_part), R, rtol=1e-12)


def test_weighted_sum_is_unbiased_exactly() -> None:
    np.testing.assert_allclose(expectation(frozen(), weighted_sum), FULL, rtol=1e-12, atol=1e-15)
