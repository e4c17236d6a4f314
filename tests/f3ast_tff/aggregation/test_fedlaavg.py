"""FedLaAvg and its memory."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.aggregation.fedlaavg import UpdateMemory
from f3ast_tff.errors import ParameterError
from f3ast_tff.selection import Cohort

N, SIZE = 7, 4
P = np.array([0.3, 0.05, 0.1, 0.2, 0.15, 0.12, 0.08])


def random_rounds(rounds: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    cohorts = [rng.permutation(N)[: rng.integers(1, N + 1)] for _ in range(rounds)]
    return [(ids, rng.normal(size=(len(ids), SIZE)).astype(np.float32)) for ids in cohorts]


def test_average_is_that_of_everybodys_latest_update() -> None:
    """Eq. (6), by induction from eq. (4)."""
    memory, latest = UpdateMemory(P, SIZE), np.zeros((N, SIZE))
    for t, (ids, updates) in enumerate(random_rounds(200), start=1):
        correction = memory.correction(t, ids, 1.0)
        absent = np.setdiff1d(np.arange(N), ids)
        np.testing.assert_allclose(correction, P[absent] @ latest[absent], atol=1e-6)
        memory.store(ids, updates, 1.0)
        latest[ids] = updates
        np.testing.assert_allclose(memory.average, P @ latest, atol=1e-12)


def test_nothing_is_missing_when_everybody_takes_part() -> None:
    memory = UpdateMemory(P, SIZE)
    memory.store(np.arange(N), random_rounds(1)[0][1][:1].repeat(N, axis=0), 1.0)
    np.testing.assert_allclose(memory.correction(2, np.arange(N), 1.0), 0, atol=1e-15)


def test_updates_are_remembered_per_learning_rate() -> None:
    """Eq. (5): today's rate times g_t; a decay must not leave old updates at their old size."""
    memory = UpdateMemory(P, SIZE)
    memory.store(np.array([0]), np.full((1, SIZE), 0.5, np.float32), 0.1)
    np.testing.assert_allclose(memory.average, 0.3 * 5)
    np.testing.assert_allclose(memory.correction(2, np.array([1]), 0.02), 0.3 * 5 * 0.02, rtol=1e-6)


def test_before_its_first_round_it_notes_alone() -> None:
    memory = UpdateMemory(P, SIZE, first_round=3)
    memory.store(np.array([0]), np.ones((1, SIZE), np.float32), 1.0)
    np.testing.assert_array_equal(memory.correction(2, np.array([1]), 1.0), 0)
    np.testing.assert_allclose(memory.correction(3, np.array([1]), 1.0), 0.3)


def test_steps_when_empty_from_its_first_round_and_once_there_is_an_update() -> None:
    memory = UpdateMemory(P, SIZE, first_round=3)
    assert not memory.steps_when_empty(3)
    memory.store(np.array([0]), np.ones((1, SIZE), np.float32), 1.0)
    assert [memory.steps_when_empty(t) for t in (2, 3, 4)] == [False, True, True]
    nobody = np.zeros(0, np.int64)
    np.testing.assert_allclose(memory.correction(3, nobody, 0.5), 0.5 * memory.average)


def test_client_twice_in_a_cohort_is_remembered_once() -> None:
    memory = UpdateMemory(P, SIZE)
    memory.store(np.array([2, 0, 2]), np.ones((3, SIZE), np.float32), 1.0)
    np.testing.assert_allclose(memory.average, P[0] + P[2])


def test_cohort_without_a_dropped_client() -> None:
    memory = UpdateMemory(P, SIZE, first_round=3)
    cohort, finite = Cohort(np.array([4, 2]), np.array([0.6, 0.4])), np.array([True, False])
    averaged = memory.without(2, cohort, finite)
    assert averaged.ids.tolist() == [4] and averaged.weights.tolist() == [1.0]
    assert memory.without(3, cohort, finite).weights.tolist() == [0.6]


def test_state_brings_everything_back() -> None:
    memory, other = UpdateMemory(P, SIZE), UpdateMemory(P, SIZE)
    rounds = random_rounds(6)
    for ids, updates in rounds[:5]:
        memory.store(ids, updates, 0.3)
    other.restore({name: value.copy() for name, value in memory.state().items()})
    for both in (memory, other):
        both.store(*rounds[5], 0.3)
    np.testing.assert_array_equal(memory.average, other.average)
    np.testing.assert_array_equal(
        memory.state()["remembered_updates"], other.state()["remembered_updates"]
    )


def test_more_than_the_machine_has_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"num_clients = 7: the latest updates .* GiB, this"):
        UpdateMemory(P, 10**13)
