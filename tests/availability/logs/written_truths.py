"""Times online of a few devices, written in each form that is known, and what the rows say.

What rows say is computed from the rows themselves, in plain Python and one by one, by the rules of
`docs/advise.md`: a reference for files whose rows are doubled, shuffled or dropped, too.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HOUR, MINUTE = 3600, 60
START = 1_717_200_000  # 2024-06-01T00:00:00Z
STEP = 5 * MINUTE
Row = dict[str, Any]


@dataclass(frozen=True)
class Truth:
    """Times online by device, seconds since `START`, disjoint and rising; the length of the log."""

    visits: dict[str, list[tuple[int, int]]]
    length: int


def drawn(rng: random.Random, grid: int = MINUTE) -> Truth:
    """Draws the times online of 2 to 6 devices over 2 to 6 days; some visits touch."""
    length = rng.randint(2, 6) * 24 * HOUR
    visits: dict[str, list[tuple[int, int]]] = {}
    for k in range(rng.randint(2, 6)):
        found, now = [], rng.randint(0, 10 * HOUR) // grid * grid
        while now < length - 2 * HOUR:
            end = min(now + max(rng.randint(grid, 10 * HOUR) // grid, 1) * grid, length)
            found.append((now, end))
            wait = 0 if rng.random() < 0.05 else max(rng.randint(grid, 14 * HOUR) // grid, 1)
            now = end + wait * grid
        visits[f"dev{k}"] = found
    return Truth(visits, length)


def spans_of(truth: Truth) -> list[Row]:
    """A row per time online, and a last one of no length at the log's end."""
    rows = [
        {"device": device, "a": begin, "b": end, "on": True}
        for device, visits in truth.visits.items()
        for begin, end in visits
    ]
    last = {"device": "dev0", "a": truth.length, "b": truth.length, "on": True}
    return sorted([*rows, last], key=lambda row: row["a"])


def both_spans_of(truth: Truth) -> list[Row]:
    """A row per time online and per time offline: all of the log."""
    rows = []
    for device, visits in truth.visits.items():
        now = 0
        for begin, end in visits:
            if begin > now:
                rows.append({"device": device, "a": now, "b": begin, "on": False})
            rows.append({"device": device, "a": begin, "b": end, "on": True})
            now = end
        if now < truth.length:
            rows.append({"device": device, "a": now, "b": truth.length, "on": False})
    return sorted(rows, key=lambda row: row["a"])


def events_of(truth: Truth) -> list[Row]:
    """A row per change, and one at the log's end."""
    rows = []
    for device, visits in truth.visits.items():
        for number, (begin, end) in enumerate(visits):
            session = f"{device}-{number}"
            rows.append({"device": device, "a": begin, "on": True, "session": session})
            rows.append({"device": device, "a": end, "on": False, "session": session})
    rows.append({"device": "dev0", "a": truth.length, "on": False, "session": "last"})
    return sorted(rows, key=lambda row: (row["a"], row["on"]))


def samples_of(truth: Truth) -> list[Row]:
    """A row per device and five minutes."""
    return [
        {"device": device, "a": time, "on": any(a <= time < b for a, b in visits)}
        for time in range(0, truth.length + 1, STEP)
        for device, visits in truth.visits.items()
    ]


Visits = list[tuple[str, float, float]]


def says_spans(rows: Sequence[Row]) -> Visits:
    return [(row["device"], row["a"], row["b"]) for row in rows if row["on"]]


def says_events(rows: Sequence[Row], key: str = "device") -> Visits:
    """A state holds until the next row of its device. Of two at one time, see below."""
    found: Visits = []
    for each in sorted({row[key] for row in rows}):
        times: dict[float, list[bool]] = {}
        for row in rows:
            if row[key] == each:
                times.setdefault(row["a"], []).append(row["on"])
        order = sorted(times)
        states: list[bool] = []
        for place, time in enumerate(order):
            both = {*times[time]}
            state = times[time][-1]
            if len(both) > 1:
                # What the rows before and after agree on; else the later row.
                before = states[-1] if states else False
                after = times[order[place + 1]][-1] if place + 1 < len(order) else not before
                state = before if before != after else state
            states.append(state)
        device = next(row["device"] for row in rows if row[key] == each)
        for place, (time, state) in enumerate(zip(order, states)):
            if state:
                end = order[place + 1] if place + 1 < len(order) else float("inf")
                found.append((device, time, end))
    return found


