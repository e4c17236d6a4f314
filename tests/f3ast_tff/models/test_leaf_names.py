"""Names and kinds of the leaves of each model, and the leaves that a text names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models import (
    CharacterLSTM,
    CharacterTransformer,
    PureModel,
    ResNet18,
    SmallCNN,
    SoftmaxRegression,
    TrainingFunction,
)
from f3ast_tff.models.leaf_patterns import chosen_leaves
from f3ast_tff.models.leaves import BUFFER, PARAMETER, PRIVATE, LeafKinds, kinds_of, names_of

MODELS: dict[str, Any] = {
    "softmax": SoftmaxRegression(3, 2),
    "cnn": SmallCNN((4, 8), (16,), (28, 28, 1)),
    "strided": ResNet18("strided"),
    "released": ResNet18("released"),
    "lstm": CharacterLSTM(units=4),
    "transformer": CharacterTransformer(width=8),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_each_array_has_a_name_of_its_own(model: Any) -> None:
    names, weights = names_of(model), model.initial_weights(0)
    assert len(names) == len(set(names)) == len(weights)
    for name, weight in zip(names, weights):
        assert name.endswith(("kernel", "recurrent", "embedding")) == (weight.ndim > 1)
    head = chosen_leaves("head", names, len(names))
    assert [names[leaf] for leaf in head] == ["head.kernel", "head.bias"]


@pytest.mark.long
@pytest.mark.parametrize("variant", ["strided", "released"])
def test_the_norms_of_a_resnet_are_all_arrays_but_kernels_and_the_last_bias(variant: str) -> None:
    model = ResNet18(variant)
    names, weights = names_of(model), model.initial_weights(0)
    norms = chosen_leaves("norm", names, len(names))
    assert norms == [i for i, weight in enumerate(weights[:-1]) if weight.ndim == 1]
    scales = chosen_leaves("scale", names, len(names))
    assert all((weights[leaf] == 1).all() for leaf in scales) and len(scales) == len(norms) // 2


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("head", [4, 5]),
        ("conv", [0, 1, 2, 3]),
        ("conv2", [2, 3]),
        ("conv1.bias", [1]),
        ("bias", [1, 3, 5]),
        ("head.bias, 0", [0, 5]),
        ("3,3", [3]),
    ],
)
def test_a_text_names_leaves(text: str, places: list[int]) -> None:
    names = names_of(SmallCNN((4, 8), (), (28, 28, 1)))
    assert chosen_leaves(text, names, 6) == places


@pytest.mark.parametrize("text", ["", " ", "head,", "6", "-1", "con", "head.", "kernel.head"])
def test_a_text_that_names_none_is_refused(text: str) -> None:
    names = names_of(SmallCNN((4, 8), (), (28, 28, 1)))
    with pytest.raises(ParameterError, match=r"among conv, kernel, bias, head, .* from 0 to 5"):
        chosen_leaves(text, names, 6)


def test_many_names_are_not_all_said() -> None:
    names = names_of(MODELS["strided"])
    with pytest.raises(ParameterError, match="names such as head.bias, or numbers") as refused:
        chosen_leaves("layer", names, len(names))
    assert len(str(refused.value)) < 200


def test_a_pytree_names_its_leaves_by_their_paths() -> None:
    tree = {"params": {"Dense_0": [np.zeros(2), np.zeros(3)], "Dense_1": (np.zeros(4),)}}
    names = names_of(PureModel(lambda seed: tree, lambda weights, x: x))
    assert names == ["params.Dense_0.0", "params.Dense_0.1", "params.Dense_1.0"]
    assert chosen_leaves("Dense_1", names, 3) == [2]
    assert chosen_leaves("Dense", names, 3) == [0, 1, 2]


def test_a_model_without_names_has_numbers() -> None:
    function = TrainingFunction(lambda seed: [np.zeros(1)], lambda *_: None, lambda *_: None)
    assert names_of(function) == names_of(object()) == []
    assert chosen_leaves("1,0", [], 2) == [0, 1]


NAMES = ("fc.weight", "bn1.weight", "bn1.running_mean", "bn1.running_var")
WEIGHTS = [np.zeros(size) for size in (6, 2, 2, 2)]


def of_leaves(leaves: tuple[str, ...] = NAMES, **more: Any) -> TrainingFunction:
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
    assert kinds_of(of_leaves(leaves), WEIGHTS).leaves(BUFFER) == tuple(buffers)


@pytest.mark.parametrize(
    ("declared", "buffers"),
    [(["bn1", 0], (0, 1, 2, 3)), ((), ()), ([3], (3,)), (["weight"], (0, 1))],
)
def test_declared_buffers_take_the_place_of_known_names(declared: Any, buffers: Any) -> None:
    assert kinds_of(of_leaves(buffer_leaves=declared), WEIGHTS).leaves(BUFFER) == buffers


@pytest.mark.parametrize("declared", ["bn1", [4], [-1], [True], ["bn2"], [None], 3])
def test_what_names_no_leaf_is_refused(declared: Any) -> None:
    with pytest.raises(ParameterError, match="^buffer_leaves = "):
        kinds_of(of_leaves(buffer_leaves=declared), WEIGHTS)


def test_a_private_buffer_is_private() -> None:
    kinds = kinds_of(of_leaves(), WEIGHTS, private="running_mean, fc")
    assert kinds.kinds == (PRIVATE, PARAMETER, PRIVATE, BUFFER)
    assert kinds.ranges(PRIVATE) == ((0, 6), (8, 10)) and kinds.ranges(BUFFER) == ((10, 12),)


def test_ranges_join_leaves_side_by_side_and_leave_out_empty_ones() -> None:
    sizes = (2, 0, 3, 4, 1)
    assert LeafKinds((PARAMETER, BUFFER, *[PARAMETER] * 3), sizes).ranges(BUFFER) == ()
    kinds = LeafKinds((BUFFER, PARAMETER, BUFFER, PARAMETER, BUFFER), sizes)
    assert kinds.ranges(BUFFER) == ((0, 5), (9, 10))
