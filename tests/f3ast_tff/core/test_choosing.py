"""Proportional and uniform draws, the largest K, and eq. (4) under the constraints of a round."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core import choosing
from f3ast_tff.core.choosing import best_feasible, draw_by_weight, ranked, top_k, uniform_part
from f3ast_tff.core.rates import OBJECTIVES, marginal_utility
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.fedavg import FedAvg
from tests.f3ast_tff.methods.small_world import played

# 1 - 1e-5 quantiles of chi-square, by degrees of freedom.
CHI_SQUARE = {3: 25.9, 5: 30.9, 8: 37.3}


def chi_square(counts: Counter, chances: dict, total: int) -> float:
    assert set(counts) <= set(chances)
    return sum((counts[o] - total * c) ** 2 / (total * c) for o, c in chances.items())


@pytest.mark.long
def test_frequencies_without_replacement_are_those_of_successive_draws() -> None:
    """First i with probability w_i, then j with probability w_j / (1 - w_i): 6 ordered pairs.

    Weights 5, 3, 2 give for example (0, 1) with 0.5 * 0.3 / 0.5 = 0.3 and (2, 0) with
    0.2 * 0.5 / 0.8 = 0.125. The weight of client 3, which is no candidate, does not count.
    """
    weights, rng, total = np.array([5.0, 3.0, 2.0, 90.0]), np.random.default_rng(0), 8000
    w = weights[:3] / 10
    chances = {(i, j): w[i] * w[j] / (1 - w[i]) for i, j in itertools.permutations(range(3), 2)}
    assert chances[0, 1] == pytest.approx(0.3)
    assert chances[2, 0] == pytest.approx(0.125)
    draws = (draw_by_weight(np.arange(3), weights, 2, rng) for _ in range(total))
    assert chi_square(Counter(tuple(d.tolist()) for d in draws), chances, total) < CHI_SQUARE[5]


def test_frequencies_with_replacement_are_products() -> None:
    weights, rng, total = np.array([5.0, 3.0, 2.0]), np.random.default_rng(1), 8000
    w = weights / 10
    chances = {(i, j): w[i] * w[j] for i, j in itertools.product(range(3), repeat=2)}
    draws = (draw_by_weight(np.arange(3), weights, 2, rng, replace=True) for _ in range(total))
    assert chi_square(Counter(tuple(d.tolist()) for d in draws), chances, total) < CHI_SQUARE[8]


@given(
    st.lists(st.sampled_from([0.0, 1e-12, 0.1, 3.0]), min_size=1, max_size=8),
    st.integers(1, 12),
    st.booleans(),
    st.integers(0, 2**32),
    st.data(),
)
def test_who_can_be_drawn_and_how_often(
    weights: list[float], k: int, replace: bool, seed: int, data: st.DataObject
) -> None:
    """Only candidates of positive weight are drawn, each at most once, and all if K allows it."""
    some = data.draw(st.sets(st.integers(0, len(weights) - 1)))
    possible = {i for i in some if weights[i] > 0}
    ids = draw_by_weight(
        np.array(sorted(some), np.int64),
        np.array(weights),
        k,
        np.random.default_rng(seed),
        replace=replace,
    )
    assert ids.dtype == np.int64
    assert set(ids.tolist()) <= possible
    if replace:
        assert len(ids) == (k if possible else 0)
    else:
        assert len(ids) == len(set(ids.tolist())) == min(k, len(possible))


def test_lowest_id_wins_ties_without_a_generator() -> None:
    utility = np.array([1.0, 2.0, 1.0, 2.0, 1.0])
    assert ranked(np.array([4, 3, 2, 1, 0]), utility, None)[:4].tolist() == [1, 3, 0, 2]


def test_ties_are_broken_uniformly_with_a_generator() -> None:
    """Client 0 is always in; each of four tied clients is second with probability 1/4."""
    utility, rng, total = np.array([9.0, 1.0, 1.0, 1.0, 1.0]), np.random.default_rng(2), 4000
    picked = [ranked(np.arange(5), utility, rng)[:2] for _ in range(total)]
    assert all(ids[0] == 0 for ids in picked)
    counts = Counter(int(ids[1]) for ids in picked)
    assert chi_square(counts, dict.fromkeys(range(1, 5), 0.25), total) < CHI_SQUARE[3]


def test_infinite_utilities_come_first() -> None:
    utility = np.array([1.0, np.inf, 5.0, np.inf])
    assert ranked(np.arange(4), utility, None)[:3].tolist() == [1, 3, 2]


IDS = np.array([1, 3, 4, 8, 9])


@pytest.mark.parametrize("k", [5, 100])
def test_everybody_where_k_allows(k: int) -> None:
    ids, factor = uniform_part(IDS, RoundConstraint(k), np.random.default_rng(0))
    assert ids.tolist() == IDS.tolist()
    assert factor == 1


@pytest.mark.parametrize(
    "constraint",
    [RoundConstraint(2), RoundConstraint(2, group=np.zeros(10, int), minimum=np.zeros(1, int))],
)
def test_each_is_as_likely_as_any_other(constraint: RoundConstraint) -> None:
    """Each of five clients is in with probability 2 / 5: 4000 draws, within 4.5 standard errors."""
    rng = np.random.default_rng(1)
    count = np.zeros(10)
    for _ in range(4000):
        ids, factor = uniform_part(IDS, constraint, rng)
        assert factor == 2.5
        assert len(set(ids)) == len(ids) == 2
        assert list(ids) == sorted(ids)
        count[ids] += 1
    assert count.sum() == count[IDS].sum()
    assert np.abs(count[IDS] / 4000 - 0.4).max() < 4.5 * np.sqrt(0.4 * 0.6 / 4000)


def test_a_budget_is_kept() -> None:
    constraint = RoundConstraint(5, cost=np.full(10, 2.0), budget=5.0)
    ids, factor = uniform_part(IDS, constraint, np.random.default_rng(2))
    assert (len(ids), factor) == (2, 2.5)


def test_nobody() -> None:
    ids, factor = uniform_part(np.zeros(0, np.int64), RoundConstraint(3), np.random.default_rng(0))
    assert (len(ids), ids.dtype, factor) == (0, np.int64, 1)


# 1 - 1e-5 quantile of chi-square with 9 degrees of freedom.
CHI_SQUARE_9 = 39.3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "BLOCK", 4)


def pick(
    utility: np.ndarray, available: np.ndarray, k: int, rng: np.random.Generator | None
) -> list[int]:
    ids = top_k(lambda part: utility[part], available, k, rng)
    assert ids.dtype == np.int64
    return ids.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 12),
    st.one_of(st.none(), st.integers(0, 2**32)),
)
def test_as_good_as_sorting_all(clients: list[tuple[int, bool]], k: int, seed: int | None) -> None:
    """Few values make many clients tie, over up to ten blocks."""
    utility, mask = np.array(clients).T.astype(float)
    available = mask.astype(bool)
    rng = None if seed is None else np.random.default_rng(seed)
    picked = pick(utility, available, k, rng)
    expected = ranked(np.flatnonzero(available), utility, None)[:k].tolist()
    assert len(set(picked)) == len(picked)
    assert available[picked].all()
    assert utility[picked].tolist() == utility[expected].tolist()
    if seed is None:
        assert picked == expected


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 3, 7])
def test_each_of_those_that_tie_is_as_likely(k: int) -> None:
    """Client 5 is above; ten clients tie, over six blocks, for k - 1 places drawn at random.

    Places are drawn without replacement. The chi-square statistic of the ten counts, scaled by
    9 / (10 - places) for their covariance, has 9 degrees of freedom.
    """
    utility = np.ones(23)
    utility[[1, 2, 8, 9, 10, 11, 12, 13, 18]] = 0.5
    utility[5] = 2.0
    available = np.ones(23, bool)
    available[[0, 22, 21]] = False
    tied = np.flatnonzero((utility == 1) & available)
    assert len(tied) == 10
    rng, total, counts = np.random.default_rng(3), 4000, Counter()
    for _ in range(total):
        picked = pick(utility, available, k, rng)
        assert picked[0] == 5
        counts.update(picked[1:])
    assert set(counts) <= set(tied.tolist())
    places = k - 1
    if places:
        mean = total * places / 10
        statistic = sum((counts[i] - mean) ** 2 / mean for i in tied.tolist()) * 9 / (10 - places)
        assert statistic < CHI_SQUARE_9


def test_utilities_in_rising_order_and_few_available() -> None:
    rising = np.arange(50.0)
    assert pick(rising, np.ones(50, bool), 3, None) == [49, 48, 47]
    assert pick(rising, rising % 20 == 7, 5, None) == [47, 27, 7]
    assert pick(rising, np.zeros(50, bool), 5, np.random.default_rng(0)) == []


CLIENT = st.tuples(st.floats(0.01, 1), st.floats(0.01, 1), st.booleans(), st.integers(1, 9))


def feasible_sets(limit: RoundConstraint, available: np.ndarray) -> list[list[int]]:
    """All sets that the definition allows, written out in full."""
    ids = np.flatnonzero(available).tolist()
    found = []
    for size in range(min(limit.k, len(ids)) + 1):
        for chosen in map(list, itertools.combinations(ids, size)):
            if limit.cost is not None and limit.cost[chosen].sum() > limit.budget:
                continue
            if limit.group is not None and limit.minimum is not None:
                there = limit.group[ids]
                short = [
                    np.sum(limit.group[chosen] == g) < min(m, np.sum(there == g))
                    for g, m in enumerate(limit.minimum)
                ]
                if any(short):
                    continue
            found.append(chosen)
    return found


@given(
    st.lists(CLIENT, min_size=1, max_size=7),
    st.integers(1, 5),
    st.sampled_from(OBJECTIVES),
    st.sampled_from(["number", "groups", "budget"]),
    st.data(),
)
def test_greedy_choice_against_brute_force(
    clients: list[tuple[float, float, bool, int]],
    k: int,
    objective: str,
    kind: str,
    data: st.DataObject,
) -> None:
    """Greedy is exact for a number and for groups; with costs it has at least half of the best."""
    p, r, mask, cost = (np.array(column) for column in zip(*clients))
    utility = marginal_utility(r, p, objective)
    limit = RoundConstraint(k)
    if kind == "groups":
        first = data.draw(st.integers(0, k))
        minimum = np.array([first, data.draw(st.integers(0, k - first))])
        limit = RoundConstraint(k, group=cost % 3 - 1, minimum=minimum)
    if kind == "budget":
        limit = RoundConstraint(
            k, cost=cost.astype(float), budget=float(data.draw(st.integers(1, 30)))
        )
    rng = data.draw(st.sampled_from([None, np.random.default_rng(0)]))
    picked = best_feasible(lambda part: utility[part], mask, limit, rng).tolist()
    sets = feasible_sets(limit, mask)
    assert sorted(picked) in sets
    best = max(utility[chosen].sum() for chosen in sets)
    share = 0.5 if kind == "budget" else 1.0
    assert utility[picked].sum() >= share * best * (1 - 1e-9)
    assert utility[picked].tolist() == sorted(utility[picked], reverse=True)


def test_budget_by_hand() -> None:
    """Budget 10, k = 3: 0 and 1 (worth 9, cost 5 each) beat three cheap clients of worth 1."""
    utility, cost = np.array([9.0, 9.0, 1.0, 1.0, 1.0, 20.0]), np.array([5.0, 5, 0.1, 0.1, 0.1, 11])
    limit = RoundConstraint(3, cost=cost, budget=10.0)
    assert best_feasible(lambda s: utility[s], np.ones(6, bool), limit, None).tolist() == [0, 1]
    # Greedy by density would take 2, 3, 4 and stop at k; one expensive client alone is worth more.
    utility[5], cost[5] = 100.0, 10.0
    assert best_feasible(lambda s: utility[s], np.ones(6, bool), limit, None).tolist() == [5]


def test_admit_by_hand() -> None:
    """Order 4 3 2 1 0, two places, one kept for group 1 (clients 0 and 1): 4, then 1."""
    order = np.array([4, 3, 2, 1, 0])
    groups = RoundConstraint(2, group=np.array([1, 1, 0, 0, -1]), minimum=np.array([0, 1]))
    assert groups.admit(order).tolist() == [4, 1]
    # Costs 5, 4, 3, 2, 1 for clients 4 .. 0, budget 7: 4, then 1 (3 and 2 are too expensive).
    costs = RoundConstraint(9, cost=np.arange(1.0, 6.0), budget=7.0)
    assert costs.admit(order).tolist() == [4, 1]
    assert RoundConstraint(3).admit(order).tolist() == [4, 3, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k = 0: must be at least 1"),
        ({"k": 2, "cost": np.ones(2)}, "cost and budget"),
        ({"k": 2, "group": np.zeros(2, int)}, "group and minimum"),
        ({"k": 2, "cost": np.array([1.0, 0.0]), "budget": 1.0}, "every cost must be above 0"),
        ({"k": 2, "cost": np.array([1.0, np.nan]), "budget": 1.0}, "every cost must be above 0"),
        ({"k": 2, "cost": np.ones(2), "budget": np.nan}, "budget = nan: must be above 0"),
        ({"k": 2, "group": np.array([0, 2]), "minimum": np.array([1, 1])}, r"in -1 \.\. 1"),
        ({"k": 2, "group": np.array([0, 1]), "minimum": np.array([1, 2])}, "at most k = 2"),
        (
            {"k": 2, "cost": np.ones(2), "budget": 1.0}
            | {"group": np.zeros(2, int), "minimum": np.array([1])},
            "cannot be combined",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RoundConstraint(**arguments)


def test_with_replacement_only_a_number_makes_sense() -> None:
    strategy = FedAvg.start([0.5, 0.5], 1)
    with pytest.raises(ValueError, match="with replacement"):
        played(strategy, 1, np.ones(2, bool), RoundConstraint(1, cost=np.ones(2), budget=1.0))
