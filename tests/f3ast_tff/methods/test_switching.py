from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.fedavg import Proportional
from f3ast_tff.methods.fedlaavg import LongestAbsent, Switching
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import Round, cohort_of

N, K, SWITCH = 12, 4, 6
P = np.arange(1, N + 1) / np.arange(1, N + 1).sum()
EVERYBODY = np.ones(N, bool)


def switching() -> Switching:
    return Switching(Proportional(P, np.arange(1.0, N + 1)), LongestAbsent(P), SWITCH)


def test_first_phase_is_the_first_strategy_with_weights_of_a_mean() -> None:
    alone = Proportional(P, np.arange(1.0, N + 1))
    for t in range(1, SWITCH):
        cohort = cohort_of(switching(), Round(t, EVERYBODY, RoundConstraint(K)))
        expected = cohort_of(alone, Round(t, EVERYBODY, RoundConstraint(K)))
        np.testing.assert_array_equal(cohort.ids, expected.ids)
        assert cohort.weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(cohort.weights * expected.weights.sum(), expected.weights)


def test_second_phase_takes_those_absent_longest_with_weights_p() -> None:
    strategy, last = switching(), np.zeros(N, int)
    for t in range(1, SWITCH):
        last[cohort_of(strategy, Round(t, EVERYBODY, RoundConstraint(K))).ids] = t
    cohort = cohort_of(strategy, Round(SWITCH, EVERYBODY, RoundConstraint(K)))
    assert sorted(last[cohort.ids]) == sorted(last)[:K]
    np.testing.assert_array_equal(cohort.weights, P[cohort.ids])


def test_nobody_available() -> None:
    for t in (1, SWITCH):
        assert len(cohort_of(switching(), Round(t, ~EVERYBODY, RoundConstraint(K)))) == 0


def test_restored_it_goes_on() -> None:
    strategy, other = switching(), switching()
    for t in range(1, SWITCH + 2):
        cohort_of(strategy, Round(t, EVERYBODY, RoundConstraint(K)))
    other.restore(strategy.state())
    for t in range(SWITCH + 2, SWITCH + 6):
        a, b = (cohort_of(s, Round(t, EVERYBODY, RoundConstraint(K))) for s in (strategy, other))
        np.testing.assert_array_equal(a.ids, b.ids)
