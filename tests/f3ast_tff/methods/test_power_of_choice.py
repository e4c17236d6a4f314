"""Power-of-Choice: d candidates by p_k, of which the K with the highest loss train."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from tests.f3ast_tff.methods.small_world import Spy, config, played, small_world

P = np.arange(1, 11) / 55
ALL = np.ones(10, bool)


def started(p: np.ndarray, candidates: int, seed: int = 0, **given: Any) -> PowerOfChoice:
    return PowerOfChoice.start(p, 1, seed=seed, poc_candidates=candidates, **given)


@pytest.mark.parametrize("seed", range(20))
def test_asks_d_available_clients_and_keeps_the_k_of_highest_loss(seed: int) -> None:
    losses = np.random.default_rng(seed).permutation(10).astype(float)
    spy = Spy(losses.tolist())
    mask = np.arange(10) != 4
    cohort = played(started(P, 5, seed), 1, mask, 3, spy)
    assert len(spy.asked) == 1
    pool = spy.asked[0]
    assert len(set(pool)) == len(pool) == 5
    assert 4 not in pool
    assert cohort.ids.tolist() == sorted(pool, key=lambda k: -losses[k])[:3]
    assert cohort.weights.tolist() == [1, 1, 1]


@pytest.mark.long
def test_candidates_are_drawn_by_share() -> None:
    """The candidate for d = 1 is client k with probability p_k: test of the mean id.

    The mean is sum k p_k = 6. The variance is sum k^2 p_k - 36 = (sum over j = 1..10 of
    (j-1)^2 j) / 55 - 36 = 2310 / 55 - 36 = 6. Uniform draws would have a mean of 4.5.
    """
    strategy, spy = started(P, 1), Spy([0.0] * 10)
    for t in range(1, 3001):
        played(strategy, t, ALL, 1, spy)
    assert abs(np.mean(spy.asked) - 6) < 4.5 * np.sqrt(6 / 3000)


def test_fewer_available_than_k_are_all_taken() -> None:
    spy = Spy(list(range(10)))
    mask = np.isin(np.arange(10), [2, 7])
    cohort = played(started(P, 5), 1, mask, 3, spy)
    assert sorted(spy.asked[0]) == [2, 7]
    assert cohort.ids.tolist() == [7, 2]
    assert cohort.weights.tolist() == [1, 1]


def test_a_diverged_client_comes_first_and_one_without_a_loss_last() -> None:
    losses = [float(k) for k in range(10)]
    losses[1], losses[8] = float("inf"), float("nan")
    strategy = started(P, 10)
    assert played(strategy, 1, ALL, 2, Spy(losses)).ids.tolist() == [1, 9]
    assert played(strategy, 1, ALL, 10, Spy(losses)).ids[-1] == 8


def test_the_answer_is_left_alone() -> None:
    """NaN is replaced in a copy, since the engine may have kept the array."""
    answer = np.array([np.nan, 1.0])
    played(started(np.array([0.5, 0.5]), 2), 1, np.ones(2, bool), 1, lambda ids: answer)
    assert np.isnan(answer[0])


def test_equal_losses_are_ordered_at_random() -> None:
    """All tie, d = N: over 200 rounds each of 10 clients is picked, except with 10 * 0.9^200."""
    strategy, spy = started(np.full(10, 0.1), 10), Spy([1.0] * 10)
    picked = {int(played(strategy, t, ALL, 1, spy).ids[0]) for t in range(1, 201)}
    assert picked == set(range(10))


def test_released_form_may_train_a_client_several_times() -> None:
    """Two available clients fill a pool of 5: each is asked once; the pool's K best train.

    Client 7 has loss 1 with 8 added, client 2 has loss 5 with 3 added. So client 7 comes first, as
    often as it was drawn. Weights are those of the mean.
    """
    n_k = np.arange(1.0, 11.0)
    losses = [0.0] * 10
    losses[2], losses[7] = 5.0, 1.0
    strategy = config("poc", "released", poc_candidates=5).build(
        small_world(p=P, sizes=n_k, seed=3)
    )
    spy, mask = Spy(losses), np.isin(np.arange(10), [2, 7])
    seen = set()
    for t in range(1, 30):
        cohort = played(strategy, t, mask, 3, spy)
        assert len(cohort) == 3
        assert cohort.ids.tolist() == sorted(cohort.ids.tolist(), reverse=True)
        assert cohort.weights.tolist() == (cohort.ids + 1.0).tolist()
        seen.add(tuple(cohort.ids.tolist()))
    assert all(asked == sorted(set(asked)) for asked in spy.asked)
    assert {(7, 7, 7), (7, 7, 2)} <= seen


def test_numbers_are_added_to_the_losses() -> None:
    """5 + 1, 3 + 4, 0 + 2 are 6, 7, 2."""
    strategy = started(np.full(3, 1 / 3), 3, sizes=[1, 4, 2], poc_loss="training_loss")
    cohort = played(strategy, 1, np.ones(3, bool), 3, Spy([5.0, 3.0, 0.0]))
    assert cohort.ids.tolist() == [1, 0, 2]


def test_new_shares_draw_the_candidates() -> None:
    """Client 1 alone has a share now."""
    strategy = started(np.array([1.0, 0.0]), 1)
    joined = strategy.renewed(np.array([0.0, 1.0]), np.array([1]), 0.5)
    assert played(joined, 1, np.ones(2, bool), 1, Spy([1.0, 1.0])).ids.tolist() == [1]


def test_with_replacement_knows_no_groups() -> None:
    groups = RoundConstraint(3, group=np.zeros(10, int), minimum=np.array([1]))
    with pytest.raises(ValueError, match="no constraint but the number"):
        played(started(P, 5, poc_pool="with_replacement"), 1, ALL, groups, Spy([0.0] * 10))
