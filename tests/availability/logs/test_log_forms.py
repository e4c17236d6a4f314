"""Logs of many forms that say the same, and what is said of them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import AvailabilityLog, log_of_frame, read_log
from f3ast_tff.availability.logs.signal_files import read_signal
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.delivery.device_speeds import read_speeds

HOUR = 3600
# Device 2 is online from 0 to 2, device 10 from 1 to 3; the log ends at 4.
MASKS = [[1, 0], [1, 1], [0, 1], [0, 0]]
START = 1_717_372_800
EVENTS = [("2", 0, 1), ("10", 1, 1), ("2", 2, 0), ("10", 3, 0), ("2", 4, 0)]


def table(log: AvailabilityLog) -> list[list[int]]:
    return [log.masks.row(t).astype(int).tolist() for t in range(1, log.masks.shape[0] + 1)]


def lines_of(rows: list[dict[str, Any]]) -> str:
    return "\n".join(map(json.dumps, rows))


def rows(state: tuple[Any, Any], unit: int = 1, **names: str) -> list[dict[str, Any]]:
    device, time, online = (names.get(each, each) for each in ("device", "time", "online"))
    return [
        {device: int(k), time: (START + h * HOUR) * unit, online: state[s]} for k, h, s in EVENTS
    ]


def csv_of(quote: str, state: tuple[str, str], device: str = "{}") -> str:
    q = quote
    header = ", ".join(f"{q}{name}{q}" for name in ("device", "time", "online"))
    return "\n".join(
        [
            header,
            *(
                f"{q}{device.format(k)}{q}, {q}{START + h * HOUR}{q}, {q}{state[s]}{q}"
                for k, h, s in EVENTS
            ),
        ]
    )


FORMS: dict[str, tuple[str, str]] = {
    "quoted": ("x.csv", csv_of('"', ("off", "on"))),
    "words": ("x.csv", csv_of("", ("f", "t"))),
    "numbers with a point": ("x.csv", csv_of("", ("False", "True"), "{}.0")),
    "lines": ("x.jsonl", lines_of(rows((False, True), 10**6))),
    "lines in json": ("x.json", lines_of(rows(("disconnect", "connect")))),
    "a list": ("x.json", json.dumps(rows((0, 1), 10**9))),
    "tabs": ("x.tsv", csv_of("", ("0", "1")).replace(", ", "\t")),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_events(form: str, tmp_path: Path) -> None:
    name, text = FORMS[form]
    (tmp_path / name).write_text(text)
    log = read_log(tmp_path / name)
    assert log.clients == ("2", "10") and table(log) == MASKS and log.events == 5
    assert log.read_as.startswith("events, 2 devices, ")
    words = " since 1970, 2024-06-03 to 06-03, rounds of 1 h; by device, time, state = online (on: "
    assert words in log.read_as and log.read_as.endswith("; not used: none")


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_columns_of_other_names(form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(rows(("left", "leave"), 1000, device="imei", time="ts", online="event"))
    frame["event"] = np.where(frame["event"] == "leave", "True", "False")
    frame["imei"] = frame["imei"].astype(float)
    path = tmp_path / f"x.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    given = "device=imei, time=ts,state=event"
    for log in (read_log(path, columns=given), log_of_frame(frame, columns=given)):
        assert log.clients == ("2", "10") and table(log) == MASKS
    for wrong in ("device=who", "imei", "who=imei", "device=imei,device=ts"):
        with pytest.raises(ParameterError, match="table_columns = "):
            read_log(path, columns=wrong)
    with pytest.raises(DataError, match="--columns=time=NAME,state=NAME|has no column"):
        read_log(path, columns="device=imei")


def test_events_whose_devices_or_times_are_the_index() -> None:
    frame = pd.DataFrame(rows((0, 1)))
    frame["time"] = pd.to_datetime(frame["time"], unit="s", utc=True)
    for index in (["device", "time"], ["time"], ["device"]):
        assert table(log_of_frame(frame.set_index(index))) == MASKS
    assert table(log_of_frame(frame.set_index("time").rename_axis(None))) == MASKS


WHEN = pd.date_range("2024-06-03T01:00", periods=60, freq="15min", unit="ns")
STATES = (np.random.default_rng(0).random((60, 3)) < 0.5).astype(int)
MASK_FRAME = pd.DataFrame(STATES, columns=["ann", "bob", "eve"])
TIMES: dict[str, Any] = {
    "iso": WHEN.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "seconds": WHEN.astype("int64") // 10**9,
    "ns": WHEN.astype("int64"),
    "compact": WHEN.strftime("%Y%m%d%H%M%S"),
    "compact numbers": WHEN.strftime("%Y%m%d%H%M").astype("int64"),
    "types": WHEN,
    "period": WHEN.to_period("15min"),
}


@pytest.mark.parametrize(
    ("form", "label"),
    [
        pytest.param(
            form, label, marks=() if form == "iso" or label == "time" else pytest.mark.long
        )
        for form in TIMES
        for label in ("time", "", "hour", "Unnamed: 0", "index", "measured_at")
    ],
)
def test_the_times_of_masks_are_found_by_content(form: str, label: str, tmp_path: Path) -> None:
    """As the first column of a file and of a frame, and as an index."""
    frame = MASK_FRAME.copy()
    frame.insert(0, label, TIMES[form])
    frame.to_csv(tmp_path / "x.csv", index=False)
    logs = [read_log(tmp_path / "x.csv"), log_of_frame(frame)]
    if form in ("types", "period", "ns", "iso", "compact numbers"):
        logs.append(log_of_frame(frame.set_index(label)))
        logs.append(log_of_frame(frame.set_index(label).rename_axis(None)))
    for log in logs:
        assert (log.round_seconds, log.start, log.clients) == (900, 3600.0, ("ann", "bob", "eve"))
        assert table(log) == STATES.tolist()
        assert "2024-06-03 to 06-03, rounds of 15 min" in log.read_as
    frame = frame.drop(index=[20, 21])
    frame.to_csv(tmp_path / "x.csv", index=False)
    allowed = "must be the row before plus 900 s, and is 2700 s later"
    with pytest.raises(DataError, match=f"column '.*', line 22: {allowed}"):
        read_log(tmp_path / "x.csv")


def test_daily_masks_by_compact_dates(tmp_path: Path) -> None:
    """20240603, 20240604, ... count days, although they rise by 1."""
    (tmp_path / "x.csv").write_text("day,a\n20240603,1\n20240604,0\n20240605,1\n")
    assert read_log(tmp_path / "x.csv").round_seconds == 86_400


@pytest.mark.parametrize(
    ("header", "clients"),
    [
        ("0.0,1.0,2.0", ("0", "1", "2")),
        ("17,23,42", ("17", "23", "42")),
        ('"a ","b, c",d', ("a", "b, c", "d")),
        ("time,3.0,7.0", ("3", "7")),
        ("step_of_log,3,7", ("3", "7")),
    ],
)
def test_names_of_columns(header: str, clients: tuple[str, ...], tmp_path: Path) -> None:
    clock = "time" in header or "step" in header
    lines = [("" if not clock else f"{t},") + ("1,0" if clock else "1,0,1") for t in range(3)]
    (tmp_path / "x.csv").write_text("\n".join([header, *lines]))
    assert read_log(tmp_path / "x.csv").clients == clients


@pytest.mark.parametrize("words", [("t", "f"), ("on", "off"), ("True", "False")])
def test_states_without_names(words: tuple[str, str], tmp_path: Path) -> None:
    yes, no = words
    (tmp_path / "x.csv").write_text(f"{yes},{no},{yes}\n{no},{no},{yes}\n")
    log = read_log(tmp_path / "x.csv")
    assert log.clients == () and table(log) == [[1, 0, 1], [0, 0, 1]]


ENTRIES = "device,time,online\n"
# Ending and content of a file, and the reason.
REFUSED = [
    (
        ".jsonl",
        '{"device": {"id": 3}, "time": 5, "online": 1}',
        "no column device, .* has device.id,",
    ),
    (".jsonl", '{"device": [3], "time": 5, "online": 1}', "column 'device': holds lists or obj"),
    (
        ".jsonl",
        '{"device": 3, "time": 5, "online": [1]}',
        "column 'online': holds lists or objects",
    ),
    (".json", '{"rows": [{"id": "a", "visits": [[0, 9]]}]}', "lists or objects, such as .*0, 9"),
    (".jsonl", '{"device": 3, "time": 5, "online": 1}\n{"device":\n', "not a table: "),
    (".jsonl", "", "not a table|it has no rows"),
    # No rounds are made for empty centuries.
    (".csv", f"{ENTRIES}a,1990-01-01,1\nb,2090-01-01,0", "rounds of 3600 s, and only 2 times"),
    (".csv", f"{ENTRIES}a,0,1\nb,599999999,0", "rounds of 3600 s, and only 2 times"),
    (".csv", f"{ENTRIES}{'x' * 10**6},0,1\na,3600,1\nb,7200,0", "1000000 characters: must have at"),
    (
        ".csv",
        "2024-06-01 01:00,a,up\n2024-06-01 02:00,a,down\n",
        "first line must name the columns",
    ),
    (
        ".csv",
        "device,date,00:00,12:00,18:00\na,2024-06-01,1,0,0\nb,2024-06-01,0,1,0\n",
        "its col.*00:0",
    ),
    (".json", '{"devices": {"a": [[-Infinity, "AVL_TRAIN"]]}}', "no entry has a time"),
]


@pytest.mark.parametrize(("ending", "text", "why"), REFUSED, ids=[why for *_, why in REFUSED])
def test_refused_in_one_short_line(ending: str, text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / f"x{ending}").write_text(text)
    with pytest.raises(DataError, match=why) as raised:
        read_log(tmp_path / f"x{ending}")
    assert len(str(raised.value)) < 500 and "\n" not in str(raised.value)


def test_a_table_of_times_by_clients_is_refused() -> None:
    frame = MASK_FRAME.T.set_axis(WHEN, axis=1)
    with pytest.raises(DataError, match="its columns are times, such as 2024-06-03"):
        log_of_frame(frame)


def daily(device: str, days: int, hours: int = 8) -> list[tuple[str, int, int]]:
    found = []
    for day in range(days):
        found += [(device, day * 86_400, 1), (device, day * 86_400 + hours * HOUR, 0)]
    return found


def frame_of(events: list[tuple[str, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(events, columns=["device", "time", "online"])


def test_a_lost_offline_is_said_and_closed(caplog: pytest.LogCaptureFixture) -> None:
    """Device b is online for a week after its offline of the second day was lost."""
    events = daily("a", 10) + [each for each in daily("b", 10) if each[1] // 86_400 in (0, 1, 8, 9)]
    events.remove(("b", 86_400 + 8 * HOUR, 0))
    lost = log_of_frame(frame_of(events))
    assert "1 times a device comes online twice in a row" in caplog.text
    assert "1 of 13 visits last 7.33 days or longer, all others at most 8 h" in caplog.text
    caplog.clear()
    closed = log_of_frame(frame_of(events), max_visit=12 * HOUR)
    assert "1 visits were closed after 12 h" in caplog.text
    assert "or longer" not in caplog.text
    assert lost.masks.mean()[1] - closed.masks.mean()[1] == pytest.approx((192 - 12 - 8) / 224, 0.2)


def test_devices_that_never_go_offline_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    log_of_frame(frame_of([*daily("a", 3), ("b", 0, 1), ("c", 5, 1)]))
    assert "2 of 3 devices never go offline, and are online to the log's end" in caplog.text
    assert "(b, c); --max_visit=28800 closes such visits after the longest other one" in caplog.text


def test_spans_far_longer_than_all_others(caplog: pytest.LogCaptureFixture) -> None:
    start = np.arange(40) * 86_400
    spans = pd.DataFrame({"device": "a", "start": start, "end": start + 8 * HOUR})
    log_of_frame(spans)
    assert not caplog.text
    spans.loc[40] = ["b", 0, 35 * 86_400]
    log_of_frame(spans)
    assert "1 of 41 visits last 35 days or longer, all others at most 8 h" in caplog.text
    log = log_of_frame(spans, max_visit=8 * HOUR)
    assert log.masks.mean()[1] < 0.01


def test_odd_masks_are_said(caplog: pytest.LogCaptureFixture) -> None:
    log_of_frame(MASK_FRAME)
    assert not caplog.text
    odd = MASK_FRAME.assign(row=1, again=MASK_FRAME["bob"])
    log_of_frame(odd)
    assert "1 of 5 clients are never off, such as row" in caplog.text
    assert "1 of 5 columns repeat another, such as bob" in caplog.text
    caplog.clear()
    times = pd.date_range("2024-06-01", periods=60, freq="10D")
    log_of_frame(MASK_FRAME.set_axis(times))
    assert "a row every 10 days; if the times have another unit, give --time_unit" in caplog.text
    with pytest.raises(ParameterError, match="table_max_visit = 5: only applies to events and"):
        log_of_frame(MASK_FRAME, max_visit=5)


@pytest.mark.long
def test_many_columns_and_devices_are_read_in_time_that_grows_with_their_number(
    tmp_path: Path,
) -> None:
    """20,000 columns, and 50,000 devices: a quadratic reader takes minutes."""
    names = [f"c{k}" for k in range(20_000)]
    (tmp_path / "x.csv").write_text("\n".join([",".join(["time", *names]), "0" + ",1" * 20_000]))
    assert read_log(tmp_path / "x.csv").masks.mean().tolist() == [1.0] * 20_000
    events = [(f"d{k}", k % 5 * HOUR, s) for k in range(50_000) for s in (1,)]
    log = log_of_frame(frame_of(events))
    assert log.masks.row(1).sum() == 10_000 and log.masks.shape == (4, 50_000)


@pytest.mark.long
def test_a_name_that_is_there_twice_is_found_in_time_that_grows_with_their_number(
    tmp_path: Path,
) -> None:
    names = [f"c{k}" for k in range(100_000)]
    (tmp_path / "x.csv").write_text(",".join([*names, names[-1]]))
    with pytest.raises(DataError, match="'c99999' twice"):
        read_log(tmp_path / "x.csv")
    devices = ",".join(f'"{name}": [[0, "AVL_TRAIN"]]' for name in [*names, names[-1]])
    (tmp_path / "x.json").write_text(f'{{"devices": {{{devices}}}}}')
    with pytest.raises(DataError, match="'c99999' twice"):
        read_log(tmp_path / "x.json")


@pytest.mark.long
def test_a_million_lines_of_notes_are_passed_over_in_linear_time(tmp_path: Path) -> None:
    spans = "device,start,end\na,0,3600\nb,3600,7200\n"
    (tmp_path / "x.csv").write_text("#\n" * 10**6 + spans)
    began = time.process_time()
    assert read_log(tmp_path / "x.csv").clients == ("a", "b")
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("times", "name"),
    [
        (["2024-06-01T00:00", "2024-06-01T01:00", "2024-06-01T02:00"], "when"),
        ([0, 60, 120], "time"),
    ],
)
def test_the_times_of_masks_may_stand_in_any_column(times: list[object], name: str) -> None:
    frame = pd.DataFrame({"ann": [1, 1, 0], name: times, "bob": [0, 1, 1]})
    log = log_of_frame(frame)
    assert log.clients == ("ann", "bob") and log.round_seconds == (3600 if name == "when" else 60)
    assert log.masks.table().T.tolist() == [[True, True, False], [False, True, True]]


def test_a_stray_quotation_mark_is_refused_with_its_line(tmp_path: Path) -> None:
    """Between it and the next one lines would vanish; a quoted entry of one line is read."""
    path = tmp_path / "log.csv"
    path.write_text('device,time,online\na,0,1\n"b,0,1\na,3600,0\nc",0,1\nb,7200,0\n')
    with pytest.raises(DataError, match="line 3 has a quotation mark that does not end there"):
        read_log(path)
    path.write_text('"device","time","online"\n"a, b",0,1\nc,3600,1\nc,7200,0\n')
    assert read_log(path).clients == ("a, b", "c")


@pytest.mark.parametrize("year", ["0001", "1677", "2263", "9999"])
@pytest.mark.parametrize("zone", ["", "T00:00:00Z"])
@pytest.mark.parametrize("others", ["2024-06-0{}", "{}"])
def test_far_years_are_refused_in_one_line(
    year: str, zone: str, others: str, tmp_path: Path
) -> None:
    """They are, too, if all dates are of such a year; an end of the year 9999 has not come."""
    far = f"{year}-06-0{{}}"
    near = others if "2024" in others else far
    path = tmp_path / "log.csv"
    for first, last in ((near, far), (far, near)):
        rows = [f"a,{first.format(day)}{zone},{first.format(day + 1)}{zone}" for day in (1, 3)]
        rows += [f"b,{last.format(day)}{zone},{last.format(day + 1)}{zone}" for day in (5, 7)]
        path.write_text("\n".join(["device,start,end", *rows]))
        with pytest.raises(DataError, match=f"column 'start', line . is '{year}-06-0"):
            read_log(path, 3600.0)
    for first, second in ((near, far), (far, near)):
        path.write_text(f"date,a,b\n{first.format(1)}{zone},1,0\n{second.format(2)}{zone},0,1\n")
        with pytest.raises(DataError, match=f"'{year}-06-0"):
            read_log(path, 3600.0)
        path.write_text(f"time,value\n{first.format(1)}{zone},1\n{second.format(2)}{zone},2\n")
        with pytest.raises(DataError, match=f"'{year}-06-0"):
            read_signal(path)


@pytest.mark.parametrize(
    "text", ["0\r0", "a,b\rc\r\n1,2\n", f"device,start,end,{'x' * 200_000}\n1,2,3,4"]
)
def test_a_first_line_that_is_no_csv_is_refused(text: str, tmp_path: Path) -> None:
    """Python's csv module refuses a bare carriage return, and a field of 128 KiB."""
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode())
    with pytest.raises(DataError, match="log.csv: line 1: "):
        read_log(path, 3600.0)
    speeds = tmp_path / "speeds.csv"
    speeds.write_bytes(f"device,computation,communication\n{text},1,2\n".encode())
    with pytest.raises(DataError, match=r"speeds.csv"):
        read_speeds(speeds)


