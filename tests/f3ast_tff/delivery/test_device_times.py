"""Times of clients by hand: from distributions, device speeds, and measured training times."""

from __future__ import annotations

import json
import logging
import lzma
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.availability.trace import assign_devices
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.delivery import Asynchronous, Bernoulli, Late
from f3ast_tff.delivery.device_speeds import read_speeds
from f3ast_tff.delivery.measured_times import read_times
from tests.f3ast_tff.delivery.small_world import ALIKE, world

DEVICES = {
    "phone": {"computation": 20, "communication": 4000.0, "model": "A"},
    "tablet": {"computation": 50.5, "communication": 1000},
}


def times(examples: list[int] | np.ndarray, num_bytes: int = 0, **given: Any) -> Bernoulli:
    return Bernoulli(**given).build(world(np.array(examples), num_bytes=num_bytes))


def test_time_by_hand() -> None:
    """100 examples of 20 ms, and 8000 kilobits at 4000 per second: 2 s + 2 s.

    Without examples, 2 s.
    """
    given = {"device_example_ms": 20.0, "device_kbps": 4000.0, "device_kbps_spread": 0.0, **ALIKE}
    found = times([100, 0], 10**6, **given)
    np.testing.assert_allclose(found.typical(np.array([0, 1, 0])), [4, 2, 4])
    np.testing.assert_array_equal(
        found.seconds(3, np.array([1, 0])), found.typical(np.arange(2)[::-1])
    )


def test_devices_of_a_file_by_hand(tmp_path: Path) -> None:
    """Training takes three inferences: 100 x 3 x 20 ms + 2 s = 8 s; for 50 ms 15 s + 8 s = 23 s."""
    (tmp_path / "a.csv").write_text("device,computation,communication\na,20,4000\nb,50,1000\n")
    found = times([100, 100], 10**6, device_file=str(tmp_path / "a.csv"), device_jitter=0.0)
    np.testing.assert_allclose(sorted(found.typical(np.arange(2))), [8, 23])


def test_spreads_are_those_of_logarithms() -> None:
    """Medians and standard deviations over 20,000 clients; and over rounds of one client."""
    n = 20_000
    compute = times(np.full(n, 1000), device_example_spread=0.5, device_jitter=0.3)
    logs = np.log(compute.typical(np.arange(n)) / 10)
    assert abs(logs.mean()) < 4.5 * 0.5 / np.sqrt(n)
    assert logs.std() == pytest.approx(0.5, rel=0.03)
    rounds = [compute.seconds(t, np.array([5]))[0] for t in range(1, 1001)]
    logs = np.log(rounds / compute.typical(np.array([5])))
    assert abs(logs.mean()) < 4.5 * 0.3 / np.sqrt(1000)
    assert logs.std() == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("content", [DEVICES, {"devices": DEVICES, "source": "x"}])
