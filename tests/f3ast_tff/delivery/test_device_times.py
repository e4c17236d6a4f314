"""Times of clients by hand, from distributions and from files of device speeds."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability.trace import assign_devices
from f3ast_tff.core.errors import DataError
from f3ast_tff.delivery import Bernoulli, Late
from f3ast_tff.delivery.device_speeds import read_speeds
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
