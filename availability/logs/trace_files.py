"""Reads device traces from files.

JSON: `{"devices": {NAME: TRACE, ...}, ...}`; other keys are ignored. TRACE is one of

- a list of `[time, "state"]`; a state holds until the next entry;
- an object of several such lists by name, `{"2st": [...], "3st_50": [...]}`, one to be chosen;
- a list of `[start, duration]`: intervals in which the device is not eligible; it is eligible at
  all other times.

CSV: a header line `device,time,state`, then a line per entry, as in the first JSON form; devices
may be interleaved. Times are in seconds, on one clock for all devices, never decreasing in a
device. A file has at most 256 MiB.

JSON and pickles in the forms of FLASH, FLHetBench and FedScale:

- FLASH (github.com/PKU-Chengxu/FLASH), `data/state_traces.json`: `{ID: {"messages": TEXT, ...}}`,
  with a message per line: a time such as 2020-01-29 18:00:00, a tab and the event.
- FLASH's `cached_timers.json`, which FLHetBench (github.com/Carkham/FLHetBench) distributes in
  `data/`: `{ID: {"isSuccess": BOOL, "trace_start": T, "trace_end": T, "ready_time": SPANS}}`, SPANS
  a list of `[T, T]`.
- FedScale (github.com/SymbioticLab/FedScale), `client_behave_trace`, a pickle of
  `{ID: {"active": [T, ...], "inactive": [T, ...], "finish_time": T, ...}}`, also as JSON: eligible
  from the i-th time of `active` to the i-th time of `inactive`.

These simulators repeat each device's trace after the device's length, as is done here. Times are
seconds; FLASH's count from 2020-01-02 00:00:00 of its clock. Devices that these simulators skip are
left out: their states are unknown, they are never eligible, or their times are damaged or out of
order.
"""

from __future__ import annotations

import csv
import io
import logging
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from reprlib import repr
from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.availability.logs.device_traces import DeviceTraces
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.files.data_files import read_bytes, read_json, read_text
from f3ast_tff.files.plain_pickle import load_plain
from f3ast_tff.settings.text_values import number_in

_LOG = logging.getLogger(__name__)

CSV_HEADER = ["device", "time", "state"]
ELIGIBLE = "AVL_TRAIN,AVL_EVAL"
FEDSCALE_NAME = "client_behave_trace"
# Largest number of list names in a message.
_NAMED = 10
_PICKLE_BYTES = 2**26
_OPCODES = 2**24
# Limit on events, because a pickle can name one list many times.
_MAX_EVENTS = 2**25
_ALLOWED = "must be an object whose `devices` is an object, or a list with an object per row"
_FLASH_ZERO = datetime(2020, 1, 2)
# States in which FLASH trains on a device, by the names used here.
FLASH_READY = frozenset({"charging", "locked", "wifi"})
_MESSAGES = {
    **{"battery_charged_on": ("charging", True), "battery_charged_off": ("charging", False)},
    **{"screen_off": ("screen_off", True), "screen_on": ("screen_off", False)},
    **{"screen_lock": ("locked", True), "screen_unlock": ("locked", False)},
    **{"wifi": ("wifi", True), "unknown": ("wifi", False)},
    **{f"{n}g": ("wifi", False) for n in "2345"},
}
# Times and states; a state is a word for `is_eligible`, or whether the device is eligible.
_Events = list[tuple[float, str | bool]]


class _Trace(NamedTuple):
    """The events of a device, and when its trace begins and begins again if it repeats."""

    events: _Events
    span: tuple[float, float] | None = None


def is_eligible(state: str, rule: str) -> bool:
    """Returns whether a state makes a device eligible.

    Args:
        state: A word, or conditions joined by `+`, as in `charging+wifi`.
        rule: Alternatives separated by commas. An alternative is one or more conditions joined by
            `+`; for some alternative, the state must have all conditions.

    Examples:
        >>> from f3ast_tff.availability.logs.trace_files import is_eligible
        >>> is_eligible("idle+wifi+charging", "AVL_TRAIN,charging+wifi")
        True
    """
    conditions = set(state.split("+"))
    return any(set(alternative.split("+")) <= conditions for alternative in rule.split(","))


def read_traces(path: Path, states: str = "", eligible: str = ELIGIBLE) -> DeviceTraces:
    """Reads a file of one of the forms above.

    Args:
        path: A `.json` or `.csv` file, or FedScale's pickle, with a name that ends in `.pkl` or in
            `client_behave_trace`.
        states: Name of the list to use if a device has several; else unused.
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
            found = _of_csv(read_text(path))
        else:
            content = read_pickle(path) if pickled else read_json(path)
            found = _published(content) or _of_json(content, states)
        traces = _traces(found, eligible)
    except ParameterError:
        raise
    except (OSError, ValueError, OverflowError, csv.Error, DataError) as error:
        raise DataError(f"{path}: {error}") from error
    if not traces.eligible.any():
        raise ParameterError("trace_eligible", eligible, f"no state in {path} is eligible by it")
    return traces


def read_pickle(path: Path) -> Any:
    """Returns the value in a pickle of plain values, at most 64 MiB.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is damaged, or holds anything else.
    """
    return load_plain(read_bytes(path, _PICKLE_BYTES), _OPCODES)


def _traces(found: Mapping[str, _Trace], rule: str) -> DeviceTraces:
    events = [event for trace in found.values() for event in trace.events]
    words = {state for _, state in events if isinstance(state, str)}
    meaning: dict[str | bool, bool] = {word: is_eligible(word, rule) for word in words}
    meaning.update({True: True, False: False})
    spans = [trace.span for trace in found.values() if trace.span is not None]
    return DeviceTraces(
        tuple(found),
        offsets=np.cumsum([0] + [len(trace.events) for trace in found.values()]),
        times=np.array([time for time, _ in events], np.float64),
        eligible=np.array([meaning[state] for _, state in events], bool),
        spans=np.array(spans, np.float64) if spans else None,
    )


def _published(content: Any) -> dict[str, _Trace] | None:
    """Returns the devices of a file in a simulator's form; `None` for other forms."""
    if not isinstance(content, Mapping) or not content:
        return None
    first = next(iter(content.values()))
    forms = {"messages": _flash, "ready_time": _timer, "active": _fedscale}
    known = [forms[key] for key in forms if isinstance(first, Mapping) and key in first]
    if not known:
        return None
    found: dict[str, _Trace] = {}
    left_out, events = [], 0
    for name, entry in content.items():
        if not isinstance(entry, Mapping):
            raise DataError(f"device {name}: must be an object")
        try:
            trace = known[0](entry)
        except DataError as error:
            raise DataError(f"device {name}: {error}") from error
        if trace is None:
            left_out.append(str(name))
        else:
            found[str(name)] = trace
            events += len(trace.events)
        if events > _MAX_EVENTS:
            raise DataError(f"it has more than {_MAX_EVENTS} events")
    if not found:
        raise DataError("no device is ever eligible")
    if left_out:
        _LOG.warning(
            "left out %d of %d devices, of which nothing is known, which are never eligible or "
            "whose times are damaged or out of order; the first is %s",
            len(left_out),
            len(content),
            left_out[0],
        )
    return found


