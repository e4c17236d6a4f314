"""The file formats of device traces, also as FLASH, FLHetBench and FedScale distribute them."""

from __future__ import annotations

import json
import logging
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import DeviceTraces, read_traces
from f3ast_tff.availability.logs.trace_files import is_eligible
from f3ast_tff.core.errors import DataError, ParameterError

DAY = 86_400
STATES = [[0, "AVL_TRAIN"], [300, "UN_AVL"], [600, "AVL_EVAL"]]
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
        "ready_time": [[2671102.0, 2671255.0], [2769869.0, 2769879.0], [2770109.0, 2770158.0]],
    },
    "451": {"isSuccess": False, "trace_start": None, "trace_end": None, "ready_time": []},
}
FEDSCALE = {
    1: {"duration": 300, "inactive": [150, 400], "finish_time": 1000, "active": [50, 200]},
    2: {"duration": 100, "inactive": [], "finish_time": 500, "active": [400], "model": "CPH1801"},
    3: {"duration": 0, "inactive": [5, 2], "finish_time": 500, "active": [1, 3], "model": "x"},
}


def write(folder: Path, content: Any, name: str = "t.json") -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def at(traces: DeviceTraces, *times: float) -> list[list[bool]]:
    """States of each device, by default at 0, 299, 300 and 600 s."""
    return traces.eligible_at(np.array(times or (0, 299, 300, 600), float)).T.tolist()


def test_json_of_states(tmp_path: Path) -> None:
    path = write(tmp_path, {"note": "x", "devices": {"7": STATES, "9": [[0, "UN_AVL"]]}})
    traces = read_traces(path)
    assert traces.names == ("7", "9")
    assert at(traces) == [[True, True, False, True], [False] * 4]
    assert at(read_traces(path, eligible="AVL_TRAIN"))[0] == [True, True, False, False]


def test_json_of_several_lists(tmp_path: Path) -> None:
    path = write(tmp_path, {"devices": {"1": {"2st": [[0, "AVL_TRAIN"]], "3st_50": STATES}}})
    assert at(read_traces(path, "3st_50")) == [[True, True, False, True]]
    for wrong in ("", "4st"):
        with pytest.raises(
            ParameterError, match=f"trace_states = {wrong}: must be one of 2st, 3st"
        ):
            read_traces(path, wrong)


def test_json_of_intervals_not_eligible(tmp_path: Path) -> None:
    """The device is off from 299 for 1 s and from 600 for 50 s, and on otherwise."""
    path = write(tmp_path, {"devices": {"1": [[299, 1], [600, 50]]}})
    traces = read_traces(path)
    assert at(traces) == [[True, False, True, False]]
    assert traces.end == 650
    np.testing.assert_allclose(traces.eligible_seconds(np.array([0.0, 700.0])), [[649]])


def test_csv(tmp_path: Path) -> None:
    text = "device,time,state\nb,0,idle+wifi\na,0,wifi\nb,300,wifi\na,299.5,idle+charging+wifi\n"
    traces = read_traces(write(tmp_path, text, "t.csv"), eligible="idle+wifi")
    assert traces.names == ("b", "a")
    assert at(traces) == [[True, True, False, False], [False, False, True, True]]


@pytest.mark.parametrize(
    ("state", "rule", "expected"),
    [
        ("AVL_EVAL", "AVL_TRAIN,AVL_EVAL", True),
        ("UN_AVL", "AVL_TRAIN,AVL_EVAL", False),
        ("idle+charging+wifi", "charging+wifi+idle", True),
        ("charging+wifi", "charging+wifi+idle", False),
        ("charging", "wifi,charging", True),
        ("charg", "charging", False),
    ],
)
def test_which_states_are_eligible(state: str, rule: str, expected: bool) -> None:
    assert is_eligible(state, rule) == expected