@pytest.mark.parametrize(
    "text",
    [
        # Decimal commas; R's row names.
        "device;start;end\nann;1717372800,0;1717376400,0\nbob;1717374600,5;1717380000,0\n",
        '"device","start","end"\n"1","ann",1717372800,1717376400\n'
        '"2","bob",1717374600.5,1717380000\n',
        "device;start;end\nann;3.6.2024 0:00;3.6.2024 1:00\n"
        "bob;03.06.2024 00:30:00.5;03.06.2024 02:00\n",
    ],
)
def test_tables_of_other_programs_and_countries(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    log = read_log(tmp_path / "x.csv", 1800)
    assert log.masks.table().T.astype(int).tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]


def test_masks_with_a_row_per_client_are_refused(tmp_path: Path) -> None:
    """Their rounds were taken as clients."""
    masks = pd.DataFrame(MASKS, columns=["ann", "bob"])
    for turned in (masks.T, masks.T.rename(columns="r{}".format), masks.T.rename_axis("device")):
        turned.to_csv(tmp_path / "x.csv")
        with pytest.raises(DataError, match="a row per client, such as 'ann', and a column per"):
            read_log(tmp_path / "x.csv")
    masks.rename(index="round {}".format).rename(columns={"ann": "1", "bob": "2"}).to_csv(
        tmp_path / "x.csv"
    )
    assert table(read_log(tmp_path / "x.csv")) == MASKS
