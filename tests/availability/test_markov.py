"""Two-state chains: their law, and access to any round in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.availability import Markov
from f3ast_tff.availability.markov import least_eigenvalue

PI = np.array([0.9, 0.9, 0.1, 0.1, 0.5, 0.5, 0.3, 0.0, 1.0])
EIGENVALUE = np.array([0.9, 0.0, 0.9, -0.1, -0.8, 1.0, 0.5, 0.5, -0.0])


def masks(process: Markov, rounds: int) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


@settings(max_examples=25)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(0, 5))
def test_any_order_of_rounds_gives_the_same_masks(order: list[int], seed: int) -> None:
    """Continuing from the last mask and finding a past round agree."""
    in_order = masks(Markov(PI, EIGENVALUE, seed), 60)
    process = Markov(PI, EIGENVALUE, seed)
    for t in order:
        assert np.array_equal(process.mask(t), in_order[t - 1])


def test_a_far_round_is_found_without_the_rounds_before() -> None:
    """Memory 0.9 fades in some hundred rounds, so round 10^9 costs as much as round 10^3."""
    process = Markov(np.full(50, 0.3), np.full(50, 0.9), seed=1)
    expected = process.mask(10**9)
    process.mask(10**9 - 1)
    assert np.array_equal(process.mask(10**9), expected)


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


def test_every_round_has_the_stationary_law() -> None:
    """20,000 chains have the law from round 1 on without warming up, in any order of rounds."""
    process = Markov(np.full(20_000, 0.3), np.full(20_000, 0.9), seed=0)
    for t in (1, 2, 3, 50):
        assert abs(process.mask(t).mean() - 0.3) < 5 * np.sqrt(0.21 / 20_000)


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


def test_eigenvalues_are_kept() -> None:
    np.testing.assert_allclose(Markov(PI, EIGENVALUE, 0).eigenvalue, EIGENVALUE, atol=1e-12)


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
