"""The rate region: oracles compared with each other, r* by hand and from F3AST, policies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.core.policies import Policy
from f3ast_tff.core.rates import OBJECTIVES, ParticipationRates, variance_bound
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.rate_region import (
    AvailabilityStates,
    IndependentOracle,
    LinearProgramOracle,
    StatesOracle,
    cluster_states,
    configurations,
    greedy_policy,
    independent_states,
    monte_carlo_error,
    optimal_rates,
    policy_achieving,
    policy_for,
    reach,
    sampled_states,
)
from tests.f3ast_tff.methods.small_world import played

pytest.importorskip("scipy")
# SciPy 1.9 calls a function that NumPy 1.25 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")

SYSTEM = st.lists(
    st.tuples(st.floats(0.05, 1), st.floats(0.1, 1), st.floats(0.01, 1)), min_size=2, max_size=4
)
HALF = np.array([0.5, 0.5])
TABLE_ONE = np.array([0.375, 0.8])


def expected_rates(policy: Policy, states: AvailabilityStates, draws: int) -> np.ndarray:
    """Simulates a policy on each state: exact over states, sampled over the policy's draws."""
    rng, total = np.random.default_rng(0), np.zeros(states.num_clients)
    for mask, chance, k in zip(states.masks, states.chances, states.k):
        for _ in range(draws):
            total[policy.choose(mask, int(k), rng)] += chance / draws
    return total


@given(SYSTEM, st.integers(1, 3))
@settings(max_examples=12)
def test_oracles_agree(system: list[tuple[float, float, float]], k: int) -> None:
    """The Poisson-binomial law, enumerated states and the linear program give the same vertex."""
    q, _, utility = np.array(system).T
    states = independent_states(q, k)
    exact = IndependentOracle(q, k).best(utility)
    np.testing.assert_allclose(StatesOracle(states).best(utility), exact, atol=1e-12)
    by_program = LinearProgramOracle(configurations(states)).best(utility)
    assert by_program @ utility == pytest.approx(exact @ utility, rel=1e-7)


def test_optimum_of_table_one() -> None:
    """Sec. I: r^b = (0.375, 0.5) is best for equal shares.

    With equal p both cases of eq. (3) are c (1/r1 + 1/r2). Achievable are r1 <= 0.375, r2 <= 0.8,
    r1 + r2 <= 1 - 0.625 * 0.2 = 0.875. H falls in both rates, so r1 + r2 = 0.875. There H is least
    where the rates are closest: client 1 whenever it is available, client 2 otherwise.

    With p = (0.1, 0.9) and p^2, H on r1 + r2 = 0.875 is least for r proportional to p. That point
    meets r2 <= 0.8: r* = (0.0875, 0.7875). For H = sum p / r, r* is proportional to sqrt(p), 1 : 3,
    so r* = (0.21875, 0.65625).
    """
    oracle = IndependentOracle(TABLE_ONE, 1)
    for objective in OBJECTIVES:
        found = optimal_rates(HALF, objective, oracle)
        np.testing.assert_allclose(found.rates, [0.375, 0.5], atol=1e-9)
        assert found.gap <= 1e-9
    uneven = np.array([0.1, 0.9])
    squared = optimal_rates(uneven, "p_squared", oracle, tolerance=1e-8)
    np.testing.assert_allclose(squared.rates, [0.0875, 0.7875], atol=1e-4)
    plain = optimal_rates(uneven, "p", oracle, tolerance=1e-8)
    np.testing.assert_allclose(plain.rates, [0.21875, 0.65625], atol=1e-4)


def test_region_of_table_one() -> None:
    system = configurations(independent_states(TABLE_ONE, 1))
    for r in ([0.375, 0.0], [0.375, 0.5], [0.225, 0.65], [0.075, 0.8]):
        assert reach(np.array(r), system) == pytest.approx(1, rel=1e-9)
    # (1/2, 1/2) t: r1 <= 0.375 allows t = 0.75.
    assert reach(HALF, system) == pytest.approx(0.75, rel=1e-9)


@given(SYSTEM, st.integers(1, 3), st.sampled_from(OBJECTIVES))
@settings(max_examples=12)
def test_optimum_is_achievable_and_no_better_point_is(
    system: list[tuple[float, float, float]], k: int, objective: str
) -> None:
    """By the linear program, r* is on the region's edge, and H >= H(r*) - gap elsewhere."""
    q, p, direction = np.array(system).T
    p = p / p.sum()
    exact = configurations(independent_states(q, k))
    found = optimal_rates(p, objective, IndependentOracle(q, k), tolerance=1e-6)
    assert found.gap <= 1e-6 * found.value
    assert found.value == pytest.approx(variance_bound(found.rates, p, objective))
    assert reach(found.rates, exact) == pytest.approx(1, rel=1e-6)
    other = direction * reach(direction, exact)
    assert variance_bound(other, p, objective) >= found.value - found.gap - 1e-9
    by_program = optimal_rates(p, objective, LinearProgramOracle(exact), tolerance=1e-6)
    assert by_program.value == pytest.approx(found.value, rel=3e-6)


