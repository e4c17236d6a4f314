"""Lemma III.4 of F3AST: (6) holds for every policy; (7) fails for independent clients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from f3ast_tff.core.policies import GreedyMixture


def _bounds(p: np.ndarray, r: np.ndarray) -> tuple[float, float]:
    """The right sides of (6) and (7) without their factor 4 E^2 G^2."""
    return float((p / r).sum() - 1), float((p**2 / r).sum() + (p**2).sum())


@pytest.mark.parametrize("seed", range(20))
def test_bound_6_holds_without_its_factor_4(seed: int) -> None:
    """All configurations of five clients, the project's greedy policy, changes of length 1."""
    random = np.random.default_rng(seed)
    n, k = 5, int(random.integers(1, 5))
    q, p = random.uniform(0.05, 1, n), random.dirichlet(np.ones(n))
    order = random.permutation(n)[None] + 1.0
    policy = GreedyMixture(order, np.ones(1))
    changes = random.normal(size=(n, 3))
    changes /= np.linalg.norm(changes, axis=1, keepdims=True)
    chances, picks = [], []
    for configuration in itertools.product((False, True), repeat=n):
        available = np.array(configuration)
        chances.append(np.where(available, q, 1 - q).prod())
        picks.append(np.isin(np.arange(n), policy.choose(available, k, random)))
    chance, picked = np.array(chances), np.array(picks, dtype=float)
    r = chance @ picked
    delta = (picked * p / r) @ changes
    variance = chance @ np.sum((delta - p @ changes) ** 2, axis=1)
    assert variance <= _bounds(p, r)[0] + 1e-12


def test_bound_7_fails_where_the_rate_forces_the_number_selected() -> None:
    """200 clients there in half of the rounds are selected whenever they are; 400 get the rest.

    All changes are equal and of length E G. A policy of these rates cannot do better: it selects
    min(n, K) of the first 200 in every round, so (K - n)+ of the others.
    """
    first, others, k = 200, 400, 100
    there = np.arange(first + 1)
    chance = binom.pmf(there, first, 0.5)
    selected = np.stack([np.minimum(there, k), np.maximum(k - there, 0)])
    p = np.array([0.01 / first, 0.99 / others])
    r = selected @ chance / (first, others)
    total = p / r @ selected
    variance = chance @ (total - 1) ** 2
    six, seven = _bounds(np.repeat(p, (first, others)), np.repeat(r, (first, others)))
    assert chance @ total == pytest.approx(1)
    assert variance == pytest.approx(2.11, abs=0.005)
    assert 4 * seven == pytest.approx(1.40, abs=0.005)
    assert variance < six