def says_sessions(rows: Sequence[Row]) -> Visits:
    """Sessions have their own begin and end; one without an end lasts until the next begins."""
    found = says_events(rows, "session")
    starts: dict[str, list[float]] = {}
    for device, begin, _ in found:
        starts.setdefault(device, []).append(begin)
    return [
        (
            d,
            begin,
            min((s for s in starts[d] if s > begin), default=end) if end == float("inf") else end,
        )
        for d, begin, end in found
    ]


def says_samples(rows: Sequence[Row]) -> Visits:
    """A state holds until the next sample; over a gap for one step."""
    found: Visits = []
    for device in sorted({row["device"] for row in rows}):
        states = {row["a"]: row["on"] for row in rows if row["device"] == device}
        order = sorted(states)
        for place, time in enumerate(order):
            if states[time]:
                following = order[place + 1] if place + 1 < len(order) else float("inf")
                found.append(
                    (device, time, following if following <= time + 1.5 * STEP else time + STEP)
                )
    return found


def shares(rows: Sequence[Row], visits: Visits) -> dict[str, float]:
    """Share of the full hours in which each device of the rows is online."""
    times = [row[each] for row in rows for each in ("a", "b") if each in row]
    first, last = min(times), max(times)
    starts = range(int(first // HOUR) * HOUR, int(-(-last // 1)), HOUR)
    starts = range(int(first // HOUR) * HOUR, max(int(last), int(first // HOUR) * HOUR + 1), HOUR)
    return {
        device: sum(any(d == device and a <= t < b for d, a, b in visits) for t in starts)
        / len(starts)
        for device in sorted({row["device"] for row in rows})
    }


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(START + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Form:
    """A form: its rows, what they say, and how they are written.

    Attributes:
        rows: Rows of a truth.
        says: Times online by the rows.
        cells: A row as written, by column.
        write: Writes rows of cells; returns the file.
        grid: Seconds between times of truths.
    """

    rows: Callable[[Truth], list[Row]]
    says: Callable[[Sequence[Row]], Visits]
    cells: Callable[[Row], Row]
    write: Callable[[Path, list[Row]], Path]
    grid: int = MINUTE


def csv_file(ending: str = "csv", separator: str = ",", before: str = "") -> Callable[..., Path]:
    def write(folder: Path, rows: list[Row]) -> Path:
        lines = [separator.join(rows[0]), *(separator.join(map(str, row.values())) for row in rows)]
        text = before + "\n".join(lines) + "\n"
        path = folder / f"log.{ending}"
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
        return path

    return write


def json_lines(folder: Path, rows: list[Row]) -> Path:
    path = folder / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def home_assistant(folder: Path, rows: list[Row]) -> Path:
    """A list per entity, of which the first state alone names it."""
    entities: dict[str, list[Row]] = {}
    for row in rows:
        entities.setdefault(row["entity_id"], []).append(row)
    for states in entities.values():
        for state in states[1:]:
            del state["entity_id"]
    path = folder / "history.json"
    path.write_text(json.dumps([*entities.values()]))
    return path


def prometheus(folder: Path, rows: list[Row]) -> Path:
    series: dict[str, Row] = {}
    for row in rows:
        metric = {"__name__": "up", "job": "node", "instance": row.pop("instance")}
        pair = [row.pop("time"), row.pop("value")]
        metric |= row
        found = series.setdefault(metric["instance"], {"metric": metric, "values": []})
        found["values"].append(pair)
    path = folder / "range.json"
    data = {"resultType": "matrix", "result": [*series.values()]}
    path.write_text(json.dumps({"status": "success", "data": data}))
    return path


def influx(folder: Path, rows: list[Row]) -> Path:
    names = ["", "result", "table", *rows[0]]
    flags = ["#group", "false", "false", *("true" if n == "host" else "false" for n in rows[0])]
    kinds = ["#datatype", "string", "long", *("string" for _ in rows[0])]
    lines = [",".join(each) for each in (flags, kinds, ["#default", "_result"], names)]
    lines += [",".join(["", "", "0", *map(str, row.values())]) for row in rows]
    path = folder / "influx.csv"
    path.write_text("\n".join(lines))
    return path


def masks_file(folder: Path, rows: list[Row]) -> Path:
    """A row per time, a column per device; doubled or lost rows of devices are those of times."""
    devices = sorted({row["device"] for row in rows})
    table: dict[str, Row] = {}
    for row in rows:
        more = {k: v for k, v in row.items() if k not in ("device", "time", "on")}
        table.setdefault(row["time"], dict.fromkeys(devices, "")).update(
            {row["device"]: row["on"], **more}
        )
    lines = [{"time": time, **row} for time, row in table.items()]
    return csv_file()(folder, lines)


def _named(device: str, time: str, state: str, words: tuple[Any, Any], when: Any = iso) -> Any:
    return lambda row: {device: row["device"], time: when(row["a"]), state: words[row["on"]]}


def _span(start: str, end: str, when: Any = iso, state: str = "", words: Any = None) -> Any:
    return lambda row: {
        "device" if start != "event_start_time" else "node_id": row["device"],
        start: when(row["a"]),
        end: when(row["b"]),
        **({state: words[row["on"]]} if state else {}),
    }


def _lasting(row: Row) -> Row:
    length = row["b"] - row["a"]
    state = "online" if row["on"] else "offline"
    return {
        "device": row["device"],
        "timestamp": iso(row["a"]),
        "duration": length,
        "status": state,
    }


def _ending(row: Row) -> Row:
    return {
        "device": row["device"],
        "ended_at": iso(row["b"]),
        "duration_min": (row["b"] - row["a"]) / MINUTE,
        "status": "online" if row["on"] else "offline",
    }


def _aws(row: Row) -> Row:
    return {
        "clientId": row["device"],
        "timestamp": (START + row["a"]) * 1000,
        "eventType": "connected" if row["on"] else "disconnected",
        "sessionIdentifier": row["session"],
        "principalIdentifier": "p",
        **({} if row["on"] else {"clientInitiatedDisconnect": True}),
        "versionNumber": row["a"] % 2,
    }


def _session(row: Row) -> Row:
    return {
        **_named("device", "time", "event_type", ("leave", "join"))(row),
        "session_id": row["session"],
    }


def epoch(seconds: float) -> int:
    return START + int(seconds)


def milli(seconds: float) -> int:
    return (START + int(seconds)) * 1000


def minutes(seconds: float) -> float:
    return seconds / MINUTE


def ticks(seconds: float) -> int:
    return (START + int(seconds) + 62_135_596_800) * 10**7


_EVENTS, _CSV = (events_of, says_events), csv_file()
FORMS: dict[str, Form] = {
    "spans": Form(spans_of, says_spans, _span("start", "end"), _CSV),
    "spans in seconds": Form(
        spans_of, says_spans, _span("from", "to", epoch), csv_file("csv", ";")
    ),
    "spans in milliseconds": Form(
        spans_of, says_spans, _span("connected_at", "disconnected_at", milli), csv_file("csv.gz")
    ),
    "spans with a state": Form(
        both_spans_of, says_spans, _span("start", "end", iso, "kind", ("down", "up")), _CSV
    ),
    "event_trace": Form(
        both_spans_of,
        says_spans,
        _span("event_start_time", "event_stop_time", epoch, "event_type", (0, 1)),
        csv_file("tsv", "\t"),
    ),
    "events with a duration": Form(both_spans_of, says_spans, _lasting, _CSV),
    "spans by end and length": Form(both_spans_of, says_spans, _ending, _CSV),
    "spans in minutes": Form(spans_of, says_spans, _span("start_min", "end_min", minutes), _CSV),
    "events": Form(*_EVENTS, _named("device", "time", "online", (0, 1)), _CSV),
    "events in ticks": Form(
        *_EVENTS, _named("device", "time", "online", (0, 1), ticks), json_lines
    ),
    "events of words": Form(
        *_EVENTS,
        _named("client", "timestamp", "state", ("off", "on")),
        csv_file("csv", ";", "sep=;\n"),
    ),
    "sessions": Form(events_of, says_sessions, _session, _CSV),
    "AWS IoT": Form(events_of, says_sessions, _aws, json_lines),
    "Home Assistant, CSV": Form(
        *_EVENTS, _named("entity_id", "last_changed", "state", ("unavailable", "on")), _CSV
    ),
    "Home Assistant, JSON": Form(
        *_EVENTS, _named("entity_id", "last_changed", "state", ("off", "on")), home_assistant
    ),
    "annotated CSV": Form(*_EVENTS, _named("host", "_time", "_value", (0, 1)), influx),
    "polled": Form(
        samples_of, says_samples, _named("device", "time", "status", ("down", "up")), _CSV, STEP
    ),
    "Prometheus": Form(
        samples_of,
        says_samples,
        _named("instance", "time", "value", ("0", "1"), epoch),
        prometheus,
        STEP,
    ),
    "masks": Form(
        samples_of, says_samples, _named("device", "time", "on", (0, 1)), masks_file, STEP
    ),
}
