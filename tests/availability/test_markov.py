"""Two-state chains and processes made of them; batteries, chains of several states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import (
    Battery,
    BatteryConfig,
    FourClassesConfig,
    Markov,
    MarkovClustersConfig,
    MarkovTransitionConfig,
)
from f3ast_tff.availability.markov import least_eigenvalue
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.configuration import Settings
from tests.availability.effects import EIGENVALUE, PI, masks

CLUSTER_PI = np.array([0.9] * 5 + [0.1] * 5)
CLUSTER_EIGENVALUES = np.array([0, 0, 0, 0, 0, 0.5, 0.6, 0.7, 0.8, 0.9])


def test_transition_frequencies_are_those_of_eq_236() -> None:
    """Active follows inactive with probability (1 - lambda) pi, and active with that plus lambda.

    8 chains per pair of values, 4000 rounds; frequencies over m visits deviate by
    sqrt(p (1 - p) / m).
    """
    seen = masks(Markov(np.repeat(PI, 8), np.repeat(EIGENVALUE, 8), seed=2), 4000)
    for kind, (pi, eigenvalue) in enumerate(zip(PI, EIGENVALUE)):
        before = seen[:-1, 8 * kind : 8 * kind + 8]
        after = seen[1:, 8 * kind : 8 * kind + 8]
        for state, p in ((0, (1 - eigenvalue) * pi), (1, eigenvalue + (1 - eigenvalue) * pi)):
            visits = before == state
            if visits.sum():
                p = min(max(p, 0), 1)
                bound = 5 * np.sqrt(p * (1 - p) / visits.sum()) + 1e-12
                assert abs(after[visits].mean() - p) <= bound


def test_clients_are_independent() -> None:
    """4000 rounds with memory 0.2: correlations have variance (1 + 0.04) / (1 - 0.04) / 4000."""
    seen = masks(Markov(np.full(6, 0.5), np.full(6, 0.2), seed=1), 4000).astype(float)
    correlations = np.corrcoef(seen.T) - np.eye(6)
    assert np.abs(correlations).max() < 5 * np.sqrt(1.04 / 0.96 / 4000)


@given(st.floats(0.01, 0.99))
def test_the_least_eigenvalue_is_the_last_that_is_a_chain(pi: float) -> None:
    least = least_eigenvalue(np.array([pi]))
    Markov(np.array([pi]), least, 0)
    with pytest.raises(ValueError, match=r"eigenvalue\[0\]"):
        Markov(np.array([pi]), least - 0.01, 0)


@pytest.mark.parametrize(
    ("pi", "eigenvalue", "message"),
    [
        ([0.5], 0.0, r"shape \(2,\), pi \(1,\)"),
        (0.9, -0.2, r"eigenvalue\[1\] = -0.2: must be in \[-0.1111, 1\] for pi\[1\] = 0.9"),
        (0.9, 1.1, r"eigenvalue\[1\] = 1.1"),
        (0.9, float("nan"), r"eigenvalue\[1\] = nan"),
        (1.5, 0.0, r"pi\[1\] = 1.5: must be in \[0, 1\]"),
        (float("nan"), 0.0, r"pi\[1\] = nan"),
    ],
)
def test_what_is_not_a_chain_is_refused(pi: Any, eigenvalue: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Markov(np.array(pi if isinstance(pi, list) else [0.5, pi]), np.array([0.0, eigenvalue]), 0)


def four(num_clients: int, seed: int = 0, **given: Any) -> tuple[np.ndarray, Markov]:
    """Returns the class of each client, and the chains."""
    config = FourClassesConfig(**given)
    return config.draw(num_clients, seed)[0], config.build(np.ones(num_clients), seed)


def test_the_papers_population() -> None:
    """100 clients, g = 0.4, nu = 0.9, eps = 0.01: pi is 0.9 or 0.1, and lambda 0.9 or near 0."""
    client_class, process = four(100, markov_order="blocks")
    assert client_class.tolist() == [0] * 25 + [1] * 25 + [2] * 25 + [3] * 25
    np.testing.assert_allclose(process.pi, [0.9] * 50 + [0.1] * 50)
    correlated = client_class % 2 == 0
    np.testing.assert_allclose(process.eigenvalue[correlated], 0.9)
    weak = process.eigenvalue[~correlated]
    assert np.abs(weak).max() < 5 * 0.01
    assert 0.005 < weak.std() < 0.015
    assert not process.positively_correlated


@pytest.mark.parametrize("n", [1, 4, 6, 99])
def test_quarters_as_equal_as_can_be(n: int) -> None:
    sizes = np.bincount(four(n)[0], minlength=4)
    assert sizes.max() - sizes.min() <= 1


def test_classes_are_given_at_random() -> None:
    """Class sizes equal those of blocks.

    Of the first 100 of 200 ids, 50 +- 3.5 (hypergeometric) are more available.
    """
    (blocks, _), (drawn, process) = four(200, 3, markov_order="blocks"), four(200, 3)
    assert sorted(drawn) == blocks.tolist()
    assert abs(int((process.pi[:100] > 0.5).sum()) - 50) < 4.5 * 3.6
    np.testing.assert_array_equal(process.pi > 0.5, drawn < 2)
    assert np.any(four(200, 4)[0] != drawn)


@pytest.mark.parametrize("order", ["shuffled", "blocks"])
def test_three_classes_have_no_more_available_client_that_is_correlated(order: str) -> None:
    """The released code's [[0, 1/2], [1/4, 1/4]]: class 0 joins class 1; the other classes stay."""
    (class_of_four, with_four), (class_of_three, with_three) = (
        four(100, 5, markov_order=order, markov_classes=c) for c in ("four", "three")
    )
    assert np.bincount(class_of_three, minlength=4).tolist() == [0, 50, 25, 25]
    moved = class_of_four == 0
    np.testing.assert_array_equal(class_of_three[~moved], class_of_four[~moved])
    np.testing.assert_array_equal(with_three.pi, with_four.pi)
    np.testing.assert_array_equal(with_three.eigenvalue[~moved], with_four.eigenvalue[~moved])
    assert np.abs(with_three.eigenvalue[moved]).max() < 5 * 0.01


