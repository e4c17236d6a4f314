"""CA-Fed's rule with the name F3AST, compared with the formulas of its released code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.methods import Round, RoundConstraint
from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
from f3ast_tff.methods.parts.availability_knowledge import KnownAvailability
from tests.f3ast_tff.methods.small_world import played


def test_by_hand() -> None:
    """beta = 0.1: r = 0.9 pi + 0.1 = 0.55, 0.19, 0.82; p / r = 0.727, 1.579, 0.366: 1, then 0.

    The second round is the same: earlier selections and availability leave no trace.
    """
    p, activity = np.array([0.4, 0.3, 0.3]), KnownAvailability(np.array([0.5, 0.1, 0.8]))
    strategy = F3ASTOfCAFed.knowing(p, activity, rate_beta=0.1)
    for t in (1, 2):
        cohort = played(strategy, t, np.ones(3, bool), 2)
        assert cohort.ids.tolist() == [1, 0]
        np.testing.assert_allclose(cohort.weights, [0.3 / 0.19, 0.4 / 0.55])


def test_a_late_update_counts_when_its_client_is_absent() -> None:
    """Client 2 is absent when its update arrives: r = 0.9 pi = 0.72, the weight 0.3 / 0.72."""
    p, activity = np.array([0.4, 0.3, 0.3]), KnownAvailability(np.array([0.5, 0.1, 0.8]))
    now = Round(5, np.array([True, True, False]), RoundConstraint(2))
    cohort = F3ASTOfCAFed.knowing(p, activity, rate_beta=0.1).weigh(
        now, np.array([0, 2]), np.ones(2, bool)
    )
    np.testing.assert_allclose(cohort.weights, [0.4 / 0.55, 0.3 / 0.72])


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_ranks_by_squares_among_the_available(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    p, pi, mask = rng.dirichlet(np.ones(8)), rng.uniform(0.05, 1, 8), rng.random(8) < 0.6
    rates = {c: pi[c] * (1 - 0.01) + (0.01 if mask[c] else 0) for c in range(8)}
    ranked = sorted(np.flatnonzero(mask), key=lambda c: p[c] ** 2 / rates[c] ** 2, reverse=True)[:k]
    strategy = F3ASTOfCAFed.knowing(p, KnownAvailability(pi), rate_beta=0.01)
    cohort = played(strategy, 1, mask, k)
    assert cohort.ids.tolist() == ranked
    np.testing.assert_allclose(cohort.weights, [p[c] / rates[c] for c in ranked])


def test_equal_clients_go_by_id() -> None:
    strategy = F3ASTOfCAFed.knowing(np.full(4, 0.25), KnownAvailability(np.full(4, 0.5)))
    assert played(strategy, 1, np.arange(4) > 0, 2).ids.tolist() == [1, 2]


def test_a_share_of_0_takes_no_part() -> None:
    strategy = F3ASTOfCAFed.knowing(np.array([1.0, 0.0]), KnownAvailability(np.full(2, 0.5)))
    assert played(strategy, 1, np.ones(2, bool), 2).ids.tolist() == [0]


def test_bad_values() -> None:
    activity = KnownAvailability(np.array([0.5, 0.0]))
    with pytest.raises(ValueError, match="stationary = 0.0: must be above 0 for client 1"):
        F3ASTOfCAFed.knowing(np.array([0.5, 0.5]), activity).weigh(
            Round(1, np.array([True, False]), RoundConstraint(2)), np.array([1]), np.ones(1, bool)
        )
