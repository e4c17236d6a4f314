"""Packing clients into lanes: every batch once, in order, nothing padded in one lane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.engines.jax.packing import PackedWork, pack
from f3ast_tff.engines.jax.waves import Waves
from f3ast_tff.local_training import LocalTraining
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.preprocessing import AsStored, ImageCrops


def clients_of(packed: PackedWork) -> list[tuple[float, np.ndarray]]:
    """Reads the waves back: the weight and the batches of each client."""
    found = []
    for w in range(packed.num_waves):
        for lane in range(packed.rows.shape[1]):
            here = slice(packed.first[w], packed.first[w] + packed.steps[w, lane])
            visits = np.concatenate([packed.rows[here, lane, :, None], packed.draws[here, lane]], 2)
            if packed.steps[w, lane]:
                found.append((float(packed.weight[w, lane]), visits))
    return found


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 23), min_size=1, max_size=7),
    lanes=st.integers(1, 5),
    work=st.sampled_from(
        [
            LocalTraining(4),
            LocalTraining(4, epochs=2),
            LocalTraining(5, drop_remainder=True),
            LocalTraining(3, steps=4),
        ]
    ),
)
def test_every_batch_of_every_client_once_and_in_order(
    sizes: list[int], lanes: int, work: LocalTraining
) -> None:
    inputs = ImageCrops(9, 5, seed=4)
    offsets = np.cumsum([0, *sizes])
    weights = np.arange(1.0, len(sizes) + 1)
    cohort = Cohort(np.arange(len(sizes)), weights)
    packed = pack(cohort, work, inputs, 9, offsets, Waves(lanes))
    steps = work.num_batches(np.array(sizes))

    found = sorted(clients_of(packed), key=lambda client: client[0])
    trained = [k for k in range(len(sizes)) if steps[k]]
    assert [weight for weight, _ in found] == [weights[k] for k in trained]
    for k, (_, batches) in zip(trained, found):
        expected = [
            segment[start : start + work.batch_size] + offsets[k]
            for segment in work.order(9, k, sizes[k])
            for start in range(0, len(segment), work.batch_size)
        ]
        assert len(batches) == len(expected) == steps[k]
        drawn = inputs.draws(9, k, work.order(9, k, sizes[k]).shape).reshape(-1, 3)
        visited = np.concatenate(batches)
        visited = visited[visited[:, 0] >= 0]
        np.testing.assert_array_equal(visited[:, 0], np.concatenate(expected))
        np.testing.assert_array_equal(visited[:, 1:], drawn)
    there = packed.member >= 0
    assert sorted(packed.member[there]) == trained
    np.testing.assert_array_equal(packed.weight[there], weights[packed.member[there]])
    np.testing.assert_array_equal(packed.steps[there], steps[packed.member[there]])
    assert packed.num_idle == len(sizes) - len(trained)
    assert packed.idle_weight == sum(weights[k] for k in range(len(sizes)) if steps[k] == 0)
    if lanes == 1:
        assert np.count_nonzero((packed.rows >= 0).any(axis=2)) == steps.sum()
    assert np.all(packed.steps[packed.num_waves :] == 0)


def test_clients_of_about_equal_length_share_a_wave() -> None:
    """Steps 3, 10, 4, 9 in two lanes: 10 beside 9, then 4 beside 3."""
    offsets = np.cumsum([0, 12, 40, 16, 36])
    cohort = Cohort(np.arange(4), np.ones(4))
    packed = pack(cohort, LocalTraining(4), AsStored(), 1, offsets, Waves(2))
    assert packed.num_waves == 2
    np.testing.assert_array_equal(packed.steps[:2], [[10, 9], [4, 3]])
    np.testing.assert_array_equal(packed.first[:2], [0, 10])


def test_a_repeated_client_is_trained_once() -> None:
    offsets = np.cumsum([0, 4, 8, 0])
    cohort = Cohort(np.array([1, 2, 0, 1, 2, 1]), np.arange(1.0, 7.0))
    packed = pack(cohort, LocalTraining(4), AsStored(), 1, offsets, Waves(1))
    assert packed.num_waves == 2
    np.testing.assert_array_equal(packed.steps[:2, 0], [2, 1])
    np.testing.assert_array_equal(packed.times[:2, 0], [3, 1])
    np.testing.assert_array_equal(packed.weight[:2, 0], [1 + 4 + 6, 3])
    np.testing.assert_array_equal(packed.member[:2, 0], [0, 2])
    assert (packed.num_idle, packed.idle_weight) == (2, 2 + 5)


@pytest.mark.parametrize(("steps", "length"), [(1, 64), (64, 64), (65, 256), (1000, 1024)])
def test_lengths_are_few(steps: int, length: int) -> None:
    cohort, offsets = Cohort(np.array([0]), np.ones(1)), np.array([0, steps])
    packed = pack(cohort, LocalTraining(1), AsStored(), 1, offsets, Waves(1))
    assert packed.rows.shape[0] == length
