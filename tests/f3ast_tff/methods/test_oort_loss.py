"""Oort's loss part: draws by utility, and exploration."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.engines.client_loss import mean_losses
from f3ast_tff.engines.engine import ExampleScores
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.strategy import Losses, Outcome
from tests.f3ast_tff.methods.small_world import played

SIZES = np.array([10.0, 20.0])
# No exploration, except if no client is known.
GREEDY = {"oort_exploration": 0.0, "oort_exploration_min": 0.0}


def started(sizes: np.ndarray, seed: int = 0, **given: float) -> OortLoss:
    return OortLoss.start(sizes / sizes.sum(), 1, seed=seed, sizes=sizes, **given)


def ones(ids: np.ndarray) -> np.ndarray:
    return np.ones(len(ids))


def reports(losses: dict[int, float]) -> Losses:
    """Mean squares of clients whose examples all have that loss."""
    return lambda ids: np.array([losses[k] ** 2 for k in ids.tolist()])


def arrived(strategy: OortLoss, t: int, ids: list[int]) -> None:
    strategy.observe(t, Outcome(np.array(ids), np.ones(len(ids), bool), np.zeros(len(ids))))


def told(strategy: OortLoss, t: int, ids: list[int], losses: list[float]) -> None:
    """Plays a round with these participants."""
    there = np.isin(np.arange(len(strategy.sizes)), ids)
    constraint = RoundConstraint(len(ids))
    played(strategy, t, there, constraint, reports(dict(zip(ids, losses))))
    arrived(strategy, t, ids)


def test_by_hand() -> None:
    """n = (10, 20), no exploration.

    Round 1, K = 2: both are new and taken; mean squares 0.25, 1 give U = (5, 20), L = (1, 1).

    Round 2, K = 1: lowest 0.999 * 5, spread 20 - 4.995 = 15.005, bonus sqrt(0.1 ln 2 / 1) = 0.2633.
    Scores are 0.2636 and 1.2633. Client 0 is below 0.95 * 1.2633, so 1 is taken; 0.1^2 gives
    U_1 = 2.

    Round 3, K = 1: U = (5, 2), L = (1, 2), spread 5 - 1.998. Scores are 1 + sqrt(0.1 ln 3) = 1.3315
    and 0.0007 + sqrt(0.1 ln 3 / 2) = 0.2350, so client 0 is taken.
    """
    strategy, everybody = started(SIZES, **GREEDY), np.ones(2, bool)
    cohort = played(strategy, 1, everybody, 2, reports({0: 0.5, 1: 1.0}))
    assert sorted(cohort.ids.tolist()) == [0, 1]
    assert cohort.weights.tolist() == [1, 1]
    arrived(strategy, 1, [0, 1])
    assert strategy.state()["utility"].tolist() == [5, 20]
    assert played(strategy, 2, everybody, 1, reports({1: 0.1})).ids.tolist() == [1]
    arrived(strategy, 2, [1])
    np.testing.assert_allclose(strategy.state()["utility"], [5, 2])
    assert strategy.state()["last_participation"].tolist() == [1, 2]
    assert played(strategy, 3, everybody, 1, reports({0: 1.0})).ids.tolist() == [0]


def test_spread_losses_are_worth_more_than_equal_ones() -> None:
    """Losses (0, 4) and (2, 2) have equal means, but give sqrt(8) and 2 times n = 2."""
    scores = ExampleScores(np.array([0.0, 4.0, 2.0, 2.0]), np.zeros(4), np.ones(4))
    squares = mean_losses(scores, np.array([2, 2]), "mean_squares")
    strategy = started(np.array([2.0, 2.0]))
    played(strategy, 1, np.ones(2, bool), 2, lambda ids: squares[ids])
    arrived(strategy, 1, [0, 1])
    np.testing.assert_allclose(strategy.state()["utility"], [2 * np.sqrt(8), 4])


def test_of_equal_utilities_the_longest_absent_has_the_bonus() -> None:
    """All U are equal, 1 when scaled; the bonus is sqrt(0.1 ln 20 / L) with L = 9, 1, 16."""
    strategy = started(np.ones(3), **GREEDY, oort_cutoff=1.0)
    for t, k in ((1, 1), (9, 0), (16, 2)):
        told(strategy, t, [k], [5.0])
    picked = [played(strategy, 20, np.ones(3, bool), k, ones).ids for k in (1, 2)]
    assert [sorted(ids.tolist()) for ids in picked] == [[1], [0, 1]]


@pytest.mark.long
def test_above_the_cutoff_draws_are_by_score() -> None:
    """Three clients, one place, cutoff 0.5.

    U = (10, 8, 0), L = 4, t = 20: the bonus is sqrt(0.1 ln 20 / 4) = 0.2737. Scores are 1.2737,
    1.0737 and 0.2737; the last is below 0.637. So client 0 is drawn with probability
    1.2737 / 2.3474 = 0.5426.
    """
    strategy = started(np.ones(3), **GREEDY, oort_cutoff=0.5)
    told(strategy, 4, [0, 1, 2], [10.0, 8.0, 0.0])
    state, counts = strategy.state(), np.zeros(3)
    for seed in range(4000):
        drawn = started(np.ones(3), **GREEDY, oort_cutoff=0.5, seed=seed)
        drawn.restore(state)
        counts[played(drawn, 20, np.ones(3, bool), 1, ones).ids] += 1
    assert counts[2] == 0
    assert abs(counts[0] / 4000 - 0.5426) < 4.5 * 0.5 / np.sqrt(4000)


def test_utilities_are_clipped_at_their_95_percent_value() -> None:
    """U = 0 .. 38 and 1000: index int(0.95 * 40) holds 38, so 1000 counts as 38.

    Both score 38 / 1000 + sqrt(0.1 ln 2); client 37 scores 1 / 1000 less.
    """
    n = 40
    strategy = started(np.ones(n), **GREEDY)
    told(strategy, 1, list(range(n)), [*map(float, range(n - 1)), 1000.0])
    scores = strategy._scores(np.arange(n), 2)
    assert scores[39] == scores[38] == pytest.approx(0.038 + np.sqrt(0.1 * np.log(2)))
    assert scores[38] - scores[37] == pytest.approx(0.001)


def test_scores_by_hand() -> None:
    """U = (5, 20), t = 2, L = 1: 0.005 and 15.005 over the spread 20 - 4.995, plus the bonus."""
    strategy = started(SIZES)
    told(strategy, 1, [0, 1], [0.5, 1.0])
    bonus = np.sqrt(0.1 * np.log(2))
    expected = [0.005 / 15.005 + bonus, 1 + bonus]
    np.testing.assert_allclose(strategy._scores(np.arange(2), 2), expected)
    np.testing.assert_allclose(strategy._scores(np.array([1]), 2), [1 + bonus])


def test_shares_of_the_places() -> None:
    """K = 10, five of 30 clients known, e_t = 0.8 * 0.5^(t-1), at least 0.3.

    Known clients get 2, 6, 7, 7 of the places, but at most five. With K = 5, and 9 of 10 available
    clients known, round 1 has one place for known clients. The new client fills one of the other
    four, and known clients get the rest.
    """
    sizes = np.ones(30)
    strategy = started(
        sizes, oort_exploration=0.8, oort_exploration_decay=0.5, oort_exploration_min=0.3
    )
    told(strategy, 1, [0, 1, 2, 3, 4], [1.0] * 5)
    for t, known in ((1, 2), (2, 5), (3, 5), (9, 5)):
        ids = played(strategy, t, np.ones(30, bool), 10, ones).ids
        assert np.count_nonzero(ids < 5) == known
        assert len(set(ids.tolist())) == 10
    assert [strategy.explored_share(t) for t in (1, 2, 3)] == [0.8, 0.4, 0.3]
    told(strategy, 2, list(range(5, 9)), [1.0] * 4)
    ids = played(strategy, 1, np.arange(30) < 10, 5, ones).ids
    assert (len(set(ids.tolist())), 9 in ids) == (5, True)


def test_a_client_without_examples_is_not_selected() -> None:
    strategy, everybody = started(np.array([0.0, 3.0, 2.0])), np.ones(3, bool)
    ids = played(strategy, 1, everybody, 3, ones).ids
    assert sorted(ids.tolist()) == [1, 2]


def test_what_was_not_delivered_is_still_new() -> None:
    strategy = started(SIZES)
    ids, delivered = np.array([0, 1]), np.array([True, False])
    played(strategy, 3, np.ones(2, bool), 2, reports({0: np.inf, 1: 2.0}))
    strategy.observe(3, Outcome(ids, delivered, np.zeros(2)))
    assert strategy.state()["last_participation"].tolist() == [3, 0]
    assert strategy.state()["utility"].tolist() == [0, 0]


def test_a_client_that_joins_has_never_taken_part() -> None:
    strategy = started(np.ones(2))
    told(strategy, 3, [0, 1], [5.0, 4.0])
    joined = strategy.renewed(np.array([0.5, 0.5]), np.array([1]), 0.5)
    for each, utility, last in ((joined, [5, 0], [3, 0]), (strategy, [5, 4], [3, 3])):
        assert each.state()["utility"].tolist() == utility
        assert each.state()["last_participation"].tolist() == last