@given(SYSTEM, st.integers(1, 2), st.floats(0.3, 0.99), st.data())
@settings(max_examples=8)
def test_policies_achieve_their_target(
    system: list[tuple[float, float, float]], k: int, inside: float, data: st.DataObject
) -> None:
    """A target inside the region, by program and by greedy mixture: exact over states and orders.

    For a table, expected rates are sums of pi f; for a mixture, chances times vertices.
    """
    q, _, direction = np.array(system).T
    states = independent_states(q, k)
    exact = configurations(states)
    target = inside * reach(direction, exact) * direction
    table = policy_achieving(target, exact)
    achieved = sum(
        pi * chances @ subsets
        for pi, chances, subsets in zip(exact.chances, table.chances, table.subsets)
    )
    np.testing.assert_allclose(achieved, target, atol=1e-6)
    mixture = policy_for(target, StatesOracle(states), tolerance=1e-4)
    vertices = np.array([StatesOracle(states).best(u) for u in mixture.utilities])
    np.testing.assert_allclose(mixture.chances @ vertices, target, atol=1e-4)


def test_mixture_chooses_what_the_oracle_says() -> None:
    """Each order alone, over the states: without random draws the match is exact."""
    states = independent_states(np.array([0.3, 0.6, 0.9, 0.5]), 2)
    found = optimal_rates(np.array([0.4, 0.3, 0.2, 0.1]), "p", StatesOracle(states))
    for utility in found.utilities:
        alone = type(greedy_policy(found))(utility[None], np.ones(1))
        np.testing.assert_allclose(
            expected_rates(alone, states, 1), StatesOracle(states).best(utility), atol=1e-12
        )


def test_targets_outside_the_region_are_refused() -> None:
    states = independent_states(TABLE_ONE, 1)
    with pytest.raises(ValueError, match=r"not achievable; 0\.75 times"):
        policy_achieving(HALF, configurations(states))
    with pytest.raises(ValueError, match=r"0\.125 away from the target"):
        policy_for(HALF, StatesOracle(states))


def test_a_configuration_that_never_comes_selects_nobody() -> None:
    masks = np.array([[True, True], [True, False]])
    states = AvailabilityStates(masks, np.array([1.0, 0.0]), np.array([1, 1]))
    policy = policy_achieving(np.array([0.5, 0.5]), configurations(states))
    rng = np.random.default_rng(0)
    assert len(policy.choose(masks[0], 1, rng)) == 1
    assert len(policy.choose(masks[1], 1, rng)) == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_f3ast_participates_at_the_optimal_rates(seed: int, objective: str) -> None:
    """Theorem III.3 on random systems of five clients: 6000 rounds after 10 / beta.

    The share of rounds has a standard error of at most sqrt(r (1 - r) / 6000), changed somewhat by
    the feedback. A bias of order beta = 0.003 is added.
    """
    rng = np.random.default_rng(seed)
    q, p, beta = rng.uniform(0.2, 0.95, 5), rng.dirichlet(np.full(5, 3)), 0.003
    best = optimal_rates(p, objective, IndependentOracle(q, 2), tolerance=1e-7).rates
    strategy = F3AST.tracking(
        p, ParticipationRates(np.full(5, 0.4), beta), seed=seed, availability_objective=objective
    )
    burn_in, rounds, count = round(10 / beta), 6000, np.zeros(5)
    for t, mask in enumerate(rng.random((burn_in + rounds, 5)) < q):
        ids = played(strategy, t, mask, 2).ids
        if t >= burn_in:
            count[ids] += 1
    error = np.sqrt(best * (1 - best) / rounds)
    assert np.all(np.abs(count / rounds - best) < 4.5 * error + beta)


def test_clusters_on_and_off_together() -> None:
    """One cluster of two clients, available half of the time, K = 1, equal p: r = (1/4, 1/4)."""
    states = cluster_states(np.array([0.5]), np.array([0, 0]), 1)
    np.testing.assert_allclose(
        optimal_rates(HALF, "p", StatesOracle(states)).rates, [0.25, 0.25], atol=1e-6
    )


def test_hours_of_the_day_are_averaged() -> None:
    """Client 0 is available every second hour, client 1 always: r = (1/2, 1/2) at K = 1."""
    oracle = IndependentOracle(np.array([[1.0, 1.0], [0.0, 1.0]]), 1)
    np.testing.assert_allclose(oracle.best(np.array([2.0, 1.0])), [0.5, 0.5])
    np.testing.assert_allclose(oracle.best(np.array([1.0, 2.0])), [0.0, 1.0])


def test_sampled_states_come_with_a_standard_error() -> None:
    """Over 30 samples of 2000 states, H(r*) deviates by the stated error on average.

    The mean square of 30 standard normal deviates is 1, with standard deviation
    sqrt(2 / 30) = 0.26.
    """
    q, p, rng = np.array([0.3, 0.6, 0.9]), np.array([0.5, 0.3, 0.2]), np.random.default_rng(0)
    exact = optimal_rates(p, "p_squared", IndependentOracle(q, 1), tolerance=1e-8).value
    scores = []
    for _ in range(30):
        states = sampled_states(rng.random((2000, 3)) < q, 1)
        found = optimal_rates(p, "p_squared", StatesOracle(states), tolerance=1e-6)
        scores.append((found.value - exact) / monte_carlo_error(p, "p_squared", found, states))
    assert 0.2 < np.mean(np.square(scores)) < 2.3


