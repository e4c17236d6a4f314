"""Traces as FLASH, FLHetBench and FedScale distribute them."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import DeviceTraces, Trace, read_traces
from f3ast_tff.availability.trace import TraceConfig, read_clients
from f3ast_tff.core.errors import DataError, ParameterError

DAY = 86_400
FLASH = {
    # Device 7 is locked, charging and on Wi-Fi from 01:00 to 03:00; its trace is one day long.
    "7": {
        "guid": "7",
        "messages": "2020-01-03 00:00:00\tscreen_lock\n2020-01-03 00:30:00\tbattery_charged_on\n"
        "2020-01-03 00:45:00\t57.0%\n2020-01-03 01:00:00\tWIFI\n\n2020-01-03 03:00:00"
        "\tscreen_unlock\n2020-01-03 04:00:00\tUnknown\n2020-01-04 00:00:00\tscreen_on\n",
    },
    # Device 8 has an unreadable line, device 9 decreasing times: FLASH skips such devices.
    "8": {"messages": "2020-01-03 00:00:00 screen_lock\n"},
    "9": {"messages": "2020-01-03 00:00:00\twifi\n2020-01-02 00:00:00\tscreen_lock\n"},
}
# Three devices of the file in FLHetBench's repository; the last has no success in FLASH.
TIMERS = {
    "659": {
        "isSuccess": True,
        "trace_start": 2404484.0,
        "trace_end": 2922884.0,
        "ready_time": [[2634084.0, 2634259.0]],
    },
    "1": {
        "isSuccess": True,
        "trace_start": 2387605.0,
        "trace_end": 2819605.0,
        "ready_time": [
            [2671102.0, 2671255.0],
            [2769869.0, 2769879.0],
            [2770109.0, 2770158.0],
        ],
    },
    "451": {"isSuccess": False, "trace_start": None, "trace_end": None, "ready_time": []},
}
FEDSCALE = {
    1: {"duration": 300, "inactive": [150, 400], "finish_time": 1000, "active": [50, 200]},
    2: {"duration": 100, "inactive": [], "finish_time": 500, "active": [400], "model": "CPH1801"},
    3: {"duration": 0, "inactive": [5, 2], "finish_time": 500, "active": [1, 3], "model": "x"},
}


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def at(traces: DeviceTraces, *times: float) -> list[list[bool]]:
    return traces.eligible_at(np.array(times, float)).T.tolist()


def test_flash_messages_by_hand(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Device 7 is eligible from 01:00 to 03:00 of 3 January.

    The trace repeats daily, before and after.
    """
    path = write(tmp_path / "state_traces.json", FLASH)
    with caplog.at_level(logging.WARNING):
        traces = read_traces(path)
    assert "left out 2 of 3 devices" in caplog.text
    assert traces.names == ("7",)
    hours = np.array([0.99, 1, 2.99, 3, 25, 27])
    expected = [[False, True, True, False, True, False]]
    assert at(traces, *(DAY + 3600 * hours)) == expected
    assert at(traces, *(3600 * hours)) == expected
    charging = read_traces(path, eligible="charging")
    assert at(charging, DAY + 1799, DAY + 1800, 2 * DAY - 1, 2 * DAY) == [
        [False, True, True, False]
    ]
    np.testing.assert_allclose(
        traces.eligible_seconds(np.array([0.0, 7200, DAY, 11 * DAY])), [[3600], [3600], [72000]]
    )


def test_timers_of_flhetbench(tmp_path: Path) -> None:
    """Device 659 is eligible for 175 s in a trace of 6 days, device 1 for 212 s in 5 days."""
    traces = read_traces(write(tmp_path / "cached_timers.json", TIMERS))
    assert traces.names == ("659", "1")
    assert traces.end == np.inf
    assert at(traces, 2634083, 2634084, 2634258, 2634259, 2634084 + 6 * DAY) == [
        [False, True, True, False, True],
        [False] * 5,
    ]
    month = traces.eligible_seconds(np.array([0.0, 30 * DAY]))
    np.testing.assert_allclose(month, [[5 * 175, 6 * 212]])


@pytest.mark.parametrize("form", ["client_behave_trace", "a.pkl", "a.json"])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_fedscale_pickles(tmp_path: Path, form: str, protocol: int) -> None:
    """The last time of device 2 has no end: it lasts until finish_time.

    Device 3's times decrease.
    """
    path = tmp_path / form
    if form == "a.json":
        write(path, FEDSCALE)
    else:
        path.write_bytes(pickle.dumps(FEDSCALE, protocol))
    traces = read_traces(path)
    assert traces.names == ("1", "2")
    assert at(traces, 49, 50, 149, 150, 399, 400, 1050) == [
        [False, True, True, False, True, False, True],
        [False, False, False, False, False, True, False],
    ]


class Runs:
    """An object that calls a function if it is unpickled."""

    def __reduce__(self) -> Any:
        return print, ("it ran",)


