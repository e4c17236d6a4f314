"""Properties shared by all availability processes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.availability import (
    AvailabilityProcess,
    Battery,
    HomeDevicesConfig,
    IndependentAvailability,
    Markov,
    MinimumSeparation,
    NonStationary,
    Renewal,
)
from f3ast_tff.availability.draws import LEAN_FROM
from f3ast_tff.availability.process import stationary_of
from f3ast_tff.availability.spell_laws import Weibull
from f3ast_tff.core.errors import ComponentError
from tests.availability.effects import EIGENVALUE, PI, Q, masks


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


HEAVY = Weibull(0.5, 2.0)
# Processes that remember, made of a seed and of a cost or separation.
REMEMBERING: dict[str, Callable[[int, int], AvailabilityProcess]] = {
    "markov": lambda seed, _: Markov(PI, EIGENVALUE, seed),
    "battery": lambda seed, size: Battery(Q, seed, size + 1),
    "minimum_separation": lambda seed, size: MinimumSeparation(Q, seed, size),
    "renewal": lambda seed, size: Renewal(6, HEAVY, Weibull(0.4, 1.0 + size), seed),
}


@pytest.mark.long
@pytest.mark.parametrize("make", REMEMBERING.values(), ids=REMEMBERING)
@settings(max_examples=25)
@given(
    order=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    seed=st.integers(0, 5),
    size=st.integers(0, 6),
)
def test_any_order_of_rounds_gives_the_same_masks(
    make: Callable[[int, int], AvailabilityProcess], order: list[int], seed: int, size: int
) -> None:
    """Continuing from the last mask and finding a past round agree; callers get copies."""
    in_order = masks(make(seed, size), 60)
    process = make(seed, size)
    for t in order:
        process.mask(t)[:] ^= True
        assert np.array_equal(process.mask(t), in_order[t - 1])


@pytest.mark.parametrize(
    ("process", "pi"),
    [
        (Markov(np.full(20_000, 0.3), np.full(20_000, 0.9), seed=0), 0.3),
        *((Battery(np.full(20_000, h), 0, 4), h / 4) for h in (0.3, 1.0)),
        *((MinimumSeparation(np.full(20_000, q), 0, 4), q / (1 + 4 * q)) for q in (0.3, 1.0)),
        (Renewal(20_000, HEAVY, Weibull(0.5, 3.0), seed=0), 0.4),
    ],
)
def test_every_round_has_the_stationary_law(process: AvailabilityProcess, pi: float) -> None:
    """20,000 clients have the law from round 1 on without warming up."""
    np.testing.assert_allclose(process.stationary, pi)
    for t in (1, 2, 3, 6, 10, 20, 50):
        assert abs(process.mask(t).mean() - pi) < 5 * np.sqrt(pi * (1 - pi) / 20_000)


@pytest.mark.parametrize(
    "process",
    [Markov(np.full(50, 0.3), np.full(50, 0.9), 1), MinimumSeparation(np.full(50, 0.1), 1, 5)],
)
def test_a_far_round_is_found_without_all_before(process: AvailabilityProcess) -> None:
    """Round 10^9 costs as much as round 10^3, because the past is forgotten.

    Memory 0.9 fades in some hundred rounds. At q = 0.1 five refusals in a row come soon.
    """
    expected = process.mask(10**9)
    process.mask(10**9 - 1)
    assert np.array_equal(process.mask(10**9), expected)


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


@pytest.mark.parametrize(
    ("stationary", "says"), [(np.full(3, 0.5), "has shape .3,."), (np.full(4, 2.0), "has others")]
)
def test_a_stationary_that_is_none_is_refused(stationary: np.ndarray, says: str) -> None:
    process = SimpleNamespace(num_clients=4, stationary=stationary)
    with pytest.raises(ComponentError, match=rf"stationary must be probabilities \[4\], {says}"):
        stationary_of(process)  # type: ignore[arg-type]
