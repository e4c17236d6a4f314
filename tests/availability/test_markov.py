"""Two-state chains: their law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import Markov
from f3ast_tff.availability.markov import least_eigenvalue
from tests.availability.effects import EIGENVALUE, PI, masks


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
