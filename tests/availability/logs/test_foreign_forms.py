"""Files as programs write them: lines before names, JSON and CSV of known systems, frames."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import FederatedData, advise
from f3ast_tff.availability.logs.availability_log import log_of_frame, read_log
from f3ast_tff.core.errors import DataError

HOUR = 3600
# Device a is online from 0 to 2 h, b from 1 to 3 h; the log ends at 4 h.
MASKS = [[1, 0], [1, 1], [0, 1], [0, 0]]
START = "2024-06-01T0"
ROWS = [("a", 0, 1), ("b", 1, 1), ("a", 2, 0), ("b", 3, 0), ("a", 4, 0)]


def lines(separator: str, names: str = "device,time,online", q: str = "") -> str:
    rows = [f"{q}{k}{q},{START}{h}:00:00Z,{on}" for k, h, on in ROWS]
    return "\n".join([names, *rows]).replace(",", separator) + "\n"


INFLUX = """#group,false,false,true,true,false,false,true
#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string
#default,_result,,,,,,
,result,table,_start,_stop,_time,_value,host
"""
TABLES = [
    "".join(
        f",,{n},2024-06-01T00:00:00Z,2024-06-02T00:00:00Z,{START}{h}:00:00Z,{on},{k}\n"
        for k, h, on in ROWS
        if k == device
    )
    for n, device in enumerate("ab")
]
OBJECTS = [{"device": k, "time": f"{START}{h}:00:00Z", "online": on} for k, h, on in ROWS]
TEXTS = {
    "sep": ("x.csv", "sep=;\n" + lines(";")),
    "sep in quotes": ("x.csv", '"sep=;"\n' + lines(";")),
    "names with commas among semicolons": (
        "x.csv",
        f"Time;a;b\n{START}0:00:00Z;1;0\n{START}1:00:00Z;1;1\n{START}2:00:00Z;0;1\n"
        f"{START}3:00:00Z;0;0\n",
    ),
    "pipes": ("x.csv", lines("|")),
    "tab": ("x.tab", lines("\t")),
    "names that come again": ("x.csv", lines(",").replace("b,", lines(",")[:19] + "b,", 1)),
    "a comma before fractions": ("x.csv", lines(";").replace(":00Z", ":00,000Z")),
    "comments": ("x.csv", "# made by a program\n# version 2\n" + lines(",")),
    "a title": ("x.csv", "Report of May\n\n" + lines(",")),
    "a header behind a hash": ("x.tsv", "#" + lines("\t")),
    "a byte order mark": ("x.csv", "\ufeff" + lines(",")),
    "annotated": ("x.csv", INFLUX + "".join(TABLES)),
    "annotated, a table per host": ("x.csv", f"{INFLUX}{TABLES[0]}\r\n{INFLUX}{TABLES[1]}"),
    "Home Assistant": (
        "x.csv",
        "entity_id,state,last_changed\n"
        + "".join(f"{k},{'on' if on else 'unknown'},{START}{h}:00:00.000Z\n" for k, h, on in ROWS),
    ),
    "deeper": ("x.json", json.dumps({"meta": {"n": 1}, "summary": {"states": OBJECTS}})),
    "items": (
        "x.json",
        json.dumps(
            {
                "kind": "List",
                "items": [
                    {"device": k, "time": f"{START}{h}:00:00Z", "status": {"online": on}}
                    for k, h, on in ROWS
                ],
            }
        )
        .replace('"status": {"online": 1}', '"online": 1')
        .replace('"status": {"online": 0}', '"online": 0'),
    ),
}


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_texts_of_programs(form: str, packed: str, tmp_path: Path) -> None:
    name, text = TEXTS[form]
    path = tmp_path / f"{name}{packed}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    log = read_log(path)
    assert log.clients == ("a", "b")
    assert log.masks.table().astype(int).tolist() == MASKS


def matrix(**labels: list[str]) -> dict[str, Any]:
    """Minutes of a range query: a answers always, b not in the second hour, c from 3:00 on."""
    up = {"a": range(240), "b": [*range(60), *range(120, 240)], "c": range(180, 240)}
    result = [
        {
            "metric": {"__name__": "up", **{label: values[n] for label, values in labels.items()}},
            "values": [[1_717_200_000 + 60 * t, "1"] for t in times],
        }
        for n, times in enumerate(up.values())
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def test_a_range_query_of_prometheus(tmp_path: Path) -> None:
    """A gap is no answer. The page says that c is first seen late, if it is a day or more."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(matrix(instance=["a:9100", "b:9100", "c:9100"], job=["n"] * 3)))
    log = read_log(path)
    assert log.clients == ("a:9100", "b:9100", "c:9100")
    assert log.masks.table().astype(int).T.tolist() == [[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1]]
    assert "Prometheus' range query: events, 3 devices" in log.read_as
    assert log.first_round is not None and log.first_round.tolist() == [1, 1, 4]


