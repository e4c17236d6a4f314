"""AdaFed: p / pi, normalised in each round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.methods.unbiased import AdaFed


def test_by_hand() -> None:
    """p / pi = 0.5 / 0.5, 0.3 / 0.2, 0.2 / 0.8 = 1, 1.5, 0.25; of clients 0 and 1: 0.4, 0.6."""
    strategy = AdaFed(np.array([0.5, 0.3, 0.2]), KnownAvailability(np.array([0.5, 0.2, 0.8])))
    cohort = cohort_of(strategy, Round(1, np.array([True, True, False]), RoundConstraint(3)))
    assert cohort.ids.tolist() == [0, 1]
    np.testing.assert_allclose(cohort.weights, [0.4, 0.6])


@given(st.integers(0, 2**32 - 1), st.integers(1, 10))
def test_weights_sum_to_1_and_keep_the_ratios(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    p, pi, mask = rng.dirichlet(np.ones(8)), rng.uniform(0.05, 1, 8), rng.random(8) < 0.6
    cohort = cohort_of(AdaFed(p, KnownAvailability(pi), seed=3), Round(1, mask, RoundConstraint(k)))
    assert len(cohort) == min(k, mask.sum())
    if len(cohort):
        assert cohort.weights.sum() == pytest.approx(1)
        share = cohort.weights / (p / pi)[cohort.ids]
        np.testing.assert_allclose(share, share[0])


def test_nobody_available() -> None:
    strategy = AdaFed(np.array([0.5, 0.5]), KnownAvailability(np.array([0.5, 0.5])))
    assert len(cohort_of(strategy, Round(1, np.zeros(2, bool), RoundConstraint(2)))) == 0
