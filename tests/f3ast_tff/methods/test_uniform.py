"""Uniform sampling."""

from __future__ import annotations

from collections import Counter

import numpy as np

from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import Round, cohort_of

# 1 - 1e-5 quantile of chi-square with 5 degrees of freedom.
CHI_SQUARE_5 = 30.9


def test_every_pair_is_as_likely() -> None:
    """Four of five clients available, K = 2: six pairs."""
    strategy, total = Uniform(np.array([1.0, 2, 3, 4, 5]), seed=4), 6000
    mask = np.arange(5) != 2
    counts: Counter[tuple[int, ...]] = Counter()
    for t in range(1, total + 1):
        cohort = cohort_of(strategy, Round(t, mask, RoundConstraint(2)))
        assert cohort.weights.tolist() == (cohort.ids + 1).tolist()
        counts[tuple(sorted(cohort.ids.tolist()))] += 1
    assert len(counts) == 6
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < CHI_SQUARE_5


def test_fewer_available_than_k_and_nobody() -> None:
    strategy = Uniform(np.ones(3))
    some = cohort_of(strategy, Round(1, np.array([True, False, True]), RoundConstraint(3)))
    assert sorted(some.ids.tolist()) == [0, 2]
    nobody = cohort_of(strategy, Round(1, np.zeros(3, bool), RoundConstraint(3)))
    assert len(nobody) == 0
    assert nobody.ids.dtype == np.int64