SHARED = [float(t) for t in range(1000)]
BAD_PICKLES = {
    "a call": pickle.dumps({1: Runs()}),
    "cut": pickle.dumps(FEDSCALE)[:-20],
    "empty": b"",
    "text": b"{}",
    "a set": pickle.dumps({1, 2}),
    "a key": pickle.dumps({1.5: {}}),
    "a list": pickle.dumps([1]),
    "numbers": pickle.dumps({1: 2}),
    "times": pickle.dumps({1: {"active": ["x"], "inactive": [1], "finish_time": 9}}),
    "no end": pickle.dumps({1: {"active": [1], "inactive": [2]}}),
    "nobody": pickle.dumps({1: {"active": [], "inactive": [], "finish_time": 9}}),
    "mixed": pickle.dumps({1: FEDSCALE[1], 2: 5}),
}


@pytest.mark.parametrize("name", BAD_PICKLES)
def test_a_bad_pickle_is_one_clear_error(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client_behave_trace"
    path.write_bytes(BAD_PICKLES[name])
    with pytest.raises(DataError) as raised:
        read_traces(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300
    assert "it ran" not in capsys.readouterr().out


def test_one_list_named_often_does_not_fill_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("f3ast_tff.availability.trace_files._MAX_EVENTS", 10_000)
    entry = {"active": SHARED[::2], "inactive": SHARED[1::2], "finish_time": 1e4}
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(dict.fromkeys(range(1000), entry)))
    with pytest.raises(DataError, match="more than 10000 events"):
        read_traces(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"1": {"messages": ["a"]}}, "device 1: its messages are not a text"),
        ({"1": {"messages": "2020-01-03 00:00:00\thello\n"}}, "device 1: message .* nothing"),
        ({"1": {"messages": ""}}, "no device is ever eligible"),
        ({"1": {"ready_time": {}}}, "device 1: its ready_time is not a list"),
        ({"1": {"ready_time": [[1]]}}, "does not hold pairs of times"),
        ({"1": {"ready_time": [[1, 2]]}}, "does not say from when to when"),
        ({"1": {**TIMERS["1"], "ready_time": [[3, 2]]}}, "no device is ever eligible"),
        ({**TIMERS, "2": 1}, "device 2: must be an object"),
        ({"1": {**TIMERS["659"], "trace_end": 1e300}}, "begins or ends beyond"),
    ],
)
def test_bad_json_is_one_clear_error(tmp_path: Path, content: Any, message: str) -> None:
    path = write(tmp_path / "t.json", content)
    with pytest.raises(DataError, match=message) as raised:
        read_traces(path)
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


def config(path: Path, **given: Any) -> Trace:
    values = {"trace_start": 0.0, "trace_days": 1.0, "trace_assignment": "in_order", **given}
    return TraceConfig(trace_file=str(path), **values).build(np.full(2, 0.5), 0)


def test_clients_are_present_while_their_device_was_seen(tmp_path: Path) -> None:
    """Rounds of 50 s: device 1 is seen until 1000 s, device 2 until 500 s; neither starts again."""
    path = write(tmp_path / "t.json", FEDSCALE)
    process = config(path, trace_round_seconds=50, trace_days=900 / DAY, trace_presence="seen")
    present = np.array([process.present(t) for t in range(1, 19)])
    assert present.all(axis=0).tolist() == [True, False]
    assert present[:, 1].tolist() == [True] * 11 + [False] * 7
    mask = np.array([process.mask(t) for t in range(1, 19)])
    assert np.flatnonzero(mask[:, 0]).tolist() == [1, 2, 4, 5, 6, 7]
    assert np.flatnonzero(mask[:, 1]).tolist() == [8, 9]
    always = config(path, trace_round_seconds=50, trace_days=1000 / DAY)
    assert always.present(19).all()
    # At 900 s, device 2 is 400 s into the second run of its trace.
    assert always.mask(19).tolist() == [False, True]


def test_plain_traces_are_seen_from_their_first_entry(tmp_path: Path) -> None:
    """A device's state before its first entry is a gap, allowed until the device is seen."""
    devices = {"a": [[0, "AVL_TRAIN"], [10800, "UN_AVL"]], "b": [[3600, "AVL_TRAIN"], [7200, "x"]]}
    path = write(tmp_path / "t.json", {"devices": devices})
    given = {"trace_days": 3 / 24, "trace_presence": "seen"}
    process = config(path, **given)
    assert [process.present(t).tolist() for t in (1, 2, 3, 4)] == [
        [True, False],
        [True, True],
        [True, True],
        [True, False],
    ]
    with pytest.raises(DataError, match="device b: has a gap"):
        config(path, trace_days=3 / 24)


def test_sampled_cases_of_flhetbench(tmp_path: Path) -> None:
    path, case = write(tmp_path / "t.json", TIMERS), tmp_path / "case1.json"
    given = {"trace_clients": str(case), "trace_assignment": "balanced"}
    write(case, ["1", "1", "659"])
    process = config(path, **given)
    assert process.device_of.tolist() == [1, 1]
    for names, message in (
        (["1"], "trace_clients = 1 names: must name a device for each of 2 clients"),
        (["1", "451"], "'451': of client 1, is not in the trace, or never eligible"),
    ):
        write(case, names)
        with pytest.raises(ParameterError, match=message):
            config(path, **given)
    for content in ({"1": 2}, [1], None):
        with pytest.raises(DataError, match="must be a list of device names"):
            read_clients(write(case, content))
    with pytest.raises(ParameterError, match="trace_assignment = in_order: does not apply"):
        TraceConfig(str(path), trace_clients=str(case), trace_assignment="in_order").check({})
