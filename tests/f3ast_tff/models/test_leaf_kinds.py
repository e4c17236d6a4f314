"""Kinds of leaves: buffers by the names that frameworks give, or as declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models import TrainingFunction
from f3ast_tff.models.leaves import BUFFER, PARAMETER, PRIVATE, LeafKinds, kinds_of

NAMES = ("fc.weight", "bn1.weight", "bn1.running_mean", "bn1.running_var")
WEIGHTS = [np.zeros(size) for size in (6, 2, 2, 2)]


def model(leaves: tuple[str, ...] = NAMES, **more: Any) -> TrainingFunction:
    return TrainingFunction(
        lambda seed: WEIGHTS, lambda *_: None, lambda *_: None, **more, leaves=leaves
    )  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("leaves", "buffers"),
    [
        (NAMES, [2, 3]),
        (("a", "num_batches_tracked", "b", "c.1.num_batches_tracked"), [1, 3]),
        (("dense/kernel", "norm_1/moving_mean", "norm_1/moving_variance", "x"), [1, 2]),
        (("batch_stats.BatchNorm_0.mean", "params.Dense_0.bias", "mean", "var"), [0]),
        (("bn/moving_variance:0", "bn0_moving_var", "BatchNorm_0/var", "runningVar"), [0, 1, 2, 3]),
        (("bn/~/var_ema/average", "bn1._variance", "_running_var"), [0, 1, 2]),
        (("normal.mean", "fc_var.weight", "schema.kernel", "LayerNorm_0/scale", "kernel.var"), []),
        (("params.moving.kernel", "params/norm/var", "running_head.weight", "moving.bias"), []),
        (("running.mean", "ema.fc.weight", "ema.kernel", "moving.average"), [0, 1, 2, 3]),
        ((), []),
    ],
)
def test_names_that_frameworks_give_to_buffers(leaves: tuple[str, ...], buffers: list[int]) -> None:
    assert kinds_of(model(leaves), WEIGHTS).leaves(BUFFER) == tuple(buffers)


@pytest.mark.parametrize(
    ("declared", "buffers"),
    [(["bn1", 0], (0, 1, 2, 3)), ((), ()), ([3], (3,)), (["weight"], (0, 1))],
)
def test_declared_buffers_take_the_place_of_known_names(declared: Any, buffers: Any) -> None:
    assert kinds_of(model(buffer_leaves=declared), WEIGHTS).leaves(BUFFER) == buffers


@pytest.mark.parametrize("declared", ["bn1", [4], [-1], [True], ["bn2"], [None], 3])
def test_what_names_no_leaf_is_refused(declared: Any) -> None:
    with pytest.raises(ParameterError, match="^buffer_leaves = "):
        kinds_of(model(buffer_leaves=declared), WEIGHTS)


def test_a_private_buffer_is_private() -> None:
    kinds = kinds_of(model(), WEIGHTS, private="running_mean, fc")
    assert kinds.kinds == (PRIVATE, PARAMETER, PRIVATE, BUFFER)
    assert kinds.ranges(PRIVATE) == ((0, 6), (8, 10)) and kinds.ranges(BUFFER) == ((10, 12),)


def test_ranges_join_leaves_side_by_side_and_leave_out_empty_ones() -> None:
    sizes = (2, 0, 3, 4, 1)
    assert LeafKinds((PARAMETER, BUFFER, *[PARAMETER] * 3), sizes).ranges(BUFFER) == ()
    kinds = LeafKinds((BUFFER, PARAMETER, BUFFER, PARAMETER, BUFFER), sizes)
    assert kinds.ranges(BUFFER) == ((0, 5), (9, 10))
