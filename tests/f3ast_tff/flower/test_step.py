"""The server's step by hand: parameters, integers at the ends of their type, buffers, bfloat16."""

from __future__ import annotations

import logging
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from f3ast_tff import F3AST, FedAvg
from f3ast_tff.core.errors import CheckpointError, ParameterError
from f3ast_tff.flower import AvailabilityStrategy, tell_partition_id
from f3ast_tff.flower.step import StepError, moved
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.oort_loss import OortLoss
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid
from tests.f3ast_tff.flower.test_availability_strategy import app_of

P = np.full(4, 0.25)


def step(value: Any, came: list[Any], dtype: Any, **changes: Any) -> np.ndarray:
    """The array `x` after clients of weight 1/2 and 3/2 (or others) have sent theirs."""
    given: dict[str, Any] = {"mean": False, "rate": 1.0, "buffers": (), **changes}
    weights = given.pop("weights", np.array([0.5, 1.5]))
    sent = [{"x": np.asarray(each)} for each in came]
    found = moved({"x": np.array(value, dtype)}, sent, weights, **given)["x"]
    assert found.dtype == np.dtype(dtype) and found.shape == np.shape(value)
    return found


def test_a_parameter_by_hand() -> None:
    """1 + 2 (.5 (3 - 1) + 1.5 (0 - 1)) = 0; the mean of a weight of 2 in all: .5."""
    assert step([1.0], [[3.0], [0.0]], np.float32, rate=2.0) == 0
    assert step([1.0], [[3.0], [0.0]], np.float32, rate=2.0, mean=True) == 0.5


@pytest.mark.parametrize("rate", [1e-3, 1.0, 1e30])
@pytest.mark.parametrize("mean", [False, True])
def test_a_buffer_is_a_mean_whatever_the_step(rate: float, mean: bool) -> None:
    """(.5 * .2 + 1.5 * 1) / 2 = .8; counts of 10 and 20 give 17.5, which is rounded to even."""
    given: dict[str, Any] = {"rate": rate, "mean": mean, "buffers": ("x",)}
    found = step([7.0, 7.0], [[0.2, 0.2], [1.0, 0.2]], np.float32, **given)
    np.testing.assert_array_equal(found, np.float32([0.8, 0.2]))
    assert step(3, [10, 20], np.int64, **given) == 18
    assert step(7.0, [1.0, 2.0], np.float32, weights=np.zeros(2), **{**given, "mean": False}) == 7


BIG = 2**60 + 1
INTEGERS: list[tuple[Any, list[Any], Any, dict[str, Any], Any]] = [
    (BIG, [BIG, BIG], np.int64, {"rate": 3.0}, BIG),
    (BIG, [BIG, BIG], np.int64, {"buffers": ("x",)}, BIG),
    (2**64 - 1, [np.uint64(2**64 - 1)] * 2, np.uint64, {}, 2**64 - 1),
    (2**63 - 1, [2**63 - 1, 2**63 - 1], np.int64, {"buffers": ("x",)}, 2**63 - 1),
    (0, [2**63 - 1, 2**63 - 1], np.int64, {"rate": 9.0}, 2**63 - 1),
    (0, [-(2**63), -(2**63)], np.int64, {"rate": 9.0}, -(2**63)),
    (200, [255, 255], np.uint8, {}, 255),
    (200, [0, 0], np.uint8, {}, 0),
    (100, [127, 127], np.int8, {}, 127),
    (False, [True, True], np.bool_, {"rate": 7.0}, True),
    (True, [False, True], np.bool_, {"rate": 7.0}, False),
    (5, [7.4, 6.6], np.int32, {"buffers": ("x",)}, 7),
]


@pytest.mark.parametrize(("value", "came", "dtype", "more", "expected"), INTEGERS)
def test_integers_keep_to_their_type(
    value: Any, came: list[Any], dtype: Any, more: dict[str, Any], expected: Any
) -> None:
    """The sum of the weights is 2, so that a step is twice the way to the clients' number."""
    assert int(step(value, came, dtype, **more)) == int(expected)
    assert int(step([value], [[each] for each in came], dtype, **more)[0]) == int(expected)


