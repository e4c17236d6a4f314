"""Properties shared by all availability processes."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import (
    AvailabilityProcess,
    HomeDevicesConfig,
    IndependentAvailability,
    Markov,
    NonStationary,
)
from f3ast_tff.availability.draws import LEAN_FROM


def masks(process: AvailabilityProcess, rounds: int) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


def test_rounds_and_clients_are_drawn_independently() -> None:
    """q = 1/2, 1500 rounds: correlations of clients, and of successive rounds, are N(0, 1/1500)."""
    drawn = masks(IndependentAvailability(np.full(6, 0.5), seed=2), 1501).astype(float)
    correlations = np.corrcoef(drawn[:-1].T, drawn[1:].T) - np.eye(12)
    assert np.max(np.abs(correlations)) < 5 / np.sqrt(1500)


def test_probabilities_0_and_1_are_certain() -> None:
    process = IndependentAvailability(np.array([0.0, 1.0]), seed=0)
    assert np.array_equal(masks(process, 200), np.tile([False, True], (200, 1)))


def test_the_callers_probabilities_are_copied_and_cannot_be_changed() -> None:
    q = np.array([0.0, 0.0])
    process = IndependentAvailability(q, seed=0)
    q[:] = 1
    assert not process.mask(1).any()
    with pytest.raises(ValueError, match="read-only"):
        process.q[0] = 1


def test_single_precision_asked_for_is_kept() -> None:
    """The frequency is right too: 400,000 draws, standard error 0.0007."""
    process = IndependentAvailability(np.full(1000, 0.3, np.float32), seed=0)
    assert process.q.dtype == np.float32
    assert abs(masks(process, 400).mean() - 0.3) < 5 * 0.0008


LARGE = {
    "home devices": lambda: HomeDevicesConfig().build(np.ones(LEAN_FROM), 0),
    "waves": lambda: NonStationary(np.full(LEAN_FROM, 0.5), 0, np.array([0.7])),
    "waves with a cut": lambda: NonStationary(np.full(LEAN_FROM, 0.5), 0, np.array([0.7]), 0.1),
    "chains": lambda: Markov(np.full(LEAN_FROM, 0.3), np.full(LEAN_FROM, 0.5), 0),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_million_clients_are_held_in_single_precision(name: str) -> None:
    process, again = LARGE[name](), LARGE[name]()
    seen, expected = masks(process, 3), float(np.mean(process.stationary))
    assert np.array_equal(again.mask(3), seen[2])
    assert np.all(np.abs(seen.mean(axis=1) - expected) < 5 * np.sqrt(expected / LEAN_FROM))
    if name != "chains":
        assert process.q.dtype == process.probabilities(3).dtype == np.float32


@pytest.mark.parametrize(
    ("q", "message"),
    [
        *(([0.5, q], rf"q\[1\] = {q}: must be in \[0, 1\]") for q in (-0.1, 1.1, np.nan, np.inf)),
        ([[1.0, 1.0]], r"q has shape \(1, 2\)"),
    ],
)
def test_what_is_not_a_probability_is_refused(q: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IndependentAvailability(np.array(q), seed=0)
