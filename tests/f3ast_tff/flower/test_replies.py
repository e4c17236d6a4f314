"""Replies that hold no model: not delivered, and the server goes on."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff import F3AST
from f3ast_tff.flower import AvailabilityStrategy
from f3ast_tff.flower.replies import mean_metrics, metric, models_of
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid
from tests.f3ast_tff.flower.test_availability_strategy import app_of, run, unit

SENT = {"w": np.zeros((2, 3), np.float32), "count": np.array(4)}


def npy(value: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, value, **options)
    return file.getvalue()


def array(data: bytes, stype: str = "numpy.ndarray") -> Array:
    return Array(dtype="float32", shape=(2, 3), stype=stype, data=data)


def reply(w: Array) -> RecordDict:
    return RecordDict({"arrays": ArrayRecord({"w": w, "count": Array(np.array(5))})})


def header(shape: str, descr: str = "<f4", order: str = "False") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


GOOD = npy(np.arange(6, dtype=np.float32).reshape(2, 3))
BAD = {
    "pickled objects": npy(np.array([[{}] * 3] * 2, object), allow_pickle=True),
    "cut short": GOOD[:-1],
    "too long": GOOD + b"\x00",
    "empty": b"",
    "no magic": b"hello",
    "a zip file": b"PK\x03\x04" + b"\x00" * 60,
    "text": npy(np.array([["a"] * 3] * 2)),
    "dates": npy(np.zeros((2, 3), "M8[s]")),
    "records": npy(np.zeros((2, 3), [("x", "f4")])),
    "complex": npy(np.zeros((2, 3), np.complex64)),
    "another shape": npy(np.zeros((3, 2), np.float32)),
    "terabytes": header("(401411243541,)"),
    "terabytes of the shape": header("(2, 3)", descr="<f8") + b"\x00" * 8,
    "a shape of text": header("('a', 3)"),
    "code in the header": header("__import__('os')"),
    "not finite": npy(np.full((2, 3), np.nan, np.float32)),
    "beyond float32": npy(np.full((2, 3), 1e40)),
    "a version of its own": b"\x93NUMPY\x09\x00" + GOOD[8:],
    "a shape of floats": header("(2.0, 3)") + GOOD[128:],
    "a shape of complex numbers": header("(2, 3+0j)") + GOOD[128:],
    "a list as shape": header("[2, 3]") + GOOD[128:],
    "an order of 0": header("(2, 3)", order="0") + GOOD[128:],
    "a number as type": header("(2, 3)").replace(b"'<f4'", b"4    ") + GOOD[128:],
    "no type at all": header("(2, 3)", descr="<f3") + GOOD[128:],
    "raw bytes": header("(2, 3)", descr="|V4") + GOOD[128:],
    "an escape": header("('\\\\\x1b', 3)") + GOOD[128:],
    "beyond longdouble's": npy(np.full((2, 3), np.longdouble("1e4000"))),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_payload_that_is_no_such_array(data: bytes) -> None:
    assert models_of({0: reply(array(data)), 1: reply(array(GOOD))}, SENT).keys() == {1}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("i8", 1e300),
        ("i8", 2.0**63),
        ("i8", np.uint64(2**63)),
        ("i8", np.longdouble("1e4000")),
        ("u1", -1),
        ("u1", 255.6),
        ("i4", 2**31),
        ("?", 2),
        ("?", -0.6),
    ],
)
def test_an_integer_out_of_range_is_its_client_s_fault_alone(kind: str, given: Any) -> None:
    sent = {"n": np.zeros(1, kind)}
    other = {"arrays": ArrayRecord({"n": Array(np.array([given]))})}
    fine = {"arrays": ArrayRecord({"n": Array(np.array([0.4]))})}
    assert models_of({0: RecordDict(other), 1: RecordDict(fine)}, sent).keys() == {1}


@pytest.mark.parametrize("header_of", ["(2.0, 3)", "(2, 3+0j)", "(2, True)"])
def test_a_shape_that_only_equals_the_right_one_is_not_delivered(header_of: str) -> None:
    sent = {"w": np.zeros((2, 1 if "True" in header_of else 3), np.float32)}
    content = RecordDict({"a": ArrayRecord({"w": array(header(header_of) + GOOD[128:])})})
    assert models_of({0: content}, sent) == {}


def test_other_encodings_and_names(caplog: pytest.LogCaptureFixture) -> None:
    other = RecordDict({"arrays": ArrayRecord({"v": array(GOOD)})})
    twice = reply(array(GOOD))
    twice["changes"] = next(iter(reply(array(GOOD)).array_records.values()))
    contents = {0: reply(array(GOOD, stype="torch.tensor")), 1: other, 2: RecordDict(), 3: twice}
    assert models_of(contents, SENT) == {}
    names = ", ".join(SENT)
    assert [each.partition("its reply has ")[2] for each in caplog.messages[1:]] == [
        f"{has}: must be {names}, not delivered" for has in ("['v']", "none", "2 records")
    ]


def test_arrays_by_columns_of_other_dtypes_and_without_a_dimension_are_read() -> None:
    value = np.arange(6.0).reshape(2, 3)
    for given_as in (np.asfortranarray(value), value.astype(np.int8), value.astype(">f4")):
        found = models_of({0: reply(array(npy(given_as)))}, SENT)[0]
        np.testing.assert_array_equal(found["w"], value)
        assert found["count"] == 5


@pytest.mark.parametrize("examples", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_bytes_raise(examples: int) -> None:
    cut_at, stypes = st.integers(0, len(GOOD)), st.sampled_from(["numpy.ndarray", ""])

    @settings(max_examples=examples, deadline=None)
    @given(st.binary(max_size=200), cut_at, stypes)
    def check(data: bytes, cut: int, stype: str) -> None:
        for payload in (data, GOOD[:cut] + data, GOOD[:cut] + data + GOOD[cut:]):
            found = models_of({0: reply(array(payload, stype))}, SENT)
            for model in found.values():
                assert model["w"].shape == (2, 3) and np.isfinite(model["w"]).all()

    check()


@pytest.mark.parametrize("told", [[1, 2], [0.5], math.nan, -1.0, math.inf])
def test_metrics_of_a_reply_whose_examples_are_no_number_say_nothing(told: Any) -> None:
    content = RecordDict({"m": MetricRecord({"loss": 1.0, "num-examples": told})})
    assert mean_metrics([content]) is None
    assert math.isnan(metric(content, "loss")) or told == math.inf


HUGE: dict[str, Callable[[int, int], Any]] = {
    "one above": lambda k, t: np.full(4, 1.7e308) if k == 1 else unit(k, t),
    "both signs": lambda k, t: np.full(4, [1.7e308, -1.7e308, 0, 0][k]) + 0.0,
}


@pytest.mark.parametrize("update", HUGE.values(), ids=HUGE)
def test_a_step_that_is_not_finite_is_neither_taken_nor_saved(
    update: Callable[[int, int], Any], tmp_path: Any
) -> None:
    """Weights above 1 carry a finite reply beyond float64; the next round goes on from before."""
    grid = InProcessGrid(app_of(lambda k, t: update(k, t) if t == 1 else unit(k, t)), 4, {})
    p = np.full(4, 0.25)
    strategy = AvailabilityStrategy(
        F3AST.start(p, 4),
        num_clients=4,
        clients_per_round=4,
        server_lr=8.0,
        state_file=tmp_path / "server.npz",
        evaluate_every=0,
    )
    assert np.isfinite(run(grid, strategy, 1)).all()
    assert np.isfinite(run(grid, strategy, 2)).all()


@pytest.mark.parametrize("told", [True, 9, -1, 1.0, "1"])
def test_a_node_whose_client_is_no_id_is_left_out(told: Any) -> None:
    def tell(message: Message, context: Context) -> Message:
        k = context.node_config["partition-id"]
        answer = ConfigRecord({"partition-id": told if k == 3 else int(k)})
        return Message(RecordDict({"partition-id": answer}), reply_to=message)

    grid = InProcessGrid(app_of(unit, tell), 4, {})
    strategy = AvailabilityStrategy(F3AST.start(np.full(4, 0.25), 4), 4, 4, answer_seconds=0.3)
    assert (run(grid, strategy) > 0).tolist() == [True, True, True, False]