def test_gaps_in_masks_are_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        f'"Time","a","b"\n{START}0:00:00Z,1,null\n{START}1:00:00Z,,1\n{START}2:00:00Z,1,0\n'
    )
    assert read_log(path).masks.table().astype(int).tolist() == [[1, 0], [0, 1], [1, 0]]
    assert "2 of 6 entries are empty: no answer, which counts as offline" in caplog.text
    path.write_text(f"time,a,b\n{START}0:00:00Z,1,\n{START}1:00:00Z,,\n{START}2:00:00Z,,0\n")
    with pytest.raises(DataError, match="4 of 6 entries are empty: is it a table of changes"):
        read_log(path)


class Foreign:
    """A table of another library: columns that are no names, and a conversion."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.columns = [frame[name].tolist() for name in frame.columns]

    def to_pandas(self) -> pd.DataFrame:
        return self.frame


def frames() -> list[Any]:
    import pyarrow as pa

    rows = [{"device": k, "time": 1_717_200_000 + h * HOUR, "online": on} for k, h, on in ROWS]
    frame = pd.DataFrame(rows)
    found = [frame, pa.Table.from_pandas(frame), Foreign(frame)]
    # As Modin: the names of pandas, and the conversion behind an accessor.
    found.append(SimpleNamespace(iloc=0, columns=0, to_numpy=0, modin=Foreign(frame)))
    try:
        import polars  # type: ignore[import-not-found]
    except ImportError:
        return found
    return [*found, polars.DataFrame(rows)]


@pytest.mark.long
def test_frames_of_other_libraries() -> None:
    for frame in frames():
        assert log_of_frame(frame).masks.table().astype(int).tolist() == MASKS
        assert advise(frame, ks=[1]).clients == ("a", "b")
    no_tables = [
        (3, "int"),
        (SimpleNamespace(to_pandas=lambda: pd.Series([1])), "pandas.*Series"),
        (SimpleNamespace(iloc=0, columns=["device"]), "types.SimpleNamespace"),
    ]
    for each, name in no_tables:
        allowed = f"must be a DataFrame, or a table with to_pandas, not {name}$"
        with pytest.raises(DataError, match=allowed):
            log_of_frame(each)


def test_data_in_frames_of_other_libraries() -> None:
    import pyarrow as pa

    table = {"client": ["a", "a", "b", "b"] * 5, "label": [0, 1, 0, 1] * 5, "x": [0.1, 0.2] * 10}
    for frame in (pa.table(table), Foreign(pd.DataFrame(table))):
        data = FederatedData.from_frame(frame)
        assert repr(data.train) == "ClientExamples(N=2, examples=18, shape=(1,))"
    with pytest.raises(
        ValueError, match="must be a DataFrame, or a table with to_pandas, not dict"
    ):
        FederatedData.from_frame(table)
    rounded = pd.DataFrame(table).assign(client=[2.0**53 + 2, 1.0] * 10)
    with pytest.raises(ValueError, match="id 9007199254740994 is a floating-point number: above"):
        FederatedData.from_frame(rounded)
    long = pd.DataFrame({"client": [*map(str, range(200_000))], "label": 0, "x": 1.0})
    long.loc[7, "client"] = "x" * 1000
    with pytest.raises(
        ValueError, match="is a text of 1000 characters, and NumPy gives all 200000"
    ):
        FederatedData.from_frame(long)


def test_masks_in_longer_rounds_are_read_as_the_same_log_of_events() -> None:
    """Minutes of two days; a device's rows are samples of its times online."""
    rng = np.random.default_rng(0)
    states = np.repeat(rng.random((97, 3)) < 0.4, 37, axis=0)[: 48 * 60 + 1].astype(int)
    times = pd.date_range("2024-06-01", periods=len(states), freq="min", tz="UTC")
    masks = pd.DataFrame(states, columns=list("abc"))
    masks.insert(0, "time", times)
    long = masks.melt("time", var_name="device", value_name="online")
    changed = long[long.groupby("device")["online"].diff().fillna(1) != 0]
    last = long[long["time"] == times[-1]]
    events = log_of_frame(pd.concat([changed, last], ignore_index=True))
    longer = log_of_frame(masks, columns="round_seconds=3600")
    assert longer.masks.shape == (49, 3) and longer.round_seconds == HOUR
    assert longer.masks.table()[:48].tolist() == events.masks.table().tolist()
    shown = (
        f"{states.mean():.1%} of the rows online, {longer.masks.mean().mean():.1%} of the rounds"
    )
    assert f"rounds of 1 h, of each its first row of 60 s ({shown})" in longer.read_as


