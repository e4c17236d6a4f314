"""The sampling of FedAvg and FedAdam."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.selection import Feasible, Losses, Proportional

P = np.array([0.5, 0.2, 0.2, 0.1])
ALL = np.ones(4, bool)


def test_only_available_clients_each_once(no_losses: Losses) -> None:
    strategy = Proportional(P, np.ones(4))
    mask = np.array([False, True, False, True])
    for t in range(1, 50):
        assert sorted(strategy.select(t, mask, Feasible(3), no_losses).ids) == [1, 3]
        cohort = strategy.select(t, ALL, Feasible(3), no_losses)
        assert len(set(cohort.ids)) == len(cohort) == 3
        assert cohort.weights.tolist() == [1, 1, 1]


def test_with_replacement_always_k_draws(no_losses: Losses) -> None:
    """Reading R3, weights by data size: a client drawn twice enters the mean twice."""
    strategy = Proportional(P, np.array([10.0, 20.0, 30.0, 40.0]), replace=True)
    cohort = strategy.select(1, np.array([False, False, True, False]), Feasible(3), no_losses)
    assert cohort.ids.tolist() == [2, 2, 2]
    assert cohort.weights.tolist() == [30, 30, 30]


def test_weights_are_those_of_the_drawn(no_losses: Losses) -> None:
    sizes = np.array([10.0, 20.0, 30.0, 40.0])
    cohort = Proportional(P, sizes).select(1, ALL, Feasible(4), no_losses)
    assert cohort.weights.tolist() == sizes[cohort.ids].tolist()


@pytest.mark.parametrize("replace", [False, True])
def test_nobody_available_is_an_empty_cohort(replace: bool, no_losses: Losses) -> None:
    cohort = Proportional(P, np.ones(4), replace).select(1, ~ALL, Feasible(3), no_losses)
    assert len(cohort) == 0
    assert cohort.ids.dtype == np.int64


def test_draws_are_a_function_of_seed_and_round(no_losses: Losses) -> None:
    def draws(seed: int) -> list[list[int]]:
        strategy = Proportional(P, np.ones(4), seed=seed)
        return [
            strategy.select(t, ALL, Feasible(2), no_losses).ids.tolist() for t in range(40, 0, -1)
        ][::-1]

    assert draws(1) == draws(1) != draws(2)
    assert (
        Proportional(P, np.ones(4), seed=1).select(7, ALL, Feasible(2), no_losses).ids.tolist()
        == (draws(1)[6])
    )


def test_there_is_no_state_to_save() -> None:
    strategy = Proportional(P, np.ones(4))
    assert strategy.state() == {}
    strategy.restore({})
    with pytest.raises(ValueError, match="unexpected saved state.*rates"):
        strategy.restore({"rates": np.ones(4)})
