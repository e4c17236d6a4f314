"""Packing clients into lanes: every batch once, in order, nothing padded in one lane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.engines.packing import PackedWork, pack
from f3ast_tff.local_work import LocalWork
from f3ast_tff.selection import Cohort


def clients_of(packed: PackedWork) -> list[tuple[float, np.ndarray]]:
    """Reads the lanes back: the weight and the batches of each client."""
    found = []
    for lane in range(packed.rows.shape[1]):
        batches: list[np.ndarray] = []
        for t in range(packed.num_steps):
            if packed.first[t, lane]:
                batches = []
            batches.append(packed.rows[t, lane])
            if packed.last[t, lane]:
                found.append((float(packed.last_weight[t, lane]), np.array(batches)))
    return found


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 23), min_size=1, max_size=7),
    lanes=st.integers(1, 5),
    work=st.sampled_from(
        [
            LocalWork(4),
            LocalWork(4, epochs=2),
            LocalWork(5, drop_remainder=True),
            LocalWork(3, steps=4),
        ]
    ),
)
def test_every_batch_of_every_client_once_and_in_order(
    sizes: list[int], lanes: int, work: LocalWork
) -> None:
    offsets = np.cumsum([0, *sizes])
    weights = np.arange(1.0, len(sizes) + 1)
    cohort = Cohort(np.arange(len(sizes)), weights)
    packed = pack(cohort, work, 9, offsets, lanes)
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
        for batch, rows in zip(batches, expected):
            np.testing.assert_array_equal(batch[batch >= 0], rows)
    assert packed.num_idle == len(sizes) - len(trained)
    assert packed.idle_weight == sum(weights[k] for k in range(len(sizes)) if steps[k] == 0)
    if lanes == 1:
        assert packed.num_steps == steps.sum()


def test_the_longest_client_bounds_balanced_lanes() -> None:
    """Steps 10, 4, 3, 3 in two lanes: the three short ones share a lane of length 10."""
    offsets = np.cumsum([0, 40, 16, 12, 12])
    packed = pack(Cohort(np.arange(4), np.ones(4)), LocalWork(4), 1, offsets, 2)
    assert packed.num_steps == 10


@pytest.mark.parametrize(("steps", "length"), [(1, 64), (64, 64), (65, 256), (1000, 1024)])
def test_lengths_are_few(steps: int, length: int) -> None:
    packed = pack(Cohort(np.array([0]), np.ones(1)), LocalWork(1), 1, np.array([0, steps]), 1)
    assert packed.rows.shape[0] == length
