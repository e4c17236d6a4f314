"""XLA's input for a GPU: each model's whole round, lowered for CUDA without a GPU."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest
from jax import export

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored, ImageCrops
from f3ast_tff.engines.jax.local_sgd import LocalSgd
from f3ast_tff.engines.jax.optimizers import JaxOptimizer
from f3ast_tff.engines.jax.packing import Waves, pack
from f3ast_tff.engines.jax.programs import RoundPrograms
from f3ast_tff.engines.jax.round import FusedRound, RoundInputs
from f3ast_tff.engines.jax.server_step import MemoryInputs, ServerState
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import initial_server
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.scaffold import Scaffold
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.models import CharacterLSTM, ResNet18, SmallCNN, SoftmaxRegression
from f3ast_tff.models.jax_layers.convolution import convolution
from f3ast_tff.models.jax_layers.group_norm import group_norm
from f3ast_tff.models.jax_layers.max_pool import max_pool
from f3ast_tff.models.pure_model import PureModel
from f3ast_tff.optimizers import Adam, Sgd

WORK = LocalTraining(2)
SOFTMAX = SoftmaxRegression(5, 3)


def _layers(weights: Any, x: Any) -> Any:
    """Each kind of layer of ResNet-18."""
    x = group_norm(convolution(x.transpose(1, 2, 0, 3), weights["stem"], 2), *weights["norm"])
    x = max_pool(convolution(x, weights["same"]), 3, 2)
    x = convolution(x, weights["same"], 2) + convolution(x, weights["shortcut"], 2)
    return x.mean(axis=(0, 1)) @ weights["last"]


def _layer_weights(seed: int) -> dict[str, Any]:
    norm = [np.ones(32, "f"), np.zeros(32, "f")]
    shapes = {"stem": (7, 7, 3, 32), "same": (3, 3, 32, 32), "shortcut": (1, 1, 32, 32)}
    kernels = {name: np.ones(shape, "f") for name, shape in shapes.items()}
    return {**kernels, "norm": norm, "last": np.ones((32, 10), "f")}


# Sizes do not change the set of operations.
MODELS: dict[str, tuple[Any, Any, tuple[int, ...], tuple[int, ...]]] = {
    "softmax": (SOFTMAX, AsStored(), (5,), ()),
    "small_cnn": (SmallCNN((2, 3), (4,), (16, 16, 3), 10), AsStored(), (16, 16, 3), ()),
    "layers": (PureModel(_layer_weights, _layers), ImageCrops(32, 24, seed=1), (32, 32, 3), ()),
    "resnet18_strided": (ResNet18("strided", 24, 10), AsStored(), (24, 24, 3), ()),
    "resnet18_released": (ResNet18("released", 24, 10), AsStored(), (24, 24, 3), ()),
    "character_lstm": (CharacterLSTM(units=8), AsStored(), (6,), (6,)),
}
# One lane, as for a loop over clients; several waves; one wave; clients of equal size.
FORMS = {
    "one_lane": (1, (3, 8, 5)),
    "two_lanes": (2, (3, 8, 5)),
    "one_wave": (3, (3, 8, 5)),
    "equal": (3, (8, 8, 8)),
}


def abstract(tree: Any) -> Any:
    """Shapes of a tree of arrays, with the types that JAX gives them."""

    def of(leaf: Any) -> Any:
        dtype = jax.dtypes.canonicalize_dtype(np.asarray(leaf).dtype)
        return jax.ShapeDtypeStruct(np.shape(leaf), dtype)

    return jax.tree_util.tree_map(of, tree)


def lowered(
    name: str,
    form: str | None = "one_wave",
    aggregation: Aggregation | None = None,
    by_client: bool = False,
    precision: str = "highest",
) -> str:
    """Returns the StableHLO of a round for CUDA; without a form, the round's bounds are unknown."""
    model, preprocessing, shape, label_shape = MODELS[name]
    aggregation = aggregation or WeightedMean()
    memory = aggregation.memory
    lanes, sizes = FORMS[form or "one_lane"]
    offsets = np.cumsum([0, *sizes])
    num_steps = WORK.num_batches(np.array(sizes))
    waves = Waves(1)
    if form is not None:
        waves = Waves.of("gpu", lanes, len(sizes), num_steps, every_client=memory is not None)
    client, server = JaxOptimizer(Sgd(0.1)), JaxOptimizer(Adam(0.1))
    sgd = LocalSgd(
        model,
        preprocessing,
        client,
        equal_steps=waves.equal_steps,
        keeps_previous=memory is not None and memory.last_step,
    )
    fused_round = FusedRound(sgd, server, aggregation, waves)
    programs = RoundPrograms(fused_round, precision)

    packed = pack(
        Cohort(np.arange(len(sizes)), np.ones(3)),
        WORK,
        preprocessing,
        round_number=1,
        offsets=offsets,
        form=waves,
    )
    weights = model.initial_weights(0)
    flat = np.concatenate([weight.ravel() for weight in weights])
    kept = {} if memory is None else initial_server(memory, flat, np)
    state = ServerState(weights, server.init(weights), kept)
    dtype = np.int32 if label_shape else np.float32
    features, labels = (
        jax.ShapeDtypeStruct((int(offsets[-1]), *shape), dtype),
        jax.ShapeDtypeStruct((int(offsets[-1]), *label_shape), np.int32),
    )
    inputs = RoundInputs(features, labels, abstract(packed.work), abstract(np.float32(0.1)))
    named: dict[str, Any] = {"by_client": by_client, "tables": {}, "row": None}
    if memory is not None:
        share = np.ones(packed.client.shape, np.float32)
        memory_inputs = abstract(MemoryInputs({}, share, packed.client, np.int32(1), np.int32(3)))
        inputs = inputs._replace(memory_inputs=memory_inputs)
        tables = {n: np.zeros((3, len(flat)), np.float32) for n in memory.vectors}
        named.update(tables=abstract(tables), row=abstract(packed.client))
    exported = export.export(programs.round, platforms=["cuda"])
    program = exported(abstract(state), inputs, abstract(np.float32(3)), **named).mlir_module()
    return re.sub(r" loc\(#loc\d*\)", "", program)


