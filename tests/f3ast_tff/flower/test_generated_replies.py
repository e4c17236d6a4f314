"""Replies of any headers, types, shapes, values, metrics and errors: none ends a server.

Client 2 of four sends what is generated, in each of three rounds; the others move coordinate k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from f3ast_tff import F3AST, FedAvg, PowerOfChoice
from f3ast_tff.flower import AvailabilityStrategy, tell_partition_id
from f3ast_tff.methods import BaseStrategy
from f3ast_tff.methods.ca_fed import CAFed
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.oort_loss import OortLoss
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid

P = np.full(4, 0.25)
METHODS: dict[str, Callable[[], BaseStrategy]] = {
    "f3ast": lambda: F3AST.start(P, 4, rate_beta=0.5),
    "fedavg": lambda: FedAvg.start(P, 4),
    "fedau": lambda: FedAU.start(P, 4),
    "poc": lambda: PowerOfChoice.start(P, 4),
    "ca_fed": lambda: CAFed.start(P, 4, rounds=10),
    "oort_loss": lambda: OortLoss.start(P, 4, sizes=np.full(4, 5)),
}
SENT = {
    "w": np.zeros(4),
    "half": np.zeros((2, 3), np.float16),
    "long": np.zeros((2, 1), np.longdouble),
    "count": np.array(2**60 + 1),
    "bytes": np.full((3,), 200, np.uint8),
    "flags": np.array([[True, False]]),
    "none": np.zeros((0, 3), np.float32),
    "bn.running_var": np.ones(3, np.float32),
    "bn.num_batches_tracked": np.array(7, np.int32),
}
# Types of NumPy, of `ml_dtypes`, and of nobody.
DESCRS = "<f8 >f4 <f2 <f16 |b1 |i1 |u1 <i8 >u8 <c8 <c16 |V2 <V2 |O |S3 <U2 <M8[s] f8 <f3 8 <f99"
TOLD = ("float64", "bfloat16", "float16", "int64", "float8_e4m3fn", "", "\x1b[2J", "V2")
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 6e4, 3.4e38, 1e39, 1.7e308, -1.7e308, 5e-324, 2.0**63)
NOT_NUMBERS = (float("inf"), float("-inf"), float("nan"))
INTEGERS = (0, 1, -1, 127, 255, 256, 2**31, 2**53 + 1, 2**60 + 1, 2**63 - 1, -(2**63))


def length_as(n: int) -> st.SearchStrategy[str]:
    """A length as an integer, as what is equal to it, or as something else."""
    alike = [repr(n), repr(float(n)), f"{n}+0j", repr(bool(n)), f"0x{n:x}", f"-{n}", f"'{n}'"]
    others = ["None", "[]", "()", "9" * 30, "1e400", "{}", '"\\\x1b"', "2 if 1else 3", "(" * 99]
    return st.sampled_from([*[repr(n)] * 24, *alike, *others])


@st.composite
def headers(draw: Any, shape: tuple[int, ...]) -> bytes:
    descr = repr(draw(st.sampled_from([*DESCRS.split(), draw(st.text(max_size=4))])))
    if draw(st.integers(0, 9)) == 0:
        descr = draw(st.sampled_from(["('<f8', (3,))", "[('x', '<f8')]", "None", "8"]))
    lengths = [draw(length_as(n)) for n in shape]
    form = draw(st.sampled_from([*["({},)"] * 12, "[{}]", "{}", "({}, 1)", "({}"]))
    told = form.format(", ".join(lengths)) if shape or form != "({},)" else "()"
    order = draw(st.sampled_from([*["False", "True"] * 4, "0", "None", "'x'"]))
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {told}, }}".ljust(117)
    text = draw(st.sampled_from([*[text] * 12, text[:40], text + "#", "[]", "{}", "1", ""])) + "\n"
    body = text.encode("latin1", "replace")
    size = draw(st.sampled_from([*[len(body)] * 12, 0, 1, 2**15, len(body) + 5]))
    return b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + body


@st.composite
def arrays(draw: Any, sent: np.ndarray) -> Array:
    shape = draw(st.sampled_from([*[sent.shape] * 24, (4,), (2, 3), (3, 2), (), (1, 1, 1)]))
    kind = np.dtype(draw(st.sampled_from([*[sent.dtype.str] * 3, *"fdgqBH?"])))
    whole = kind.kind in "iu"
    # Integers wrap into the type, the others overflow to infinity.
    values = INTEGERS if whole else (*EDGES * 4, *NOT_NUMBERS, np.longdouble("1e4000"))
    chosen = [draw(st.sampled_from(values)) for _ in range(int(np.prod(shape)))]
    with np.errstate(all="ignore"):
        value = np.array([c % 2**64 for c in chosen], np.uint64) if whole else np.array(chosen, "g")
        value = value.astype(kind)
    data = Array(np.asarray(value.reshape(shape))).data
    if draw(st.booleans()):
        rest = draw(st.sampled_from([data[128:], data[128:-1], data[128:] + b"\0", b""]))
        data = draw(headers(shape)) + rest
    stype = draw(st.sampled_from([*["numpy.ndarray"] * 36, "torch.tensor", "\x1b\n"]))
    return Array(dtype=draw(st.sampled_from(TOLD)), shape=shape, stype=stype, data=data)


@st.composite
def contents(draw: Any) -> RecordDict | str:
    """A reply, or the text of an error."""
    if draw(st.integers(0, 9)) == 0:
        return str(
            draw(st.sampled_from(["\x1b[2J\nround 9: all is well", "x" * 10**5, "\u202e", ""]))
        )
    names = draw(st.sampled_from([*[list(SENT)] * 36, ["w"], [], ["v"], [*SENT, "v"]]))
    odd = draw(st.sets(st.sampled_from(list(SENT)), max_size=2))
    record = {
        name: draw(arrays(SENT.get(name, SENT["w"]))) if name in odd else Array(SENT.get(name, P))
        for name in names
    }
    numbers = st.sampled_from([*EDGES, *NOT_NUMBERS, *INTEGERS, 10**400, -(10**400)])
    told = {
        name: draw(st.one_of(numbers, st.lists(st.floats(), max_size=2)))
        for name in draw(st.sets(st.sampled_from(["num-examples", "loss", "\x1b[2J"])))
    }
    return RecordDict({"arrays": ArrayRecord(record), "metrics": MetricRecord(told)})


def app_of(sent_by_2: Any) -> ClientApp:
    app = ClientApp()
    app.query("partition_id")(tell_partition_id)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        k = context.node_config["partition-id"]
        if k == 2:
            if isinstance(sent_by_2, str):
                raise ValueError(sent_by_2)
            return Message(sent_by_2, reply_to=message)
        model = {name: Array(value) for name, value in SENT.items()}
        model["w"] = Array(message.content["arrays"]["w"].numpy() + (np.arange(4) == k))
        metrics = MetricRecord({"num-examples": 5, "loss": 1.0})
        told = RecordDict({"arrays": ArrayRecord(model), "metrics": metrics})
        return Message(told, reply_to=message)

    app.evaluate()(train)
    app.evaluate("loss")(train)
    return app


def check_server(name: str, reply: RecordDict | str) -> None:
    """The server plays its rounds; its model has the types and shapes it had, and is finite."""
    strategy = METHODS[name]()
    server = AvailabilityStrategy(strategy, 4, 4)
    start = ArrayRecord({each: Array(value) for each, value in SENT.items()})
    result = server.start(InProcessGrid(app_of(reply), 4, {}), start, 3, timeout=1)
    model = {each: array.numpy() for each, array in result.arrays.items()}
    assert {n: (a.dtype, a.shape) for n, a in model.items()} == {
        n: (a.dtype, a.shape) for n, a in SENT.items()
    }
    assert all(np.isfinite(value).all() for value in model.values())
    assert (model["bn.running_var"] >= 0).all() or isinstance(reply, RecordDict)
    rates = strategy.participation_rates()
    assert rates is None or np.isfinite(rates).all()
    assert np.isfinite(
        np.concatenate([np.ravel(v) for v in strategy.state().values()] or [P])
    ).all()


@pytest.mark.parametrize("examples", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_none_ends_a_server(examples: int) -> None:
    some = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))

    @some
    @given(st.sampled_from(list(METHODS)), contents())
    def check(name: str, reply: RecordDict | str) -> None:
        check_server(name, reply)

    check()