def test_who_is_never_available_is_named() -> None:
    with pytest.raises(ValueError, match="client 1 is never available"):
        optimal_rates(HALF, "p", IndependentOracle(np.array([0.5, 0.0]), 1))
    # For a client without data it does not matter.
    found = optimal_rates(np.array([1.0, 0.0]), "p", IndependentOracle(np.array([0.5, 0.0]), 1))
    assert found.value == pytest.approx(2)


@pytest.mark.long
def test_many_clients_rarely_served() -> None:
    """200 equal clients, always available, K = 3: r* = 3/200 each, H = 200 (1/200)^2 200 / 3."""
    p = np.full(200, 1 / 200)
    found = optimal_rates(p, "p_squared", IndependentOracle(np.ones(200), 3), tolerance=1e-3)
    assert found.gap <= 1e-3 * found.value
    assert 200 / 3 / 200 <= found.value <= 200 / 3 / 200 * (1 + 1e-3)


def test_selection_from_independent_clients_can_be_positively_correlated() -> None:
    """The proof of (7) says P(j in S | i in S) <= P(j in S): false for K = 2 and this order.

    Clients a and b are available with probability 1/2 each, i and j always. Client i is selected
    unless both a and b are available, client j only if neither is. So P(i) = 3/4, and
    P(j) = 1/4 = P(i and j) > 3/16.
    """
    both, i_selected, j_selected = 0.0, 0.0, 0.0
    for a, b in itertools.product([False, True], repeat=2):
        mask = np.array([[a, b, True, True]])
        rates = StatesOracle(AvailabilityStates(mask, np.ones(1), np.array([2]))).best(
            np.array([4.0, 3.0, 2.0, 1.0])
        )
        i_selected += rates[2] / 4
        j_selected += rates[3] / 4
        both += rates[2] * rates[3] / 4
    assert (i_selected, j_selected) == (0.75, 0.25)
    assert both > i_selected * j_selected


@pytest.mark.parametrize(
    ("masks", "chances", "k", "message"),
    [
        (np.ones((2, 2)), np.full(2, 0.5), np.ones(2, int), "bool"),
        (np.ones((2, 2), bool), np.full(2, 0.6), np.ones(2, int), "sum to 1"),
        (np.ones((2, 2), bool), np.full(2, 0.5), np.array([1, 0]), "at least 1"),
        (np.ones((2, 2), bool), np.full(3, 1 / 3), np.ones(3, int), "one for each mask"),
    ],
)
def test_states_that_make_no_sense_are_refused(
    masks: np.ndarray, chances: np.ndarray, k: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        AvailabilityStates(masks, chances, k)


def test_systems_too_large_for_enumeration_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 20"):
        independent_states(np.full(21, 0.5), 1)
    with pytest.raises(ValueError, match="feasible subsets"):
        configurations(independent_states(np.full(14, 0.5), 7))
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        IndependentOracle(np.array([0.5, np.nan]), 1)


@pytest.mark.long
@pytest.mark.parametrize("objective", ["p", "p_squared"])
def test_choices_of_many_clients_are_kept_sparse_and_are_the_same(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time and memory follow the clients in the choices; ties still go to the lowest id."""
    rng = np.random.default_rng(0)
    masks = rng.random((12, 30)) < 0.4
    masks[0] = True
    states = AvailabilityStates(masks, np.full(12, 1 / 12), rng.integers(1, 6, 12))
    p = rng.integers(1, 4, 30) / 1.0
    p /= p.sum()
    utilities = [np.repeat([1.0, 2.0, -1.0], 10), p, -p]
    dense = optimal_rates(p, objective, StatesOracle(states))
    vertices = [StatesOracle(states).best(utility) for utility in utilities]
    for module in ("oracle", "optimum"):
        monkeypatch.setattr(f"f3ast_tff.rate_region.{module}.MANY_CLIENTS", 10)
    sparse = optimal_rates(p, objective, StatesOracle(states))
    for utility, vertex in zip(utilities, vertices):
        np.testing.assert_allclose(StatesOracle(states).best(utility), vertex, atol=1e-12)
    assert sparse.value == pytest.approx(dense.value, rel=2e-4)
    np.testing.assert_allclose(sparse.rates, dense.rates, atol=0.02)
    mixed = [StatesOracle(states).best(utility) for utility in sparse.utilities]
    np.testing.assert_allclose(sparse.chances @ np.array(mixed), sparse.rates, atol=1e-9)
    bare = optimal_rates(p, objective, StatesOracle(states), with_policy=False)
    assert bare.utilities.shape == (0, 30) and bare.rates.tolist() == sparse.rates.tolist()
