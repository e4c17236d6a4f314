"""FedAvg over all clients: absent clients count as 0."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.parts.all_available import AllAvailable
from tests.f3ast_tff.methods.small_world import played

P = np.array([0.25, 0.75])


def test_by_hand() -> None:
    """Two rounds with D = (1, 2): both give 0.25 + 0.75 * 2 = 1.75; client 1 alone gives 1.5."""
    strategy, updates = AllAvailable.start(P, 1), np.array([1.0, 2.0])
    for t, mask, ids, delta in ((1, [True, True], [0, 1], 1.75), (2, [False, True], [1], 1.5)):
        cohort = played(strategy, t, np.array(mask), 2)
        assert cohort.ids.tolist() == ids
        assert cohort.weights @ updates[cohort.ids] == pytest.approx(delta)


@pytest.mark.long
def test_where_k_is_short_no_weight_grows() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    counts = np.zeros(5)
    for t in range(1, 2001):
        cohort = played(AllAvailable.start(p, 1, seed=2), t, np.ones(5, bool), 2)
        np.testing.assert_array_equal(cohort.weights, p[cohort.ids])
        counts[cohort.ids] += 1
    assert counts[4] == 0
    # Each of four has probability 1/2: within 4.5 standard errors.
    assert np.abs(counts[:4] / 2000 - 0.5).max() < 4.5 * np.sqrt(0.25 / 2000)


def test_other_constraints() -> None:
    dear = RoundConstraint(2, cost=np.array([1.0, 9.0]), budget=5.0)
    assert played(AllAvailable.start(P, 1), 1, np.ones(2, bool), dear).ids.tolist() == [0]