def series_of(device: str, states: list[int]) -> dict[str, Any]:
    """Series of Prometheus, a state per hour."""
    pairs = [[1_717_200_000 + HOUR * k, str(on)] for k, on in enumerate(states)]
    return {"metric": {"__name__": "up", "instance": device}, "values": pairs}


def test_series_as_promtool_and_victoriametrics_write_them(tmp_path: Path) -> None:
    series = [series_of(k, [row[n] for row in MASKS]) for n, k in enumerate("ab")]
    alone = tmp_path / "promtool.json"
    alone.write_text(json.dumps(series))
    lines = tmp_path / "export.jsonl"
    lines.write_text(
        "\n".join(
            map(
                json.dumps,
                (
                    {
                        "metric": each["metric"],
                        "values": [int(on) for _, on in each["values"]],
                        "timestamps": [1000 * time for time, _ in each["values"]],
                    }
                    for each in series
                ),
            )
        )
    )
    for path in (alone, lines):
        log = read_log(path)
        assert log.clients == ("a", "b")
        assert [log.masks.row(t).tolist() for t in (1, 2, 3)] == [
            list(map(bool, m)) for m in MASKS[:3]
        ]


# Kubernetes' events have members that are always null.
EVENTS = [{"node": k, "at": f"{START}{h}:00:00Z", "kind": on, "none": None} for k, h, on in ROWS]
REFUSED: dict[str, tuple[str, bytes | str | dict[str, Any], str]] = {
    "a list per device": (
        "x.json",
        {"all": {k: {"log": [{"time": f"{START}{h}:00:00Z", "online": on}]} for k, h, on in ROWS}},
        "by --columns=device=name",
    ),
    "lists of two kinds": (
        "x.json",
        {"a": [{"x": 1}], "b": [{"y": 1}]},
        "device a: entry .* is not a time and",
    ),
    "an error of Prometheus": (
        "x.json",
        {"status": "error", "errorType": "bad_data", "error": "no"},
        "answer is an error: no",
    ),
    "an instant of Prometheus": (
        "x.json",
        {"data": {"resultType": "vector", "result": []}},
        "ask for a range, /api/v1/query_range",
    ),
    "no series": ("x.json", {"data": {"resultType": "matrix", "result": []}}, "without a series"),
    "no values": (
        "x.json",
        {"data": {"resultType": "matrix", "result": [{"metric": {}}]}},
        "a series has no metric and values",
    ),
    "two labels": (
        "x.json",
        matrix(job=["n", "n", "m"], zone=["x", "y", "y"]),
        r"no label alone tells apart \(job, zone\): query a series",
    ),
    "a column of nothing": (
        "x.json",
        {"items": EVENTS},
        "time=at,state=kind .*: 2 devices, 50.0% on",
    ),
    "two tables of Influx": (
        "x.csv",
        f"{INFLUX}{TABLES[0]}\n{INFLUX.replace('host', 'room')}{TABLES[1]}",
        "annotated CSV .#group. with tables of other columns",
    ),
    "no table of Influx": (
        "x.csv",
        INFLUX.partition("\n,")[0],
        "annotated CSV .#group. without a table",
    ),
    "zst": (
        "x.csv.zst",
        b"(\xb5/\xfd",
        "x.csv.zst: (Python unpacks .zst from 3.14 on|it is damaged)",
    ),
    "gz": ("x.csv.gz", b"no gzip", "Not a gzipped file|it is damaged"),
}