def test_numbers_beyond_float64_stay_in_their_type() -> None:
    large = np.longdouble("1e4000")
    assert step(np.longdouble(0), [large, large], np.longdouble) == 2 * large
    with pytest.raises(StepError, match="array x is not finite"):
        step(0.0, [1e308, 1e308], np.float64)


@pytest.mark.parametrize("seed", range(10))
def test_a_mean_lies_between_those_that_came(seed: int) -> None:
    rng = np.random.default_rng(seed)
    came = np.exp(rng.normal(scale=20, size=(3, 50))).astype(np.float32)
    weights = rng.normal(size=3) + 0.5
    found = step(np.zeros(50), list(came), np.float32, buffers=("x",), weights=weights)
    assert (came.min(axis=0) <= found).all() and (found <= came.max(axis=0)).all()


START = {
    "fc.weight": np.zeros(2, np.float32),
    "bn.running_var": np.ones(2, np.float32),
    "bn.num_batches_tracked": np.array(0, np.int64),
    "scale": np.ones(2, np.float32),
}


def served(record: ArrayRecord, reply: Any, rounds: int = 1, **more: Any) -> dict[str, np.ndarray]:
    """The model after rounds in which client k of four answers with `reply(k)`."""
    app = ClientApp()
    app.query("partition_id")(tell_partition_id)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        arrays = reply(context.node_config["partition-id"])
        sent = {"arrays": arrays, "metrics": MetricRecord({"num-examples": 5})}
        return Message(RecordDict(sent), reply_to=message)

    method = more.pop("method", None) or F3AST.start(P, 4)
    server = AvailabilityStrategy(method, 4, 4, evaluate_every=0, **more)
    result = server.start(InProcessGrid(app, 4, {}), record, rounds, timeout=1)
    return {name: array.numpy() for name, array in result.arrays.items()}


@pytest.mark.parametrize("buffers", [None, ["bn"], [1, 2, "scale"], ()])
def test_buffers_of_a_server_by_name_or_as_declared(buffers: Any) -> None:
    """Client k sends k + 1: its mean is 2.5. At rate 8 a parameter moves from 1 by 8 * 1.5."""

    def reply(k: int) -> ArrayRecord:
        return ArrayRecord({n: Array(np.full_like(v, k + 1)) for n, v in START.items()})

    record = ArrayRecord({name: Array(value) for name, value in START.items()})
    found = served(record, reply, buffers=buffers, server_lr=8.0)
    known = {"bn.running_var", "bn.num_batches_tracked"}
    own = known if buffers is None or "bn" in buffers else {*known, "scale"} if buffers else set()
    for name, value in found.items():
        start = START[name].flat[0]
        by_hand = (2 if value.dtype.kind == "i" else 2.5) if name in own else 20 - 7 * start
        np.testing.assert_allclose(value, np.full_like(value, by_hand), err_msg=name)


