"""The file formats of device traces."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import DeviceTraces, read_traces
from f3ast_tff.availability.trace_files import is_eligible
from f3ast_tff.core.errors import DataError, ParameterError

STATES = [[0, "AVL_TRAIN"], [300, "UN_AVL"], [600, "AVL_EVAL"]]
TIMES = np.array([0.0, 299, 300, 600])


def write(folder: Path, content: Any, name: str = "t.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def states(traces: DeviceTraces) -> list[list[bool]]:
    return traces.eligible_at(TIMES).T.tolist()


def test_json_of_states(tmp_path: Path) -> None:
    path = write(tmp_path, {"note": "x", "devices": {"7": STATES, "9": [[0, "UN_AVL"]]}})
    traces = read_traces(path)
    assert traces.names == ("7", "9")
    assert states(traces) == [[True, True, False, True], [False] * 4]
    assert states(read_traces(path, eligible="AVL_TRAIN"))[0] == [True, True, False, False]


def test_json_of_several_lists(tmp_path: Path) -> None:
    path = write(tmp_path, {"devices": {"1": {"2st": [[0, "AVL_TRAIN"]], "3st_50": STATES}}})
    assert states(read_traces(path, "3st_50")) == [[True, True, False, True]]
    for wrong in ("", "4st"):
        with pytest.raises(
            ParameterError, match=f"trace_states = {wrong}: must be one of 2st, 3st"
        ):
            read_traces(path, wrong)


def test_json_of_intervals_not_eligible(tmp_path: Path) -> None:
    """The device is off from 299 for 1 s and from 600 for 50 s, and on otherwise."""
    path = write(tmp_path, {"devices": {"1": [[299, 1], [600, 50]]}})
    traces = read_traces(path)
    assert states(traces) == [[True, False, True, False]]
    assert traces.end == 650
    np.testing.assert_allclose(traces.eligible_seconds(np.array([0.0, 700.0])), [[649]])


def test_csv(tmp_path: Path) -> None:
    text = "device,time,state\nb,0,idle+wifi\na,0,wifi\nb,300,wifi\na,299.5,idle+charging+wifi\n"
    traces = read_traces(write(tmp_path, text, "t.csv"), eligible="idle+wifi")
    assert traces.names == ("b", "a")
    assert states(traces) == [[True, True, False, False], [False, False, True, True]]


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
    "deep_state": (
        {"devices": {"3": [[0, [[[[[[[[1]]]]]]]]]]}},
        "device 3: interval",
    ),
    "digits": ('{"devices": {"3": [[' + "9" * 5000 + ', "AVL_TRAIN"]]}}', "digits"),
    "huge": ({"devices": {"3": [[10**400, "AVL_TRAIN"]]}}, "too large"),
    "far": ({"devices": {"3": [[1e300, "AVL_TRAIN"]]}}, r"time 1e\+300 is not within 1e\+12 s"),
    "infinite": ({"devices": {"3": [[0, math.inf]]}}, "device 3: time inf is not within"),
    "nan": ('{"devices": {"3": [[NaN, "AVL_TRAIN"]]}}', "device 3: time is NaN"),
}


@pytest.mark.parametrize(("content", "message"), BAD_JSON.values(), ids=BAD_JSON)
def test_bad_json_is_one_clear_error(tmp_path: Path, content: Any, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DataError, match=message) as raised:
        read_traces(path)
    assert str(raised.value).startswith(f"{path}: ") and len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
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
    ],
)
def test_bad_csv_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text, "t.csv")
    with pytest.raises(DataError, match=message) as raised:
        read_traces(path, eligible="on")
    assert str(raised.value).startswith(f"{path}: ")


def test_missing_and_unknown_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone.json: there is no such file"):
        read_traces(tmp_path / "gone.json")
    with pytest.raises(DataError, match="must end in .json, .csv or .pkl, or be client_b"):
        read_traces(tmp_path / "t.txt")


def test_a_rule_that_no_state_meets_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"devices": {"1": STATES}})
    with pytest.raises(ParameterError, match="trace_eligible = charging: no state in"):
        read_traces(path, eligible="charging")
