"""ACED: whose remembered updates are forgotten, when, and the divisor of the mean."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.aced import Aced
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, cohort_of
from f3ast_tff.run.selecting import weigh_updates
from tests.f3ast_tff.methods.small_world import small_world

P = np.array([0.4, 0.3, 0.2, 0.1])


def started() -> Aced:
    return Aced(aced_tau=1).build(small_world(p=P))


def step_with(t: int, ids: list[int], strategy: Aced) -> tuple[float, list[int]]:
    """Plays a round with these clients; returns the factor of the rate and who is forgotten."""
    now = Round(t, np.isin(np.arange(4), ids), RoundConstraint(4))
    cohort = cohort_of(strategy, now)
    assert cohort.ids.tolist() == ids and cohort.weights.tolist() == P[ids].tolist()
    assert cohort.forgets is not None and cohort.forgets.dtype == np.int64
    return cohort.step, cohort.forgets.tolist()


def test_by_hand() -> None:
    """tau_algo = 1: A holds the clients of this step and the one before. A round without clients
    is no step.

    Steps of clients {0, 1}, {2}, {2}, {1}, {0, 3}: p of A is .7, .9, .2, .5, then .3 + .5 = .8.
    """
    strategy = started()
    found = [step_with(1, [0, 1], strategy), step_with(2, [], strategy)]
    found += [step_with(t, ids, strategy) for t, ids in ((3, [2]), (4, [2]), (5, [1]))]
    found.append(step_with(6, [0, 3], strategy))
    assert [forgets for _, forgets in found] == [[], [], [], [0, 1], [], [2]]
    sums = [0.7, 0.7, 0.9, 0.2, 0.5, 0.8]
    np.testing.assert_allclose([step for step, _ in found], 1 / np.array(sums))


def test_state_and_new_shares_are_kept() -> None:
    strategy, again = started(), started()
    for t, ids in ((1, [0, 1]), (2, [2])):
        step_with(t, ids, strategy)
    again.restore(strategy.state())
    other = strategy.renewed(np.full(4, 0.25), np.zeros(4, bool), 0.0)
    assert step_with(3, [2], again) == (pytest.approx(5), [0, 1])
    assert other.state()["entered"].tolist() == [1, 1, 2, 0]
    assert other.p.tolist() == [0.25] * 4


def test_forgotten_clients_are_checked() -> None:
    class Forgets(BaseStrategy):
        def select(self, now: Round) -> np.ndarray:
            return np.array([1])

        def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
            return Cohort(ids, np.ones(1), forgets=np.array([4]))

    now = Round(1, np.ones(4, bool), RoundConstraint(4))
    with pytest.raises(ComponentError, match=r"forgets client 4: must be in 0 .. 3"):
        weigh_updates(Forgets(), now, np.array([1]), np.ones(1, bool))