@pytest.mark.parametrize(
    ("method", "value", "says"),
    [
        (F3AST.start(P, 4), 1, ["the model has not moved in 2 rounds"]),
        (F3AST.start(P, 4), 1.3, ["the model has not moved in 2 rounds"]),
        (F3AST.start(P, 4), 9, []),
        (FedAU.start(P, 4), 9, []),
        (OortLoss.start(P, 4), 9, ["no reply with examples has the number loss, which"] * 2),
    ],
)
def test_training_that_does_not_happen_is_said(
    method: Any, value: float, says: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """An integer of the model is rounded; the clients send no loss."""
    with caplog.at_level(logging.WARNING):
        served(ArrayRecord({"w": Array(np.ones(2, int))}), lambda k: came(value), 2, method=method)
    found = [each.getMessage() for each in caplog.records]
    found = [each for each in found if "not moved" in each or "number loss" in each]
    assert [each[: len(start)] for each, start in zip(found, says, strict=True)] == says


def came(value: float) -> ArrayRecord:
    return ArrayRecord({"w": Array(np.full(2, value))})


@pytest.mark.parametrize("buffers", ["bn", ["none"], [4], [True], 3, {}])
def test_buffers_that_are_no_arrays_are_refused(buffers: Any) -> None:
    record = ArrayRecord({name: Array(value) for name, value in START.items()})
    with pytest.raises(ParameterError, match="^buffers = "):
        served(record, lambda k: record, buffers=buffers)


@pytest.mark.parametrize("short", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_short_floats_train_and_go_on(short: Any, tmp_path: Any) -> None:
    """Clients send the same in short floats or `float32`; the mean of .5 and 1.5 is 1."""

    def halves(value: float) -> ArrayRecord:
        return ArrayRecord({"w": Array(np.full(3, value, short))})

    file = tmp_path / "server.npz"

    def reply(k: int) -> ArrayRecord:
        value = 0.5 if k < 2 else 1.5
        return halves(value) if k % 2 else ArrayRecord({"w": Array(np.full(3, value, "f4"))})

    for rounds in (1, 2):
        method = FedAvg.start(P, 4, baseline_sampling="without_replacement")
        found = served(halves(0), reply, rounds, state_file=file, method=method)["w"]
        assert found.view(short).astype(float).tolist() == [1, 1, 1]
    with np.load(file) as saved:
        assert saved["model/w"].dtype == np.float32 and saved["round"] == 2
    with pytest.raises(CheckpointError, match="holds another model"):
        served(ArrayRecord({"w": Array(np.zeros(3))}), reply, state_file=file)


REFUSED: dict[str, tuple[Array, str]] = {
    "complex": (Array(np.zeros(3, np.complex64)), "has dtype 'complex64'"),
    "bytes": (Array(np.zeros(3, "V2")), "has dtype '|V2'"),
    "a float of 8 bits that Flower cannot load": (
        Array(np.zeros(3, ml_dtypes.float8_e5m2)),
        "has dtype 'float8_e5m2', in the header '<f1'",
    ),
    "integers of 4 bits": (Array(np.zeros(3, ml_dtypes.int4)), "has dtype 'int4'"),
    "an unknown float": (
        Array("float8_x", (3,), "numpy.ndarray", Array(np.zeros(3, "V1")).data),
        "has dtype 'float8_x'",
    ),
    "another bfloat16": (
        Array("bfloat16", (3,), "numpy.ndarray", Array(np.zeros(3, "V4")).data),
        "",
    ),
    "dates": (Array(np.zeros(3, "M8[s]")), "has dtype 'datetime64"),
    "text": (Array(np.array(["a"])), "has dtype '<U1'"),
    "infinite": (Array(np.array([0, np.inf])), "is not finite"),
    "torch": (Array("float32", (3,), "torch.tensor", b"x"), "is encoded as 'torch.tensor'"),
    "rubbish": (Array("float32", (3,), "numpy.ndarray", b"x"), "is no .npy array"),
}


@pytest.mark.parametrize(("array", "says"), REFUSED.values(), ids=REFUSED)
def test_a_model_that_no_reply_can_fit_is_refused_before_round_1(array: Array, says: str) -> None:
    asked: list[int] = []
    record = ArrayRecord({"fine": Array(np.zeros(2)), "odd": array})
    with pytest.raises(ParameterError) as refused:
        served(record, lambda k: asked.append(k) or record)
    said = str(refused.value)
    assert said.startswith("initial_arrays = 2 arrays: array 'odd' ") and says in said
    assert not asked and "\n" not in said


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_an_update_that_its_weight_makes_infinite_is_the_fault_of_its_client(kind: Any) -> None:
    """Three clients add 1, client 2 the greatest number; w = 1/4, server rate 8.

    Each of two rounds moves the model by 8 * 3/4 = 6.
    """
    largest = float(np.finfo(kind).max)
    grid = InProcessGrid(app_of(lambda k, t: largest if k == 2 else 1.0), 4, {})
    server = AvailabilityStrategy(F3AST.start(P, 4), 4, 4, server_lr=8.0)
    result = server.start(grid, ArrayRecord([np.zeros(4, kind)]), 2, timeout=1)
    np.testing.assert_array_equal(result.arrays.to_numpy_ndarrays()[0], np.full(4, 12, kind))