@pytest.mark.parametrize(("name", "content", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_named(
    name: str, content: bytes | str | dict[str, Any], said: str, tmp_path: Path
) -> None:
    if isinstance(content, dict):
        content = json.dumps(content)
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=said):
        read_log(tmp_path / name)


def test_a_length_of_hours_or_minutes_is_asked() -> None:
    frame = pd.DataFrame({"device": ["a", "b"], "start": [0, 60], "duration": ["1:30", "0:45"]})
    with pytest.raises(DataError, match="1:30 is hours or minutes, write 1:30:00 or 0:1:30"):
        log_of_frame(frame)


FIRST = 1_717_200_000
# Of 20 hours node 1 of platform 0 is on for the first 8, of platform 1 for 6, node 2 for 5.
NODES = [(1, 0, 0, 8), (1, 1, 10, 16), (2, 0, 15, 20)]


def trace(**more: Any) -> pd.DataFrame:
    found = pd.DataFrame(NODES, columns=["node_id", "platform_id", "begin", "end"])
    return pd.DataFrame(
        {
            "event_id": range(3),
            "component_id": 0,
            "node_id": found["node_id"],
            "platform_id": found["platform_id"],
            "event_type": 1,
            "event_start_time": FIRST + HOUR * found["begin"],
            "event_stop_time": FIRST + HOUR * found["end"],
        }
    ).assign(**more)


def test_nodes_of_two_platforms_are_two_devices() -> None:
    log = log_of_frame(trace())
    assert log.clients == ("0/1", "0/2", "1/1")
    assert log.masks.mean().tolist() == [8 / 20, 5 / 20, 6 / 20]
    assert "by device = platform_id/node_id, start" in log.read_as
    merged = log_of_frame(trace(), columns="ignore=platform_id")
    assert merged.clients == ("1", "2")
    assert merged.masks.mean().tolist() == [14 / 20, 5 / 20]
    assert log_of_frame(trace(), columns="device=node_id").clients == ("1", "2")


def test_a_node_of_one_platform_keeps_its_name() -> None:
    log = log_of_frame(trace(node_id=[1, 3, 2]))
    assert log.clients == ("1", "2", "3")
    assert log.masks.mean().tolist() == [8 / 20, 5 / 20, 6 / 20]
    assert "by device = node_id, start" in log.read_as


def test_components_of_a_node_are_refused() -> None:
    frame = trace(component_id=[0, 4, 0], platform_id=0)
    with pytest.raises(DataError, match="column 'component_id' tells apart .*, such as 0, 4: keep"):
        log_of_frame(frame)
    log = log_of_frame(frame, columns="ignore=component_id")
    assert log.masks.mean().tolist() == [14 / 20, 5 / 20]
    # Of other nodes, or platforms, a component is no second one of a node.
    assert log_of_frame(trace(component_id=[0, 4, 0])).clients == ("0/1", "0/2", "1/1")
