"""Training times measured on devices: files in the forms that programs write, and rubbish."""

from __future__ import annotations

import json
import logging
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.delivery import Asynchronous, Bernoulli
from f3ast_tff.delivery.measured_times import read_times
from tests.f3ast_tff.delivery.small_world import world

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
def test_all_forms_alike(
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


def test_time_by_hand(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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