def test_all_forms_alike(content: dict, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    lines = [f"{d},{v['computation']},{v['communication']}" for d, v in DEVICES.items()]
    header = "device,computation,communication"
    (tmp_path / "a.csv").write_text("\n".join([header, lines[0], "", *lines[1:], "", ""]))
    by_number = {1: DEVICES["phone"], 2: DEVICES["tablet"]}
    for name in ("a.pkl", "client_device_capacity"):
        (tmp_path / name).write_bytes(pickle.dumps(by_number, protocol=4))
    for name in ("a.json", "a.csv", "a.pkl", "client_device_capacity"):
        speeds = read_speeds(tmp_path / name)
        assert speeds.computation.tolist() == [20, 50.5]
        assert speeds.communication.tolist() == [4000, 1000]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[]", "must be an object of devices"),
        ("a.json", "{", "a.json: "),
        ("a.json", "{}", "has no device"),
        ("a.json", '{"x": {"computation": 1}}', "'x': must have computation and communication"),
        ("a.json", '{"x": {"communication": 1}}', "'x': must have computation and communication"),
        ("a.json", '{"x": {"computation": true, "communication": 1}}', "'x': speed True must be"),
        ("a.json", '{"x": {"computation": [1], "communication": 1}}', r"speed \[1\] must be"),
        ("a.csv", "", "line 1 must be device,computation,communication"),
        ("a.csv", "device,a,b\n", "line 1 must be device,computation,communication"),
        ("a.csv", "device,computation,communication\nx,1\n", "line 2: must be a device and two"),
        (
            "a.json",
            f'{{"x": {{"computation": {"1" * 400}, "communication": 1}}}}',
            "'x': speed 111.*1 must be a number",
        ),
        ("a.csv", "device,computation,communication\nx,1,0\n", "'x': speed '0' must be"),
        ("a.csv", "device,computation,communication\nx,1,inf\n", "speed 'inf' must be"),
        ("a.txt", "", "must end in .json, .csv or .pkl"),
        ("b.json", None, "there is no such file"),
        ("a.pkl", "cos\nsystem\n(S'true'\ntR.", "cannot be unpickled"),
    ],
)
def test_bad_files_are_named(name: str, text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_speeds(tmp_path / name)


def test_speeds_are_shared_out_by_draws_of_their_own(tmp_path: Path) -> None:
    """Trace availability has other draws: otherwise slow clients would be rarely available."""
    n = 50
    speeds = {d: {"computation": 1 + d, "communication": 1000} for d in range(n)}
    (tmp_path / "a.json").write_text(json.dumps(speeds))
    given = {"device_file": str(tmp_path / "a.json"), "device_jitter": 0.0}
    found = Bernoulli(**given).build(world(np.ones(n, int), seed=7))
    device_of = np.round(found.typical(np.arange(n)) / 0.003).astype(int) - 1
    assert sorted(device_of) == list(range(n))
    of_clients = found.of_clients()
    np.testing.assert_array_equal(of_clients["client_device"], device_of)
    np.testing.assert_array_equal(of_clients["client_seconds"], found.typical(np.arange(n)))
    assert Late(late_by="fixed").build(world(np.ones(n, int))).of_clients() == {}
    assert not np.array_equal(device_of, assign_devices(n, n, 7, "balanced"))


# Rows as published: a column of names, and two networks, of which one was measured on few phones.
PHONES: list[dict[str, Any]] = [
    {"Phone Model": "A", "Vit Latency": 334.0, "ResNet Latency": 54.5, "ResNet STD": 0.3},
    {"Phone Model": "A", "ResNet Latency": 100, "ResNet STD": 2.6},
    {"Phone Model": "B", "ResNet Latency": 0, "ResNet STD": 0},
    {"Phone Model": "C", "Vit Latency": None, "ResNet Latency": 0.8, "ResNet STD": 1},
]
TABLE = "phone;ResNet Latency\nA;54.5\nA;100\n\nB;\nC; 0.8\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"\n" + json.dumps(PHONES).encode()),
        ("a.json.xz", lzma.compress(json.dumps(PHONES, indent=4).encode())),
        ("a.csv", TABLE.encode()),
        ("a.csv", b"\xef\xbb\xbf" + TABLE.replace(";", ",").replace("\n", "\r\n").encode()),
        ("a.csv", b"phone;ResNet Latency\nG,a,l,a,x,y, 5G;54.5\nA;100\nB;0\nC, 2;0.8\n"),
        ("a.tsv.xz", lzma.compress(TABLE.replace(";", "\t").encode())),
    ],
    ids=["json", "xz", "semicolons", "windows", "commas inside", "tabs"],
)
def test_all_forms_of_measured_times_alike(
    name: str, content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_times(tmp_path / name, "ResNet Latency").tolist() == [54.5, 100, 0.8]
    assert "3 of 4 devices have a time in column ResNet Latency" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file"),
        (b"\xfd7zXZ\x00rubbish", "a.csv: "),
        (b"\xff\xfe", "a.csv: "),
        (b"[1, 2]", "must be a list of objects"),
        (b'{"t": [1]}', "must be a list of objects"),
        (b"[{", "a.csv: "),
        (b"[" * 100_000, "nested too deeply"),
        (b"t,t\n1,2\n", "names a column twice"),
        (b'[{"t": 1, "t": 2}]', "names 't' twice"),
        (b't\n"1"2\n', "expected after"),
        (b"d,t\na,1\nb\n", "line 3 has 1 values, line 1 2 names"),
        (b"t\n1\nfast\n", "device 2: time 'fast' must be milliseconds"),
        (b"t\n-1\n", "device 1: time '-1' must be"),
        (b"t\nnan\n", "time 'nan' must be"),
        (b"t\n1e9\n", "at most a day"),
        (b'[{"t": true}]', "time True must be"),
        (b'[{"t": [1]}]', r"time \[1\] must be"),
    ],
    ids=str,
)
def test_rubbish_is_refused_in_a_line(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_times(tmp_path / "a.csv", "t")
    assert "\n" not in str(caught.value)


def test_a_wrong_column_is_refused_with_those_there(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(PHONES))
    names = "Phone Model, Vit Latency, ResNet Latency, ResNet STD"
    with pytest.raises(ParameterError, match=f"has no such column; it has {names}"):
        read_times(tmp_path / "a.json", "Vit")
    (tmp_path / "a.csv").write_text("d,t\na,0\nb,\n")
    with pytest.raises(ParameterError, match="has no time in that column; it has d, t"):
        read_times(tmp_path / "a.csv", "t")
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(ParameterError, match="has no such column"):
        read_times(tmp_path / "a.csv", "t")


def times_of(path: Path, num_clients: int, **given: Any) -> Bernoulli:
    column = {"device_file": str(path), "device_column": "t", "device_jitter": 0.0}
    return Bernoulli(**{**column, **given}).build(world(np.full(num_clients, 100), seed=3))


def test_measured_time_by_hand(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """100 examples in batches of 20 that take 40 and 200 ms: 5 batches, .2 and 1 s.

    As many devices as clients: client k is row k. Nothing is said of a file without gaps.
    """
    (tmp_path / "a.csv").write_text("t\n40\n200\n")
    caplog.set_level(logging.WARNING)
    found = times_of(tmp_path / "a.csv", 2, device_column_examples=20)
    np.testing.assert_allclose(found.typical(np.array([1, 0, 1])), [1, 0.2, 1])
    assert not caplog.text


def test_more_clients_draw_each_device_equally_often(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t\n" + "".join(f"{10 * (i + 1)}\n" for i in range(7)))
    found = np.round(times_of(tmp_path / "a.csv", 21).typical(np.arange(21))).astype(int)
    assert sorted(found) == sorted([*range(1, 8)] * 3)
    assert not np.array_equal(found, np.resize(np.arange(1, 8), 21))
    fewer = times_of(tmp_path / "a.csv", 3).typical(np.arange(3))
    assert len({*np.round(fewer)}) == 3


def test_bandwidths_stay_log_normal(tmp_path: Path) -> None:
    """8000 kilobits at a median of 4000 per second without spread: 2 s besides 100 x 10 ms."""
    (tmp_path / "a.csv").write_text("t\n10\n")
    given: dict[str, Any] = {"device_kbps": 4000.0, "device_kbps_spread": 0.0}
    clients = world(np.array([100]), num_bytes=10**6)
    file = {"device_file": str(tmp_path / "a.csv"), "device_column": "t", "device_jitter": 0.0}
    found = Asynchronous(**given, **file).build(clients)
    np.testing.assert_allclose(found.typical(np.array([0])), [3])


@pytest.mark.parametrize("engine", ["host", "fused"])
def test_it_is_only_the_clock(engine: str, tmp_path: Path) -> None:
    """A run whose devices all need 10 ms is the run of equal log-normal speeds."""
    (tmp_path / "a.csv").write_text("t\n200\n")
    given: dict[str, Any] = {
        **{"task": "synthetic", "num_clients": 12, "clients_per_round": 4, "engine": engine},
        **{"algorithm": "uniform", "delivery": "asynchronous", "rounds": 6, "local_steps": 2},
    }
    one = simulate(**given, device_example_spread=0.0)
    column = {"device_column": "t", "device_column_examples": 20}
    other = simulate(**given, device_file=str(tmp_path / "a.csv"), **column)
    for name in ("selected", "round_seconds"):
        np.testing.assert_allclose(one.selection[name], other.selection[name], rtol=1e-12)
    for before, after in zip(one.weights, other.weights):
        np.testing.assert_array_equal(before, after)
