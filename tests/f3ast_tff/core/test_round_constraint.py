"""Constraints of a round, and eq. (4) under them, compared with brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core.choosing import best_feasible
from f3ast_tff.core.rates import OBJECTIVES, marginal_utility
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.fedavg import FedAvg
from tests.f3ast_tff.methods.small_world import played

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
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RoundConstraint(**arguments)


def test_costs_and_groups_together_are_refused() -> None:
    two = np.zeros(2, int)
    with pytest.raises(ValueError, match="cannot be combined"):
        RoundConstraint(2, cost=np.ones(2), budget=1.0, group=two, minimum=np.array([1]))


def test_with_replacement_only_a_number_makes_sense() -> None:
    strategy = FedAvg.start([0.5, 0.5], 1)
    with pytest.raises(ValueError, match="with replacement"):
        played(strategy, 1, np.ones(2, bool), RoundConstraint(1, cost=np.ones(2), budget=1.0))
