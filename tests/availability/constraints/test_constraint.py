"""Constraints: texts and refused values, counts, bytes, and minimums per group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import (
    ByteBudget,
    CommunicationConstraint,
    CycleK,
    FixedK,
    GroupMinimum,
    HoldK,
    MarkovK,
    PoissonK,
    StepsK,
    UniformK,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.configuration import Settings

REGISTRY = builtin_registry()
REFUSED = {
    "cycle:": "must be cycle:K,K,...",
    "cycle:a": "must be cycle:K,K,...",
    "cycle:2,0": "must be one or more numbers, each at least 1",
    "hold:1,": "must be hold:K,K,...",
    "steps:1": "must be steps:ROUND=K,ROUND=K,...",
    "steps:2=5": "first rounds must be 1 and then increase, one for each value",
    "steps:1=5,1=6": "first rounds must be 1 and then increase, one for each value",
    "steps:1=0": "must be one or more numbers, each at least 1",
    "uniform:5": "must be uniform:LEAST:MOST",
    "uniform:9:5": "the first must be at least 1 and at most the second",
    "uniform:0:5": "the first must be at least 1 and at most the second",
    "uniform:5:61": "K must be at most num_clients, 60",
    "poisson:x": "must be poisson:MEAN",
    "poisson:nan": "the mean must be above 0 and at most 1e+18",
    "poisson:1e20": "the mean must be above 0 and at most 1e+18",
    "poisson:0": "the mean must be above 0 and at most 1e+18",
    "markov:5": "must be markov:K,K,...:MEMORY",
    "markov:2,0:0.5": "must be one or more numbers, each at least 1",
    "markov:5:1": "memory must be in [0, 1)",
    "bytes:many": "must be bytes:BUDGET,...",
    "fixed:5": "must be a number alone",
}


def config(text: str) -> Any:
    name, _, arguments = text.partition(":")
    return REGISTRY.find("constraint", name).config(arguments=arguments)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_allowed_is_refused_with_the_text(text: str) -> None:
    settings = {"num_clients": 60, "constraint": text}
    for refuse in (
        lambda: config(text).build(60, 7, 4),
        lambda: config(text).check(Settings.of(settings)),
    ):
        with pytest.raises(ParameterError) as error:
            refuse()
        found = error.value
        assert (found.name, found.value, found.allowed) == ("constraint", text, REFUSED[text])


def test_without_a_number_of_clients_the_form_is_checked_alone() -> None:
    config("uniform:5:61").check(Settings.of({}))
    with pytest.raises(ParameterError, match=r"constraint = uniform:x: must be uniform:LEAST"):
        config("uniform:x").check(Settings.of({"num_clients": None}))


def test_a_fixed_k_is_at_most_the_number_of_clients() -> None:
    fixed = REGISTRY.find("constraint", "fixed").config(clients_per_round=61)
    for refuse in (
        lambda: fixed.build(60, 0, 4),
        lambda: fixed.check(Settings.of({"num_clients": 60})),
    ):
        with pytest.raises(ParameterError) as error:
            refuse()
        assert str(error.value) == "clients_per_round = 61: K must be at most num_clients, 60"
    fixed.check(Settings.of({}))


@pytest.mark.parametrize("name", REGISTRY.names("constraint"))
def test_every_constraint_says_its_form(name: str) -> None:
    form = REGISTRY.find("constraint", name).about.partition(": ")[0]
    assert form == "K" if name == "fixed" else form.partition(":")[0] == name


ALL: dict[str, CommunicationConstraint] = {
    "fixed": FixedK(clients_per_round=3),
    "cycle": CycleK("2,5"),
    "hold": HoldK("2,5"),
    "steps": StepsK("1=2,4=7"),
    "uniform": UniformK("2:6"),
    "poisson": PoissonK("4.0", 9),
    "markov": MarkovK("1,4,8:0.8"),
}


def k_of(constraint: CommunicationConstraint, rounds: Iterable[int]) -> list[int]:
    return [constraint.limit(t).k for t in rounds]


each = pytest.mark.parametrize("constraint", ALL.values(), ids=ALL)


@each
def test_k_is_a_function_of_the_round_within_its_bounds(
    constraint: CommunicationConstraint,
) -> None:
    forward = k_of(constraint, range(1, 200))
    assert k_of(constraint, range(199, 0, -1)) == forward[::-1]
    assert min(forward) >= 1
    assert max(forward) <= constraint.largest_k


@each
def test_only_the_number_counts(constraint: CommunicationConstraint) -> None:
    assert all(constraint.limit(t).counts_only for t in range(1, 30))


@each
def test_mean_k_is_that_of_many_rounds(constraint: CommunicationConstraint) -> None:
    """Rounds 5 to 4004. The mean of `markov` has standard error 2.9 * 3 / sqrt(4000) = 0.14."""
    drawn = k_of(constraint, range(5, 4005))
    assert isinstance(constraint.mean_k, float)
    assert abs(np.mean(drawn) - constraint.mean_k) < 4.5 * 0.14


def test_mean_k_by_hand() -> None:
    """Poisson with mean 1, clipped to 1..2: P(K = 2) = 1 - 2 / e."""
    assert CycleK("2,5").mean_k == 3.5
    assert HoldK("2,5").mean_k == StepsK("1=2,9=5").mean_k == 5
    assert UniformK("2:5").mean_k == 3.5
    assert MarkovK("1,4,4:0.8").mean_k == 3
    assert PoissonK("1.0", 2).mean_k == pytest.approx(2 - 2 / np.e)
    assert PoissonK("20.0", 1000).mean_k == pytest.approx(20)
    assert (PoissonK("1e-9", 5).mean_k, PoissonK("1e6", 5).mean_k) == (pytest.approx(1), 5)


def test_schedules_by_hand() -> None:
    assert k_of(FixedK(clients_per_round=12), (1, 50)) == [12, 12]
    assert k_of(CycleK("2,5,9"), range(1, 6)) == [2, 5, 9, 2, 5]
    assert k_of(HoldK("2,5,9"), range(1, 6)) == [2, 5, 9, 9, 9]
    assert k_of(StepsK("1=4,3=2,5=8"), (1, 2, 3, 4, 5, 99)) == [4, 4, 2, 2, 8, 8]


def test_uniform_takes_each_value_alike() -> None:
    """3000 draws from 3 values: about 1000 each, with standard deviation 26."""
    counts = Counter(k_of(UniformK("2:4", seed=1), range(1, 3001)))
    assert sorted(counts) == [2, 3, 4]
    assert all(abs(count - 1000) < 5 * 26 for count in counts.values())


def test_poisson_has_its_mean_and_variance() -> None:
    """Mean and variance are 20. Over 3000 rounds their standard errors are 0.082 and 0.52."""
    drawn = k_of(PoissonK("20.0", 1000, seed=1), range(1, 3001))
    assert abs(np.mean(drawn) - 20) < 5 * 0.082
    assert abs(np.var(drawn) - 20) < 5 * 0.53
    assert set(k_of(PoissonK("1e-9", 5), range(1, 50))) == {1}
    assert set(k_of(PoissonK("1e6", 5), range(1, 50))) == {5}


def test_markov_is_uniform_with_memory() -> None:
    """Two levels, memory 0.8: each level half of the time, correlation of successive K_t 0.8.

    Over 2000 rounds the mean has standard error 0.5 sqrt(1.8 / 0.2 / 2000) = 0.034, and the
    correlation about sqrt((1 - 0.64) / 2000) = 0.013.
    """
    constraint = MarkovK("1,2:0.8", seed=1)
    high = np.array(k_of(constraint, range(1, 2001))) - 1
    assert abs(high.mean() - 0.5) < 5 * 0.034
    assert abs(np.corrcoef(high[1:], high[:-1])[0, 1] - 0.8) < 5 * 0.013


def test_rounds_before_the_first_are_refused() -> None:
    with pytest.raises(ValueError, match="round 0"):
        MarkovK("1,2:0.5").limit(0)


def test_random_k_depends_on_the_seed() -> None:
    for one, other in (
        (UniformK("1:50", seed=1), UniformK("1:50", seed=2)),
        (PoissonK("30.0", 99, seed=1), PoissonK("30.0", 99, seed=2)),
        (MarkovK("1,2,3:0.5", seed=1), MarkovK("1,2,3:0.5", seed=2)),
    ):
        assert k_of(one, range(1, 30)) != k_of(other, range(1, 30))


def budget(budgets: str, sizes: list[int]) -> ByteBudget:
    return ByteBudget(budgets).build(len(sizes), update_bytes=np.array(sizes))


def test_the_largest_k_counts_the_smallest_updates_and_the_mean_k_average_ones() -> None:
    """Sizes 4 5 3 1 2 have mean 3. Budget 12 fits 1 + 2 + 3 + 4, so the largest K is 4.

    Budgets 9 and 12 fit 3 and 4 updates of size 3, so the mean K is 3.5.
    """
    constraint = budget("9,12", [4, 5, 3, 1, 2])
    assert [constraint.limit(t).budget for t in (1, 2, 3)] == [9, 12, 9]
    assert [constraint.limit(t).k for t in (1, 2)] == [constraint.largest_k] * 2 == [4, 4]
    assert constraint.mean_k == 3.5
    assert budget("9,90", [3, 3, 3, 3]).mean_k == 3.5


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
    st.lists(st.integers(0, 200), min_size=1, max_size=3),
    st.data(),
)
def test_what_is_admitted_keeps_within_the_budget(
    sizes: list[int], extra: list[int], data: st.DataObject
) -> None:
    """Admission is maximal too: no client left out would still fit."""
    budgets = [max(sizes) + more for more in extra]
    constraint = budget(",".join(map(str, budgets)), sizes)
    ranked = np.array(data.draw(st.permutations(range(len(sizes)))))
    for t in range(1, 5):
        admitted = constraint.limit(t).admit(ranked)
        left = budgets[(t - 1) % len(budgets)] - sum(sizes[k] for k in admitted)
        assert left >= 0
        assert all(sizes[k] > left for k in set(ranked) - set(admitted))
        assert 1 <= len(admitted) <= constraint.largest_k


@pytest.mark.parametrize(
    ("budgets", "sizes", "allowed"),
    [
        ("10,3", [4, 2], "each budget must hold the largest update, 4 bytes"),
        ("10", [40, 40], "each budget must hold the largest update, 40 bytes"),
        ("10", [0, 1], "no sizes of updates are known here"),
        ("", [4, 2], "must be bytes:BUDGET,..."),
    ],
)
def test_budgets_that_hold_no_update_are_refused(
    budgets: str, sizes: list[int], allowed: str
) -> None:
    with pytest.raises(ParameterError) as error:
        budget(budgets, sizes)
    assert str(error.value) == f"constraint = bytes:{budgets}: {allowed}"


def test_a_budget_is_that_of_the_model() -> None:
    found = ByteBudget("5e6,90").build(3, update_bytes=30)
    assert (found.budgets, found.sizes.tolist()) == ((5_000_000, 90), [30, 30, 30])


def test_a_minimum_by_hand() -> None:
    """K = 3, at least one client of group 1: the third best gives way to the best of group 1."""
    constraint = GroupMinimum(FixedK(clients_per_round=3), np.array([0, 0, 0, -1, 1, 1]), (0, 1))
    assert sorted(constraint.limit(1).admit(np.arange(6))) == [0, 1, 4]
    assert constraint.limit(1).admit(np.array([5, 0, 1, 2])).tolist() == [5, 0, 1]
    assert constraint.limit(1).admit(np.array([2, 0])).tolist() == [2, 0]
    assert constraint.limit(1).k == constraint.largest_k == constraint.mean_k == 3


@given(st.data())
def test_greedy_is_the_best_of_all_feasible_sets(data: st.DataObject) -> None:
    """Compared by brute force with all sets of size min(K, available) that meet the minimums."""
    n = data.draw(st.integers(2, 8))
    group = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    k = data.draw(st.integers(1, n))
    minimum = tuple(data.draw(st.integers(0, k // 3)) for _ in range(3))
    utility = np.array(data.draw(st.permutations(range(1, n + 1))), float)
    available = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    needed = [min(m, int(np.sum(group[available] == g))) for g, m in enumerate(minimum)]

    ranked = available[np.argsort(-utility[available])]
    picked = GroupMinimum(FixedK(clients_per_round=k), group, minimum).limit(1).admit(ranked)
    best = max(
        utility[list(chosen)].sum()
        for chosen in combinations(available, min(k, len(available)))
        if all(np.sum(group[list(chosen)] == g) >= m for g, m in enumerate(needed))
    )
    assert len(set(picked)) == len(picked) == min(k, len(available))
    assert utility[picked].sum() == best


def test_in_a_poor_round_the_first_groups_come_first() -> None:
    """K_t is 1, 2, 3 in turn, with a minimum of one client for each of three groups."""
    constraint = GroupMinimum(CycleK("1,2,3"), np.array([0, 1, 2, 2]), (1, 1, 1))
    ranked = np.array([3, 2, 1, 0])
    admitted = [constraint.limit(t).admit(ranked).tolist() for t in (1, 2, 3)]
    assert admitted == [[0], [1, 0], [3, 1, 0]]


@pytest.mark.parametrize(
    ("group", "minimum", "message"),
    [
        ([0, 1], (2, 2), "group_minimum = 2,2: .*at most K, 3"),
        ([0, 1], (-1, 2), "group_minimum = -1,2"),
        ([0, 2], (1, 1), r"integers in -1\.\.1"),
    ],
)
def test_minimums_that_never_fit_are_refused(
    group: list[int], minimum: tuple[int, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        GroupMinimum(FixedK(clients_per_round=3), np.array(group), minimum)