def _flash(entry: Mapping[str, Any]) -> _Trace | None:
    text = entry.get("messages")
    if not isinstance(text, str):
        raise DataError("its messages are not a text")
    state: set[str] = set()
    events: _Events = []
    last = -float("inf")
    for line in text.splitlines():
        if not line.strip():
            continue
        when, _, what = line.strip().partition("\t")
        try:
            time = (datetime.fromisoformat(when.strip()) - _FLASH_ZERO).total_seconds()
        except (ValueError, TypeError):
            return None
        _change(state, what.strip().lower(), line)
        if time < last:
            return None
        last = time
        ready = ["AVL_TRAIN"] if state >= FLASH_READY else []
        word = "+".join([*sorted(state), *ready]) or "none"
        if not events or events[-1][1] != word:
            events.append((time, word))
    return _Trace(events, (events[0][0], last)) if events and last > events[0][0] else None


def _change(state: set[str], what: str, line: str) -> None:
    if what.endswith("%"):
        return
    if what not in _MESSAGES:
        raise DataError(f"message {repr(line)} says nothing that is known")
    name, holds = _MESSAGES[what]
    (state.add if holds else state.discard)(name)


def _timer(entry: Mapping[str, Any]) -> _Trace | None:
    spans = entry.get("ready_time")
    if not isinstance(spans, list):
        raise DataError("its ready_time is not a list")
    if entry.get("isSuccess") is False:
        return None
    pairs = all(isinstance(span, list) and len(span) == 2 for span in spans)
    if not pairs or not all(_is_number(time) for span in spans for time in span):
        raise DataError("its ready_time does not hold pairs of times")
    return _of_spans(entry.get("trace_start"), entry.get("trace_end"), spans)


def _fedscale(entry: Mapping[str, Any]) -> _Trace | None:
    lists = [entry.get("active"), entry.get("inactive")]
    for times in lists:
        if not isinstance(times, list) or not all(_is_number(time) for time in times):
            raise DataError("its active and inactive are not lists of times")
    active, inactive = lists
    assert active is not None and inactive is not None
    end = entry.get("finish_time")
    if len(active) == len(inactive) + 1:
        inactive = [*inactive, end]
    if len(active) != len(inactive):
        return None
    return _of_spans(0, end, list(zip(active, inactive)))


def _of_spans(start: Any, end: Any, spans: list[Any]) -> _Trace | None:
    """The trace of a device that is eligible only in these spans; `None` if they do not rise."""
    if not (_is_number(start) and _is_number(end)):
        raise DataError("it does not say from when to when it was seen")
    times = [start, *(time for span in spans for time in span), end]
    if not spans or end <= start or any(a > b for a, b in zip(times, times[1:])):
        return None
    events: _Events = [(start, False)]
    for first, last in spans:
        events += [(first, True), (last, False)]
    return _Trace(events, (start, end))


def _of_json(content: Any, states: str) -> dict[str, _Trace]:
    devices = content.get("devices", content) if isinstance(content, Mapping) else None
    # Without `devices` the object may be that of the devices.
    bare = isinstance(content, Mapping) and "devices" not in content
    if not isinstance(devices, Mapping) or (bare and not devices):
        raise DataError(_ALLOWED)
    if bare and not all(isinstance(trace, list) for trace in devices.values()):
        raise DataError(_ALLOWED)
    return {name: _Trace(_device(name, trace, states)) for name, trace in devices.items()}


def _device(name: str, trace: Any, states: str) -> _Events:
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
        return list(trace)
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


def _of_csv(text: str) -> dict[str, _Trace]:
    found: dict[str, _Trace] = {}
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    if next(lines, None) != CSV_HEADER:
        raise DataError(f"line 1 must be {','.join(CSV_HEADER)}")
    for number, line in enumerate(lines, 2):
        # A surplus quotation mark hides the lines up to the next mark.
        if len(line) != 3 or not line[2] or any("\n" in entry for entry in line):
            raise DataError(f"line {number}: must be a device, a time and a state")
        device, time, state = line
        try:
            seconds = number_in(time)
        except ValueError as error:
            raise DataError(f"line {number}: time {repr(time)} is not a number") from error
        # Equal states are one object in memory.
        found.setdefault(device, _Trace([])).events.append((seconds, sys.intern(state)))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
