"""Reads device traces from files.

JSON: `{"devices": {NAME: TRACE, ...}, ...}`, other keys ignored, TRACE being one of

- a list of `[time, "state"]`, a state holding until the next entry;
- an object of several such lists by name, `{"2st": [...], "3st_50": [...]}`, one to be chosen;
- a list of `[start, duration]`: intervals in which the device is not eligible; it is otherwise.

JSON and pickles as FLASH, FLHetBench and FedScale distribute them: see `published_traces`.

CSV: a header line `device,time,state`, then a line an entry, as in the first JSON form; devices may
be interleaved. Times are in seconds, on one clock for all devices, never decreasing in a device.
A file has at most 256 MiB.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from reprlib import repr
from typing import Any

import numpy as np

from f3ast_tff.availability.device_traces import DeviceTraces
from f3ast_tff.availability.published_traces import PublishedTrace, published, read_pickle
from f3ast_tff.core.data_files import read_json, read_text
from f3ast_tff.core.errors import DataError, ParameterError

CSV_HEADER = ["device", "time", "state"]
ELIGIBLE = "AVL_TRAIN,AVL_EVAL"
FEDSCALE_NAME = "client_behave_trace"
# How many names of lists a message has.
_NAMED = 10


def is_eligible(state: str, rule: str) -> bool:
    """Returns whether a state makes a device eligible.

    Args:
        state: One word, or conditions joined by `+`, as in `charging+wifi`.
        rule: Alternatives separated by commas, each one or more conditions joined by `+`: some
            alternative must have all its conditions in the state.

    Examples:
        >>> from f3ast_tff.availability.trace_files import is_eligible
        >>> is_eligible("idle+wifi+charging", "AVL_TRAIN,charging+wifi")
        True
    """
    conditions = set(state.split("+"))
    return any(set(alternative.split("+")) <= conditions for alternative in rule.split(","))


def read_traces(path: Path, states: str = "", eligible: str = ELIGIBLE) -> DeviceTraces:
    """Reads a file of one of the forms above.

    Args:
        path: A `.json` or `.csv` file, or FedScale's pickle, of a name that ends in `.pkl` or in
            `client_behave_trace`.
        states: Name of the list to take where a device has several; else unused.
        eligible: The rule of `is_eligible`; unused for intervals.

    Raises:
        DataError: If the file is missing or damaged; names the file, the device and the fault.
        ParameterError: If `states` names no list, or no state of the file is eligible.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> import pandas as pd
        >>> from f3ast_tff.availability import read_traces
        >>> states = ["charging+wifi", "unplugged", "charging"]
        >>> log = {"device": list("aab"), "time": [0, 60, 0], "state": states}
        >>> pd.DataFrame(log).to_csv("traces.csv", index=False)
        >>> traces = read_traces(Path("traces.csv"), eligible="charging")
        >>> traces.names, traces.eligible_at(np.array([30, 90])).tolist()
        (('a', 'b'), [[True, True], [False, True]])
    """
    pickled = path.suffix == ".pkl" or path.name == FEDSCALE_NAME
    if path.suffix not in (".json", ".csv") and not pickled:
        raise DataError(f"{path}: must end in .json, .csv or .pkl, or be {FEDSCALE_NAME}")
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        if path.suffix == ".csv":
            traces = _traces(_of_csv(read_text(path), eligible))
        else:
            content = read_pickle(path) if pickled else read_json(path)
            repeated = published(content)
            if repeated is None:
                traces = _traces(_of_json(content, states, eligible))
            else:
                traces = _of_published(repeated, eligible)
    except ParameterError:
        raise
    except (OSError, ValueError, OverflowError, csv.Error, DataError) as error:
        raise DataError(f"{path}: {error}") from error
    if not traces.eligible.any():
        raise ParameterError("trace_eligible", eligible, f"no state in {path} is eligible by it")
    return traces


_Events = list[tuple[float, bool]]


def _traces(found: dict[str, _Events], spans: np.ndarray | None = None) -> DeviceTraces:
    if not found:
        raise DataError("the trace has no device")
    offsets = np.cumsum([0] + [len(events) for events in found.values()])
    times, answers = zip(*(event for events in found.values() for event in events))
    states = np.array(times, np.float64), np.array(answers, bool)
    return DeviceTraces(tuple(found), offsets, *states, spans)


def _of_published(found: dict[str, PublishedTrace], rule: str) -> DeviceTraces:
    """The rule says nothing of a device that is known by spans alone."""
    events: dict[str, _Events] = {}
    for name, trace in found.items():
        events[name] = [
            (time, state if isinstance(state, bool) else is_eligible(state, rule))
            for time, state in trace.events
        ]
    if not found:
        raise DataError("no device is ever eligible")
    return _traces(events, np.array([[trace.start, trace.end] for trace in found.values()], float))


def _of_json(content: Any, states: str, rule: str) -> dict[str, _Events]:
    devices = content.get("devices") if isinstance(content, Mapping) else None
    if not isinstance(devices, Mapping):
        raise DataError("must be an object whose `devices` is an object")
    return {name: _device(name, trace, states, rule) for name, trace in devices.items()}


def _device(name: str, trace: Any, states: str, rule: str) -> _Events:
    if isinstance(trace, Mapping):
        if states not in trace:
            names = ", ".join(list(trace)[:_NAMED])
            raise ParameterError("trace_states", states, f"must be one of {names}")
        trace = trace[states]
    if not isinstance(trace, Sequence) or not trace:
        raise DataError(f"device {name}: has no entry")
    for entry in trace:
        pair = isinstance(entry, Sequence) and len(entry) == 2
        if not (pair and _is_number(entry[0]) and (entry[1] or _is_number(entry[1]))):
            raise DataError(f"device {name}: entry {repr(entry)} is not a time and a state")
    if all(isinstance(state, str) for _, state in trace):
        return [(time, is_eligible(state, rule)) for time, state in trace]
    return _of_intervals(name, trace)


def _of_intervals(name: str, intervals: Sequence[Sequence[Any]]) -> _Events:
    events: _Events = [(-np.inf, True)]
    for start, duration in intervals:
        if not _is_number(duration) or duration < 0 or start < events[-1][0]:
            raise DataError(
                f"device {name}: interval {repr([start, duration])} is negative, overlaps the one "
                "before or comes before it"
            )
        events += [(start, False), (start + duration, True)]
    return events


def _of_csv(text: str, rule: str) -> dict[str, _Events]:
    found: dict[str, _Events] = {}
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    if next(lines, None) != CSV_HEADER:
        raise DataError(f"line 1 must be {','.join(CSV_HEADER)}")
    for number, line in enumerate(lines, 2):
        # A quotation mark too many hides the lines up to the next.
        if len(line) != 3 or not line[2] or any("\n" in entry for entry in line):
            raise DataError(f"line {number}: must be a device, a time and a state")
        device, time, state = line
        try:
            event = (float(time), is_eligible(state, rule))
        except ValueError as error:
            raise DataError(f"line {number}: time {repr(time)} is not a number") from error
        found.setdefault(device, []).append(event)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
