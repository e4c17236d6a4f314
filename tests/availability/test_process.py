"""What all availability processes share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from f3ast_tff.availability import IndependentAvailability
from f3ast_tff.availability.draws import LEAN_FROM
from f3ast_tff.settings import builtin_registry

SHARES = np.arange(1, 21) / 210


def maker(name: str) -> Callable[[int], IndependentAvailability]:
    config = builtin_registry().find("availability", name).config()
    return lambda seed: config.build(SHARES, seed)


MAKERS = {n: maker(n) for n in ("always", "scarce", "home_devices", "smartphones", "uneven")}
each_process = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def masks(process: IndependentAvailability, rounds: int) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


@each_process
def test_available_sets_are_a_function_of_seed_and_round(
    make: Callable[[int], IndependentAvailability],
) -> None:
    """Whoever asks, in whatever order: every method sees the same sets (R13)."""
    forward = masks(make(5), 40)
    process = make(5)
    backward = [process.mask(t) for t in range(40, 0, -1)]
    assert forward.dtype == bool
    assert forward.shape == (40, process.num_clients)
    assert np.array_equal(forward, backward[::-1])


@each_process
def test_another_seed_gives_other_sets(make: Callable[[int], IndependentAvailability]) -> None:
    same = np.array_equal(masks(make(5), 40), masks(make(6), 40))
    assert same == (make is MAKERS["always"])


@each_process
def test_frequencies_are_the_probabilities(
    make: Callable[[int], IndependentAvailability],
) -> None:
    """Over T rounds the count of client k has mean sum_t q_kt, variance sum_t q_kt (1 - q_kt).

    20 clients, each within 5 standard deviations (a chance of 1e-5 that one is not).
    """
    process, rounds = make(1), 1500
    q = np.array([process.probabilities(t) for t in range(1, rounds + 1)])
    counts = masks(process, rounds).sum(axis=0)
    deviation = np.sqrt((q * (1 - q)).sum(axis=0))
    assert np.all(np.abs(counts - q.sum(axis=0)) <= 5 * deviation)


def test_rounds_and_clients_are_drawn_independently() -> None:
    """q = 1/2, 1500 rounds: correlations, of clients and of successive rounds, are N(0, 1/1500)."""
    drawn = masks(IndependentAvailability(np.full(6, 0.5), seed=2), 1501).astype(float)
    correlations = np.corrcoef(drawn[:-1].T, drawn[1:].T) - np.eye(12)
    assert np.max(np.abs(correlations)) < 5 / np.sqrt(1500)


def test_probabilities_0_and_1_are_certain() -> None:
    process = IndependentAvailability(np.array([0.0, 1.0]), seed=0)
    assert np.array_equal(masks(process, 200), np.tile([False, True], (200, 1)))


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), float("inf")])
def test_what_is_not_a_probability_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match=r"q\[1\] = .*must be in \[0, 1\]"):
        IndependentAvailability(np.array([0.5, q]), seed=0)


def test_the_callers_probabilities_are_copied_and_cannot_be_changed() -> None:
    q = np.array([0.0, 0.0])
    process = IndependentAvailability(q, seed=0)
    q[:] = 1
    assert not process.mask(1).any()
    with pytest.raises(ValueError, match="read-only"):
        process.q[0] = 1


@each_process
def test_stationary_is_the_mean_probability_of_a_day(
    make: Callable[[int], IndependentAvailability],
) -> None:
    process = make(2)
    day = np.mean([process.probabilities(t) for t in range(1, 25)], axis=0)
    np.testing.assert_allclose(process.stationary, day)
    assert process.periodic == (make is MAKERS["smartphones"])


def test_single_precision_asked_for_is_kept() -> None:
    """And draws as often: 400,000 draws, standard error 0.0007."""
    process = IndependentAvailability(np.full(1000, 0.3, np.float32), seed=0)
    assert process.q.dtype == np.float32
    assert abs(masks(process, 400).mean() - 0.3) < 5 * 0.0008


@pytest.mark.parametrize("name", ["home_devices", "smartphones"])
def test_a_million_clients_are_held_in_five_bytes_each(name: str) -> None:
    config = builtin_registry().find("availability", name).config()
    process, again = (config.build(np.ones(LEAN_FROM), 0) for _ in range(2))
    assert process.q.dtype == process.probabilities(3).dtype == np.float32
    expected = float(process.probabilities(3).mean())
    assert abs(process.mask(3).mean() - expected) < 5 * np.sqrt(expected / LEAN_FROM)
    assert np.array_equal(process.mask(3), again.mask(3))


def test_probabilities_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"q has shape \(2, 2\)"):
        IndependentAvailability(np.ones((2, 2)), seed=0)


def test_only_smartphones_are_positively_correlated() -> None:
    """Decides the case of eq. (3): a property of the class, known before any is made."""
    correlated = {name for name, make in MAKERS.items() if make(0).positively_correlated}
    assert correlated == {"smartphones"}
