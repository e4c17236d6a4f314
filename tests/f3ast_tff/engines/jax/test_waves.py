"""Lanes and bounds of an engine's waves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from f3ast_tff.engines.jax.packing import pack
from f3ast_tff.engines.jax.waves import LANES_FILE, Waves, default_lanes
from f3ast_tff.local_training import LocalTraining
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import ResNet18, SoftmaxRegression
from f3ast_tff.preprocessing import AsStored

STEPS = np.array([3, 32, 0, 7])


def test_one_lane_on_a_cpu_has_no_bounds() -> None:
    assert Waves.of("cpu", 1, 3, STEPS, False) == Waves(1, 3)
    for platform, lanes in [("gpu", 1), ("cpu", 2)]:
        assert Waves.of(platform, lanes, 3, STEPS, False) == Waves(lanes, 3, steps=32)


def test_clients_of_equal_size_need_no_mask() -> None:
    """A client without examples has no lane, unless there is a memory."""
    steps = np.array([5, 5, 0, 5])
    assert Waves.of("gpu", 2, 3, steps, False).equal_steps
    assert not Waves.of("gpu", 2, 3, steps, True).equal_steps
    assert not Waves.of("gpu", 2, 3, STEPS, False).equal_steps
    # Whatever the cohort.
    assert Waves(2, 3, 5, equal_steps=True).padded(1, 0) == (2, 5)


def test_bounds_are_few_and_at_most_the_root_of_2_too_large() -> None:
    form = Waves(2, 3, 32)
    bounds = [form.padded(1, steps)[1] for steps in range(1, 33)]
    assert all(steps <= bound < 2**0.5 * steps + 1 for steps, bound in enumerate(bounds, 1))
    assert sorted(set(bounds)) == [1, 2, 4, 6, 8, 12, 16, 23, 32]
    # 3 clients in 2 lanes are 2 waves; a larger cohort than was said has more.
    assert [form.padded(waves, 1)[0] for waves in (0, 1, 2, 5)] == [2, 2, 2, 5]


def test_waves_of_one_length() -> None:
    """Steps 3, 10, 4, 9 in two lanes: two waves of 10 steps, and a lane keeps its own."""
    offsets = np.cumsum([0, 12, 40, 16, 36])
    form = Waves(2, 4, 10)
    packed = pack(Cohort(np.arange(4), np.ones(4)), LocalTraining(4), AsStored(), 1, offsets, form)
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
    """On an accelerator; a model that is not there has as many as the largest cohort."""
    model: Any = ResNet18()
    assert default_lanes(platform, model, 10, table) == lanes
    if platform == "gpu":
        assert default_lanes(platform, SoftmaxRegression(5, 3), 10, table) == 10


def test_the_table_holds_numbers_of_lanes() -> None:
    table = json.loads(LANES_FILE.read_text())
    assert all(isinstance(lanes, int) and lanes > 0 for lanes in table.values())