def grouped_convolutions(program: str) -> list[str]:
    return [n for n in re.findall(r"(?:feature|batch)_group_count = (\d+)", program) if n != "1"]


def dynamic_loops(program: str) -> list[str]:
    """Conditions of loops, except comparisons of a counter with a constant.

    The constant is in the condition; with a newer JAX it comes before the loop.
    """
    constant = r"(%\S+) = stablehlo\.constant dense<\d+> : tensor<i32>"
    bound = re.compile(
        rf"(?:\s*{constant})?"
        r"\s*(%\S+) = stablehlo\.compare +LT, %\w+, (%\w+), +SIGNED.*"
        r"\s*stablehlo\.return \2 : tensor<i1>\s*"
    )
    found = []
    for function in program.split("func.func"):
        constants = re.findall(constant, function)
        for condition in re.findall(
            r"stablehlo\.while.*?\bcond \{(.*?)\} do \{", function, re.DOTALL
        ):
            matched = bound.fullmatch(condition)
            if matched is None or matched[3] not in constants:
                found.append(condition)
    return found


def check(program: str) -> None:
    assert "stablehlo" in program
    assert not grouped_convolutions(program)
    assert not dynamic_loops(program)
    # No call leaves XLA, least of all a callback into Python.
    assert "custom_call" not in program


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.startswith("resnet18") else [])
        for name in MODELS
    ],
)
def test_no_grouped_convolution_dynamic_loop_or_callback(name: str) -> None:
    check(lowered(name))


@pytest.mark.long
@pytest.mark.parametrize("form", [*FORMS])
def test_nor_for_another_form_of_waves(form: str) -> None:
    check(lowered("softmax", form, by_client=form != "one_wave"))


def test_nor_with_a_memory_of_clients_which_is_changed_in_place() -> None:
    program = lowered("softmax", "two_lanes", Scaffold("sum"), by_client=True)
    check(program)
    assert "tf.aliasing_output" in program or "jax.buffer_donor" in program


def test_these_checks_find_what_they_look_for() -> None:
    """Loops without bounds, lanes of plain convolutions, and a callback."""
    assert len(dynamic_loops(lowered("softmax", None))) == 2

    def convolve(x: Any, kernel: Any) -> Any:
        return jax.lax.conv(x, kernel, (1, 1), "SAME")

    x, kernels = np.zeros((2, 1, 3, 4, 4), "f"), np.zeros((2, 5, 3, 3, 3), "f")
    by_lane = export.export(jax.jit(jax.vmap(convolve)), platforms=["cuda"])
    assert grouped_convolutions(by_lane(x, kernels).mlir_module()) == ["2"]

    def called(x: Any) -> Any:
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((), np.float32), x)

    assert "custom_call" in jax.jit(called).lower(np.float32(1)).as_text()


@pytest.mark.long
@pytest.mark.parametrize(("precision", "hlo"), [("highest", "HIGHEST"), ("tensorfloat32", "HIGH")])
def test_every_matrix_product_has_the_precision(precision: str, hlo: str) -> None:
    program = lowered("character_lstm", precision=precision)
    products = re.findall(r"stablehlo\.dot_general.*", program)
    assert len(products) > 10
    assert all(f"precision = [{hlo}, {hlo}]" in product for product in products)


def test_and_in_evaluation() -> None:
    sgd = JaxOptimizer(Sgd(0.1))
    local = LocalSgd(SOFTMAX, AsStored(), sgd)
    fused_round = FusedRound(local, sgd, WeightedMean(), Waves(1))
    programs = RoundPrograms(fused_round, "tensorfloat32")
    features, labels = np.zeros((4, 5), "f"), np.zeros(4, "i4")
    weights = SOFTMAX.initial_weights(0)
    program = programs.score.lower(weights, features, labels, np.arange(4)).as_text()
    assert "precision = [HIGH, HIGH]" in program
