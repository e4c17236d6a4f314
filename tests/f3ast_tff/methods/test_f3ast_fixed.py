"""Fixed-policy F3AST, Algorithm 2, and the two kinds of policies."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.policies import GreedyMixture, TabularPolicy
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.f3ast_fixed import FixedPolicy
from tests.f3ast_tff.methods.small_world import played

# Two clients always available, K = 1: client 0 with probability 0.7, client 1 with 0.2, else none.
TABLE = TabularPolicy(
    np.array([[True, True]]),
    np.array([1]),
    (np.array([[True, False], [False, True], [False, False]]),),
    (np.array([0.7, 0.2, 0.1]),),
)


def test_weights_are_p_over_the_given_rates() -> None:
    policy = GreedyMixture(np.array([[1.0, 3.0, 2.0]]), np.ones(1))
    strategy = FixedPolicy.following(np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.6, 0.8]), policy)
    cohort = played(strategy, 1, np.ones(3, bool), 2)
    assert cohort.ids.tolist() == [1, 2]
    np.testing.assert_allclose(cohort.weights, [0.3 / 0.6, 0.5 / 0.8])
    assert strategy.state() == {}


def test_table_is_drawn_by_its_chances() -> None:
    """Standard errors over 4000 rounds: sqrt(0.7 * 0.3 / 4000) = 0.0072 and 0.0063."""
    rates = np.array([0.7, 0.2])
    strategy = FixedPolicy.following(np.array([0.5, 0.5]), rates, TABLE, seed=1)
    cohorts = [played(strategy, t, np.ones(2, bool), 1) for t in range(1, 4001)]
    shares = np.array([np.mean([k in c.ids for c in cohorts]) for k in (0, 1)])
    assert np.all(np.abs(shares - rates) < 4.5 * np.sqrt(rates * (1 - rates) / 4000))
    mean = np.array([np.sum([c.weights[c.ids == k].sum() for c in cohorts]) for k in (0, 1)]) / 4000
    assert np.all(np.abs(mean - 0.5) < 4.5 * 0.5 * np.sqrt((1 - rates) / rates / 4000))


def test_mixture_draws_orders_and_leaves_out_who_is_worth_nothing() -> None:
    """Order 0, 1, 2 with probability 0.25; else 2 only, since 0 and 1 have utilities 0 and -1."""
    policy = GreedyMixture(np.array([[3.0, 2.0, 1.0], [0.0, -1.0, 1.0]]), np.array([0.25, 0.75]))
    strategy = FixedPolicy.following(np.ones(3) / 3, np.ones(3), policy)
    mask = np.array([False, True, True])
    found = [played(strategy, t, mask, 2).ids.tolist() for t in range(1, 2001)]
    assert {tuple(ids) for ids in found} == {(1, 2), (2,)}
    share = np.mean([len(ids) == 2 for ids in found])
    assert abs(share - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / 2000)


def test_a_configuration_that_is_not_in_the_table_is_refused() -> None:
    strategy = FixedPolicy.following(np.ones(2) / 2, np.ones(2), TABLE)
    with pytest.raises(ValueError, match=r"no entry for K = 1, available \[1\]"):
        played(strategy, 1, np.array([False, True]), 1)
    with pytest.raises(ValueError, match="no entry for K = 2"):
        played(strategy, 1, np.ones(2, bool), 2)
    with pytest.raises(ValueError, match="knows no constraint but the number"):
        played(strategy, 1, np.ones(2, bool), RoundConstraint(1, cost=np.ones(2), budget=1.0))


def test_policies_that_make_no_sense_are_refused() -> None:
    both, sets = np.array([[True, True]]), (np.array([[True, True]]),)
    with pytest.raises(ValueError, match="selects clients"):
        TabularPolicy(both, np.array([1]), sets, (np.ones(1),))
    with pytest.raises(ValueError, match="selects clients"):
        TabularPolicy(np.array([[True, False]]), np.array([2]), sets, (np.ones(1),))
    with pytest.raises(ValueError, match="sum to 1"):
        TabularPolicy(both, np.array([2]), sets, (np.array([0.9]),))
    with pytest.raises(ValueError, match="twice"):
        TabularPolicy(np.ones((2, 2), bool), np.array([2, 2]), sets * 2, (np.ones(1),) * 2)
    with pytest.raises(ValueError, match="sum to 1"):
        GreedyMixture(np.ones((2, 3)), np.array([0.5, 0.6]))
    with pytest.raises(ValueError, match=r"utilities must be \[V, N\]"):
        GreedyMixture(np.ones(3), np.ones(1))