def test_flash_messages_by_hand(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Device 7 is eligible from 01:00 to 03:00 of 3 January.

    The trace repeats daily, before and after.
    """
    path = write(tmp_path, FLASH)
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
    traces = read_traces(write(tmp_path, TIMERS))
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
    content = FEDSCALE if form == "a.json" else pickle.dumps(FEDSCALE, protocol)
    traces = read_traces(write(tmp_path, content, form))
    assert traces.names == ("1", "2")
    assert at(traces, 49, 50, 149, 150, 399, 400, 1050) == [
        [False, True, True, False, True, False, True],
        [False, False, False, False, False, True, False],
    ]


class Runs:
    """An object that calls a function if it is unpickled."""

    def __reduce__(self) -> Any:
        return print, ("it ran",)


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
BAD_JSON = {
    "not_json": ('{"devices": ', "Expecting value"),
    "no_devices": ({"clients": {}}, "whose `devices` is an object"),
    "a_list": ([], "whose `devices` is an object"),
    "empty": ({"devices": {}}, "no device"),
    "no_entry": ({"devices": {"3": []}}, "device 3: has no entry"),
    "not_a_pair": ({"devices": {"3": [[0, "ON", 2]]}}, "device 3: entry .*'ON', 2. is not"),
    "no_state": ({"devices": {"3": [[0, None]]}}, "device 3: entry .0, None. is not"),
    "no_number": ({"devices": {"3": [["0", "AVL_TRAIN"]]}}, "device 3: entry"),
    "unsorted": (
        {"devices": {"3": [[5, "AVL_TRAIN"], [4, "UN_AVL"]]}},
        "device 3: time 4 comes after 5",
    ),
    "overlapping": ({"devices": {"3": [[5, 10], [14, 2]]}}, r"device 3: interval \[14, 2\]"),
    "negative": ({"devices": {"3": [[5, -1]]}}, r"device 3: interval \[5, -1\]"),
    "mixed": ({"devices": {"3": [[5, 1], [9, "UN_AVL"]]}}, "device 3: interval"),
    "twice": ('{"devices": {"3": [[0, "x"]], "3": [[0, "y"]]}}', "it names '3' twice"),
    "deep": ("[" * 200_000, "nested too deeply"),
    "deep_state": ({"devices": {"3": [[0, [[[[[[[[1]]]]]]]]]]}}, "device 3: interval"),
    "digits": ('{"devices": {"3": [[' + "9" * 5000 + ', "AVL_TRAIN"]]}}', "digits"),
    "huge": ({"devices": {"3": [[10**400, "AVL_TRAIN"]]}}, "too large"),
    "far": ({"devices": {"3": [[1e300, "AVL_TRAIN"]]}}, r"time 1e\+300 is not within 1e\+12 s"),
    "infinite": ({"devices": {"3": [[0, math.inf]]}}, "device 3: time inf is not within"),
    "nan": ('{"devices": {"3": [[NaN, "AVL_TRAIN"]]}}', "device 3: time is NaN"),
    "no text": ({"1": {"messages": ["a"]}}, "device 1: its messages are not a text"),
    "an unknown message": (
        {"1": {"messages": "2020-01-03 00:00:00\thello\n"}},
        "device 1: message .* nothing",
    ),
    "no messages": ({"1": {"messages": ""}}, "no device is ever eligible"),
    "no list": ({"1": {"ready_time": {}}}, "device 1: its ready_time is not a list"),
    "no pairs": ({"1": {"ready_time": [[1]]}}, "does not hold pairs of times"),
    "no span": ({"1": {"ready_time": [[1, 2]]}}, "does not say from when to when"),
    "falling times": ({"1": {**TIMERS["1"], "ready_time": [[3, 2]]}}, "no device is ever eligible"),
    "no object": ({**TIMERS, "2": 1}, "device 2: must be an object"),
    "a far end": ({"1": {**TIMERS["659"], "trace_end": 1e300}}, "begins or ends beyond"),
}
BAD_CSV = [
    ("", "line 1 must be device,time,state"),
    ("client,time,state\n", "line 1 must be device,time,state"),
    ("device,time,state\n", "no device"),
    ("device,time,state\na,0\n", "line 2: must be a device, a time and a state"),
    ("device,time,state\na,0,on\na,1,\n", "line 3: must be a device"),
    ("device,time,state\na,0," + "x" * 200_000, "field larger than"),
    ('device,time,state\na,0,"on\na,5,off\na,9,on"\n', "line 2: must be a device"),
    ('device,time,state\na,0,"on\n', "unexpected end of data"),
    ("device,time,state\na,inf,on\n", "device a: time inf is not within"),
    ("device,time,state\na,noon,on\n", "line 2: time 'noon' is not a number"),
    ("device,time,state\na,5,on\nb,1,on\na,4,off\n", "device a: time 4 comes after 5"),
]
BAD = [
    *(("client_behave_trace", raw, "client_behave_trace: ") for raw in BAD_PICKLES.values()),
    *(("t.json", *bad) for bad in BAD_JSON.values()),
    *(("t.csv", *bad) for bad in BAD_CSV),
]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    BAD,
    ids=[*BAD_PICKLES, *BAD_JSON, *map(str, range(len(BAD_CSV)))],
)
def test_a_bad_file_is_one_clear_error(
    tmp_path: Path, file: str, content: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, content, file)
    with pytest.raises(DataError, match=message) as raised:
        read_traces(path, eligible="on")
    said = str(raised.value)
    assert said.startswith(f"{path}: ") and "\n" not in said
    assert len(said) < 300
    assert "it ran" not in capsys.readouterr().out


def test_one_list_named_often_does_not_fill_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("f3ast_tff.availability.logs.trace_files._MAX_EVENTS", 10_000)
    shared = [float(t) for t in range(1000)]
    entry = {"active": shared[::2], "inactive": shared[1::2], "finish_time": 1e4}
    with pytest.raises(DataError, match="more than 10000 events"):
        read_traces(write(tmp_path, pickle.dumps(dict.fromkeys(range(1000), entry)), "a.pkl"))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gone.json", "gone.json: there is no such file"),
        ("t.txt", "must end in .json, .csv or .pkl, or be client_b"),
    ],
)
def test_missing_and_unknown_files(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=says):
        read_traces(tmp_path / name)


def test_a_rule_that_no_state_meets_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"devices": {"1": STATES}})
    with pytest.raises(ParameterError, match="trace_eligible = charging: no state in"):
        read_traces(path, eligible="charging")


def test_the_devices_may_be_the_whole_object(tmp_path: Path) -> None:
    bare = {"ann": [[0, "on"], [3600, "off"]], "bob": [[3600, "on"]]}
    files = [
        write(tmp_path, json.dumps(content), name)
        for name, content in (("a.json", bare), ("b.json", {"devices": bare}))
    ]
    found = [read_traces(path, eligible="on") for path in files]
    assert found[0].names == found[1].names == ("ann", "bob")
    np.testing.assert_array_equal(found[0].times, found[1].times)
