"""Packing clients into lanes: each batch once, in order, and no padding with one lane."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored, ImageCrops, Preprocessing
from f3ast_tff.engines.jax.packing import (
    LANES_FILE,
    PackedCohort,
    PackedWork,
    Waves,
    default_lanes,
    pack,
)
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import ResNet18, SoftmaxRegression

STEPS = np.array([3, 32, 0, 7])


def packed_cohort(
    cohort: Cohort,
    sizes: Sequence[int],
    form: Waves,
    work: LocalTraining | None = None,
    preprocessing: Preprocessing | None = None,
    round_number: int = 1,
) -> PackedCohort:
    """Packs clients of these sizes, by default in batches of 4."""
    return pack(
        cohort,
        work or LocalTraining(4),
        preprocessing or AsStored(),
        round_number=round_number,
        offsets=np.cumsum([0, *sizes]),
        form=form,
    )


def clients_of(packed: PackedWork) -> list[tuple[float, np.ndarray]]:
    """Reads the weight and the batches of each client from the waves."""
    found = []
    for w in range(packed.num_waves):
        for lane in range(packed.rows.shape[1]):
            here = slice(packed.first[w], packed.first[w] + packed.steps[w, lane])
            visits = np.concatenate([packed.rows[here, lane, :, None], packed.draws[here, lane]], 2)
            if packed.steps[w, lane]:
                found.append((float(packed.weight[w, lane]), visits))
    return found


@settings(max_examples=60)
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
    packed, member, _ = packed_cohort(cohort, sizes, Waves(lanes), work, inputs, 9)
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
        for batch, own in zip(batches, expected):
            rows = np.resize(own, work.batch_size)
            filled = np.arange(work.batch_size) >= len(own)
            np.testing.assert_array_equal(batch[:, 0], np.where(filled, -1 - rows, rows))
        visited = np.concatenate(batches)
        visited = visited[visited[:, 0] >= 0]
        np.testing.assert_array_equal(visited[:, 0], np.concatenate(expected))
        np.testing.assert_array_equal(visited[:, 1:], drawn)
    there = member >= 0
    assert sorted(member[there]) == trained
    np.testing.assert_array_equal(packed.weight[there], weights[member[there]])
    np.testing.assert_array_equal(packed.steps[there], steps[member[there]])
    assert packed.num_idle == len(sizes) - len(trained)
    assert packed.idle_weight == sum(weights[k] for k in range(len(sizes)) if steps[k] == 0)
    if lanes == 1:
        assert np.count_nonzero((packed.rows >= 0).any(axis=2)) == steps.sum()
    assert np.all(packed.steps[packed.num_waves :] == 0)


def test_clients_of_about_equal_length_share_a_wave() -> None:
    """Steps 3, 10, 4, 9 in two lanes: 10 is beside 9, then 4 beside 3."""
    cohort = Cohort(np.arange(4), np.ones(4))
    packed = packed_cohort(cohort, [12, 40, 16, 36], Waves(2)).work
    assert packed.num_waves == 2
    np.testing.assert_array_equal(packed.steps[:2], [[10, 9], [4, 3]])
    np.testing.assert_array_equal(packed.first[:2], [0, 10])


def test_a_repeated_client_is_trained_once() -> None:
    cohort = Cohort(np.array([1, 2, 0, 1, 2, 1]), np.arange(1.0, 7.0))
    packed, member, _ = packed_cohort(cohort, [4, 8, 0], Waves(1))
    assert packed.num_waves == 2
    np.testing.assert_array_equal(packed.steps[:2, 0], [2, 1])
    np.testing.assert_array_equal(packed.times[:2, 0], [3, 1])
    np.testing.assert_array_equal(packed.weight[:2, 0], [1 + 4 + 6, 3])
    np.testing.assert_array_equal(member[:2, 0], [0, 2])
    assert (packed.num_idle, packed.idle_weight) == (2, 2 + 5)


@pytest.mark.parametrize(("steps", "length"), [(1, 64), (64, 64), (65, 256), (1000, 1024)])
def test_lengths_are_few(steps: int, length: int) -> None:
    cohort = Cohort(np.array([0]), np.ones(1))
    packed = packed_cohort(cohort, [steps], Waves(1), LocalTraining(1)).work
    assert packed.rows.shape[0] == length


def test_one_lane_on_a_cpu_has_no_bounds() -> None:
    assert Waves.of("cpu", 1, 3, STEPS, False) == Waves(1, 3)
    for platform, lanes in [("gpu", 1), ("cpu", 2)]:
        assert Waves.of(platform, lanes, 3, STEPS, False) == Waves(lanes, 3, steps=32)


def test_clients_of_equal_size_need_no_mask() -> None:
    """A client without examples only has a lane with a memory."""
    steps = np.array([5, 5, 0, 5])
    assert Waves.of("gpu", 2, 3, steps, False).equal_steps
    assert not Waves.of("gpu", 2, 3, steps, True).equal_steps
    assert not Waves.of("gpu", 2, 3, STEPS, False).equal_steps
    # For any cohort.
    assert Waves(2, 3, 5, equal_steps=True).padded(1, 0) == (2, 5)


def test_bounds_are_few_and_at_most_the_root_of_2_too_large() -> None:
    form = Waves(2, 3, 32)
    bounds = [form.padded(1, steps)[1] for steps in range(1, 33)]
    assert all(steps <= bound < 2**0.5 * steps + 1 for steps, bound in enumerate(bounds, 1))
    assert sorted(set(bounds)) == [1, 2, 4, 6, 8, 12, 16, 23, 32]
    # 3 clients in 2 lanes are 2 waves; a cohort larger than announced has more.
    assert [form.padded(waves, 1)[0] for waves in (0, 1, 2, 5)] == [2, 2, 2, 5]


def test_waves_of_one_length() -> None:
    """Steps 3, 10, 4, 9 in two lanes: two waves of 10 steps, with each lane's number of steps."""
    cohort = Cohort(np.arange(4), np.ones(4))
    packed = packed_cohort(cohort, [12, 40, 16, 36], Waves(2, 4, 10)).work
    assert packed.rows.shape == (20, 2, 4)
    np.testing.assert_array_equal(packed.first, [0, 10])
    np.testing.assert_array_equal(packed.steps, [[10, 9], [4, 3]])
    busy = (packed.rows >= 0).any(axis=2)
    np.testing.assert_array_equal(busy.sum(axis=0), [14, 12])
    assert busy[:10, 0].all() and busy[10:14, 0].all() and busy[10:13, 1].all()


@pytest.mark.parametrize(
    ("platform", "table", "lanes"),
    [("cpu", {"ResNet18": 4}, 1), ("gpu", {"ResNet18": 4}, 4), ("gpu", {"ResNet18": 40}, 10)],
)
def test_lanes_come_from_the_table(platform: str, table: dict[str, int], lanes: int) -> None:
    """On an accelerator; a model missing from the table has as many lanes as the largest cohort."""
    model: Any = ResNet18()
    assert default_lanes(platform, model, 10, table) == lanes
    if platform == "gpu":
        assert default_lanes(platform, SoftmaxRegression(5, 3), 10, table) == 10


def test_the_table_holds_numbers_of_lanes() -> None:
    table = json.loads(LANES_FILE.read_text())
    assert all(isinstance(lanes, int) and lanes > 0 for lanes in table.values())
