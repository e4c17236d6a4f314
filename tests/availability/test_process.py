"""Availability processes: shared properties, draws for many clients, checked masks."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

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
from f3ast_tff.availability.draws import (
    LEAN_FROM,
    bernoulli,
    byte_levels,
    gather,
    lean,
    smallest_integers,
)
from f3ast_tff.availability.process import stationary_of
from f3ast_tff.availability.round_clients import available_clients, present_clients
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


# More than two pieces, and no multiple of a byte draw.
MANY = 70_003


@pytest.mark.parametrize("factor", [None, 0.3])
def test_float64_draws_are_those_of_one_call(factor: float | None) -> None:
    q = np.random.default_rng(0).random(MANY)
    expected = np.random.default_rng(5).random(MANY) < q * (factor or 1)
    drawn = bernoulli(q, np.random.default_rng(5), factor=factor)
    assert np.array_equal(drawn, expected)


@pytest.mark.parametrize("factor", [None, 0.5])
@pytest.mark.parametrize("q", [0.0, 1e-4, 1 / 256, 0.2, 0.5, 0.9961, 0.9999, 1.0])
def test_byte_draws_have_the_probability_asked_for(q: float, factor: float | None) -> None:
    """Counts of 200,000 draws deviate by sqrt(n p (1 - p)); probabilities 0 and 1 are certain.

    1e-4 and 0.9999 lie in the first and the last 256th, where only the second draw decides.
    """
    n, p = 200_000, q * (factor or 1)
    drawn = bernoulli(np.full(n, q, np.float32), np.random.default_rng(3), factor=factor)
    assert abs(drawn.sum() - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9


def test_known_levels_change_nothing() -> None:
    q = np.random.default_rng(0).random(MANY).astype(np.float32)
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert np.array_equal(bernoulli(q, one), bernoulli(q, other, byte_levels(q)))


def test_byte_draws_of_clients_and_rounds_are_independent() -> None:
    """Correlations of neighbours, and of two draws, over 70,003 clients: N(0, 1 / 70,003)."""
    q = np.full(MANY, 0.5, np.float32)
    one = bernoulli(q, np.random.default_rng(1)).astype(float)
    two = bernoulli(q, np.random.default_rng(2)).astype(float)
    for first, second in ((one[:-1], one[1:]), (one[:-8], one[8:]), (one, two)):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(MANY)


@given(st.floats(0, 1, width=32))
def test_level_and_rest_make_up_the_probability(q: float) -> None:
    level = int(byte_levels(np.array([q], np.float32))[0])
    assert 0 <= q * 256 - level <= 1


def test_no_client_at_all() -> None:
    for dtype in (np.float32, np.float64):
        assert bernoulli(np.zeros(0, dtype), np.random.default_rng(0)).shape == (0,)


def test_large_populations_are_held_in_half_the_memory() -> None:
    assert lean(np.zeros(10)).dtype == np.float64
    assert lean(np.zeros(10, np.float32)).dtype == np.float32
    assert lean(np.zeros(LEAN_FROM)).dtype == np.float32


def test_gather_is_indexing() -> None:
    rng = np.random.default_rng(0)
    table, index = rng.random(300) < 0.5, smallest_integers(rng.integers(300, size=MANY))
    assert index.dtype == np.uint16
    assert np.array_equal(gather(table, index), table[index])


CLIENTS = 12


def test_nobody_may_change_who_is_available() -> None:
    """The process itself may keep its array, and change it."""
    kept = np.array([True, False])
    process = SimpleNamespace(mask=lambda round_number: kept)
    mask = available_clients(process, 2, 1)
    with pytest.raises(ValueError, match="read-only"):
        mask[1] = True
    kept[1] = True


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        (np.ones(CLIENTS + 1, bool), rf"shape \({CLIENTS + 1},\) and dtype bool"),
        (np.ones((1, CLIENTS), bool), rf"shape \(1, {CLIENTS}\) and dtype bool"),
        (np.ones(CLIENTS), rf"shape \({CLIENTS},\) and dtype float64"),
        ([True] * CLIENTS, "returned list"),
    ],
)
def test_process_whose_mask_is_wrong_is_named(mask: Any, says: str) -> None:
    process = SimpleNamespace(mask=lambda round_number: mask)
    with pytest.raises(ComponentError, match=f"availability SimpleNamespace: mask.* {says}.*must"):
        available_clients(process, CLIENTS, 1)


def test_process_whose_presence_is_wrong_is_named() -> None:
    class Wrong:
        def present(self, round_number: int) -> np.ndarray:
            return np.ones(2)

    with pytest.raises(ComponentError, match=r"Wrong: present\(4\) returned shape \(2,\)"):
        present_clients(Wrong(), 3, 4)