def test_a_wide_spread_stays_within_what_chains_can_have() -> None:
    _, process = four(400, markov_epsilon=0.5)
    assert process.eigenvalue.min() == pytest.approx(-1 / 9)
    assert process.eigenvalue.max() <= 1


def test_the_papers_ten_clusters() -> None:
    process = MarkovClustersConfig().build(np.ones(100), 0)
    assert process.group.tolist() == [k // 10 for k in range(100)]
    np.testing.assert_allclose(process.stationary, np.repeat(CLUSTER_PI, 10))
    np.testing.assert_allclose(process.eigenvalue, np.repeat(CLUSTER_EIGENVALUES, 10), atol=1e-12)


def test_a_cluster_moves_as_one_and_clusters_apart() -> None:
    """Clients of a cluster agree in every round; the clusters are the chains of `Markov`."""
    process = MarkovClustersConfig().build(np.ones(40), 3)
    chains = Markov(CLUSTER_PI, CLUSTER_EIGENVALUES, seed=3)
    seen = np.array([process.mask(t) for t in range(1, 200)])
    assert np.array_equal(seen[:, ::4], [chains.mask(t) for t in range(1, 200)])
    for client in range(40):
        assert np.array_equal(seen[:, client], seen[:, client // 4 * 4])


@pytest.mark.parametrize(
    ("pi", "eigenvalues", "message"),
    [
        ("0.5,0.5", "0.1", "cluster_eigenvalues = 0.1: must be as many values as cluster_pi has"),
        ("0.5,2", "0.1,0.1", r"pi\[1\] = 2.0: must be in \[0, 1\]"),
        ("0.9", "-0.5", r"must be in \[-0.1111, 1\]"),
        ("0.5,half", "0,0", "cluster_pi = 0.5,half: must be numbers"),
        ("", "0", "cluster_pi = : must be numbers"),
    ],
)
def test_clusters_that_are_no_chains_are_refused(pi: str, eigenvalues: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MarkovClustersConfig(pi, eigenvalues).check(Settings.of({}))


def test_eigenvalues_by_hand() -> None:
    """a = 0.05: pi = 0.1 gives b = 0.45, lambda = 0.5; pi = 0.5 gives b = 0.05, lambda = 0.9.

    pi = 0.02 would give b = 2.45. Then b becomes 1 and a = 0.05 / 2.45 = 0.02 / 0.98, so
    lambda = -0.02 / 0.98. pi = 1 gives b = 0, lambda = 0.95. A chain with pi = 0 never leaves 0:
    a = 0, b = 1, lambda = 0.
    """
    found = MarkovTransitionConfig(0.05).chains(np.array([0.1, 0.5, 0.02, 1.0, 0.0]), 0)
    np.testing.assert_allclose(found.eigenvalue, [0.5, 0.9, -0.02 / 0.98, 0.95, 0.0], atol=1e-12)


def test_a_battery_by_hand() -> None:
    """h = 1, c = 3: a client with e units before round 1 is available in rounds 3 - e, 6 - e, ...

    Without arrivals it is never available; at c = 1 in each round with an arrival.
    """
    seen = masks(Battery(np.ones(50), 0, 3), 9)
    first = seen.argmax(axis=0)
    assert set(first) == {0, 1, 2}
    assert np.array_equal(seen, (np.arange(9)[:, None] - first) % 3 == 0)
    assert not masks(Battery(np.zeros(50), 0, 3), 9).any()
    assert masks(Battery(np.ones(50), 0, 1), 9).all()


def test_gaps_of_a_battery_are_negative_binomial() -> None:
    """c = 2, h = 0.3: P(gap = 2) = h^2, P(gap = 3) = 2 h^2 (1 - h).

    Frequencies of m gaps deviate by sqrt(p (1 - p) / m).
    """
    seen = masks(Battery(np.full(60, 0.3), 2, 2), 1500)
    gaps = np.concatenate([np.diff(np.flatnonzero(column)) for column in seen.T])
    for size, p in ((1, 0.0), (2, 0.09), (3, 2 * 0.09 * 0.7)):
        assert abs(np.mean(gaps == size) - p) <= 5 * np.sqrt(p * (1 - p) / len(gaps))


def test_arrivals_between_the_bounds() -> None:
    """h_k ~ U(0.2, 0.4): of 2000 clients the extremes lie within 0.005 of the bounds."""
    h = BatteryConfig(5, 0.2, 0.4).build(np.ones(2000), 0).h
    assert 0.2 <= h.min() < 0.205 and 0.395 < h.max() <= 0.4
    with pytest.raises(ParameterError, match=r"battery_least_h = 0.5: must be at most"):
        BatteryConfig(5, 0.5, 0.4).check(Settings.of({}))
