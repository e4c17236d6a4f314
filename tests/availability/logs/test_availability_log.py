"""Raw logs of clients' online times."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import AvailabilityLog, log_of_frame, read_log
from f3ast_tff.core.errors import DataError

# Device b is online from hour 1 to 3; device a from 0 to 2, and from 3 to the log's end at 4.
MASKS = [[1, 0], [1, 1], [0, 1], [1, 0]]
HOUR = 3600
EVENTS = f"device,time,online\nb,{HOUR},1\na,0,1\na,{2 * HOUR},0\nb,{3 * HOUR},0\na,{3 * HOUR},1\n"
FORMS = {
    "events": f"{EVENTS}b,{4 * HOUR},0\n",
    "words": "Client_ID,Timestamp,State\n"
    "b,1,on\nb,3,off\na,0,Online\na,2,OFFLINE\na,3,online\nb,4,off\n",
    "dates": "device,time,online\nb,2024-06-01T01:00:00Z,true\na,2024-06-01T00:00:00Z,true\n"
    "a,2024-06-01T02:00:00Z,false\nb,2024-06-01T03:00:00Z,false\n"
    "a,2024-06-01T03:00:00Z,true\nb,2024-06-01T04:00:00Z,false\n",
    "milliseconds": "device,time,online\n"
    + "".join(
        f"{device},{(475_000 + int(hour)) * HOUR * 1000},{online}\n"
        for device, hour, online in ("b11", "a01", "a20", "b30", "a31", "b40")
    ),
    "spans": f"client,start,end\na,0,{2 * HOUR}\na,{3 * HOUR},{4 * HOUR}\nb,{HOUR},{3 * HOUR}\n",
    "spans that overlap, and one without an end": f"client,start,end\na,0,{HOUR}\na,0,{2 * HOUR}\n"
    f"a,{3 * HOUR},\nb,{HOUR},{3 * HOUR}\nb,{HOUR},{2 * HOUR}\nb,{4 * HOUR},{4 * HOUR}\n",
    "masks with names": "a,b\n1,0\n1,1\n0,1\n1,0\n",
    "masks with rounds": "round,a,b\n1,True,False\n2,True,True\n3,False,True\n4,True,False\n",
}


def table(log: AvailabilityLog) -> list[list[int]]:
    rounds = range(1, log.masks.shape[0] + 1)
    return [log.masks.row(t).astype(int).tolist() for t in rounds]


@pytest.mark.parametrize("form", FORMS)
def test_forms_say_the_same(tmp_path: Path, form: str) -> None:
    (tmp_path / "log.csv").write_text(FORMS[form])
    seconds = 1 if form == "words" else HOUR
    for log in (
        read_log(tmp_path / "log.csv", seconds),
        log_of_frame(pd.read_csv(io.StringIO(FORMS[form])), seconds),
    ):
        assert table(log) == MASKS
        assert log.clients == ("a", "b")
        clock = None if form.startswith("masks") else seconds
        assert log.round_seconds == clock


@pytest.mark.parametrize(
    ("text", "clients", "masks"),
    [
        *((FORMS["spans"].replace(",", separator), ("a", "b"), MASKS) for separator in ";\t"),
        # Clients may be numbers beside rounds.
        (",0,1\n0,1,0\n1,1,1\n", ("0", "1"), [[1, 0], [1, 1]]),
        # Numbered devices are in their order. With zeros before, names stay: 1 and 01 are two.
        ("device,start,end\n10,0,3600\n9,0,7200\n", ("9", "10"), [[1, 1], [1, 0]]),
        (
            "device,start,end\n10,0,3600\n01,0,7200\n1,3600,7200\n",
            ("01", "1", "10"),
            [[1, 0, 1], [1, 1, 0]],
        ),
    ],
)
def test_separators_and_names(
    tmp_path: Path, text: str, clients: tuple[str, ...], masks: list[list[int]]
) -> None:
    (tmp_path / "log.csv").write_text(text)
    log = read_log(tmp_path / "log.csv", HOUR)
    assert log.clients == clients and table(log) == masks


def test_a_frame_of_dates() -> None:
    """Time zones count: 02:00 in Rome is midnight in UTC."""
    frame = pd.read_csv(io.StringIO(FORMS["dates"]))
    for zone in ("UTC", "Europe/Rome"):
        frame["time"] = pd.to_datetime(frame["time"], utc=True).dt.tz_convert(zone)
        log = log_of_frame(frame)
        assert table(log) == MASKS and log.start == 0


def test_files_of_arrays_and_traces(tmp_path: Path) -> None:
    masks = np.array(MASKS, bool)
    np.savez(tmp_path / "any.npz", who=masks)
    np.savetxt(tmp_path / "plain.csv", masks, fmt="%d", delimiter=",")
    devices = '{"a": [[0, 7200]], "b": [[3600, 3600]]}'
    (tmp_path / "away.json").write_text(f'{{"devices": {devices}}}')
    for name in ("any.npz", "plain.csv"):
        assert table(read_log(tmp_path / name)) == MASKS
    away = read_log(tmp_path / "away.json")
    assert table(away) == [[0, 1], [0, 0]]


REFUSED = {
    "no device": ("device,start,end\n,1,2\n", "column 'device', line 2: has no device"),
    "no time": ("device,when,online\na,1,1\n", "has no column time, as in device,time,online"),
    "no end": ("device,start\na,1\n", "has no column end, as in"),
    "a time": (
        "device,time,online\na,1,1\nb,x,0\n",
        "column 'time', line 3 is 'x': must be a time: a number, as other rows are",
    ),
    "two units": (
        "device,time,online\na,1700000000,1\nb,1700000000000,0\nb,1700003600,1\n",
        "column 'time', line 3 is '1700000000000': must be seconds since 1970, as other rows",
    ),
    "a date": (
        "device,time,online\na,1,1\nb,2024-06-01T18:00:00Z,0\n",
        "column 'time', line 3 is '2024-06-01T18:00:00Z': must be a time: a number, as other rows",
    ),
    "a gap": ("device,start,end\na,,2\nb,1,2\n", "column 'start', line 2 is '': must be a time"),
    "a state": (
        "device,time,online\na,1,maybe\n",
        "column 'online', line 2 is 'maybe': must be a state, on: 1",
    ),
    "an order": ("device,start,end\na,5,3\n", "column 'end', line 2: is before its start"),
    "a length": (
        "device,start,end\na,5,\nb,5,\n",
        "has no length: all spans begin when the log ends",
    ),
    "a mask": ("a,b\n0,1\n0,2\n", "column 'b', line 3 is '2': must be 0 or 1"),
    "no header": ("a,1,1\nb,2,0\n", "line 1 has 'a': must be zeros and ones, or names of"),
    "rounds": ("round,a\n2,0\n1,1\n", "column 'round', line 3: must be the row before plus 1"),
    "a missing hour": ("hour,a\n0,1\n3,0\n", "column 'hour', line 3: must be the row before pl"),
    "a missing row": (
        "time,a\n0,0\n600,1\n1800,0\n2400,1\n",
        "column 'time', line 4: must be the row before plus 600 s",
    ),
    "newest first": ("date,a\n2024-06-02,0\n2024-06-01,1\n", "column 'date', line 3: must be the"),
    "a zone here, none there": (
        "device,time,online\na,2024-06-01T18:00:00Z,1\na,2024-06-01T19:00:00,0\n",
        "column 'time', line 3 is '2024-06-01T19:00:00': must have a zone, as other rows do",
    ),
    "no rows": ("device,time,online\n", "it has no rows"),
    "a name twice": ("ann,ann\n0,1\n", "line 1 has 'ann' twice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_names_the_column(tmp_path: Path, case: str) -> None:
    content, message = REFUSED[case]
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.raises(DataError) as raised:
        read_log(path)
    assert str(raised.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("log.txt", "must end in .csv, .npy, .npz, .tsv, .tab, .json, .jsonl, "),
        ("log.npz.gz", "unpack it first: must end in .csv"),
        ("gone.csv", "there is no such file"),
    ],
)
def test_other_files_are_refused(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{name}: {says}"):
        read_log(tmp_path / name)


def test_devices_of_a_frame_that_pandas_read_as_numbers_with_a_point() -> None:
    visits = {"device": [2.0, 1.0, 2.0], "start": [0, 0, 3600], "end": [3600, 7200, 7200]}
    frame = pd.DataFrame(visits)
    assert log_of_frame(frame).clients == ("1", "2")
    frame.loc[1, "device"] = float("nan")
    with pytest.raises(DataError, match="column 'device', row 1: has no device"):
        log_of_frame(frame)


def test_iso_dates_with_and_without_a_fraction() -> None:
    """As `datetime.isoformat` writes them."""
    ends = ["2024-06-01T20:00:00+00:00", "2024-06-01T19:00:00.250000+00:00"]
    visits = {"device": ["a", "b"], "start": ["2024-06-01T18:00:00+00:00"] * 2, "end": ends}
    log = log_of_frame(pd.DataFrame(visits))
    assert [log.masks.row(t).tolist() for t in (1, 2)] == [[True, True], [True, True]]


@pytest.mark.parametrize("written", ["08:00", "03/02/2024 06:00 PM", "2024-01-01 08:00 CET"])
def test_a_time_that_could_be_another_is_refused(written: str) -> None:
    """No day, an order of day and month that is not known, a zone without a number."""
    events = {"device": ["ann"], "time": [written], "online": [1]}
    with pytest.raises(
        DataError, match=r"'time', row 0 is '.*': must be a time: a number, or a date as 2024"
    ):
        log_of_frame(pd.DataFrame(events))


def test_times_since_the_start() -> None:
    events = {"device": ["a", "a"], "time": pd.to_timedelta(["1h", "3h"]), "online": [1, 0]}
    assert log_of_frame(pd.DataFrame(events)).masks.shape == (2, 1)


def test_states_of_a_nullable_type() -> None:
    events = pd.DataFrame({"device": ["a", "a"], "time": [0, 3600]})
    events["online"] = pd.array([True, False], dtype="boolean")
    assert log_of_frame(events).masks.shape == (1, 1)
    events["online"] = pd.array([True, None], dtype="boolean")
    with pytest.raises(DataError, match="column 'online', row 1 is '<NA>'"):
        log_of_frame(events)


@pytest.mark.parametrize(
    "times", [[3600, 4200, 4800], pd.date_range("2024-06-01T01:00", periods=3, freq="10min")]
)
def test_the_times_of_masks_are_their_clock(times: Any, tmp_path: Path) -> None:
    """Rows every 10 minutes, the first at one o'clock."""
    frame = pd.DataFrame({"time": times, "ann": [1, 0, 1], "eve": [0, 1, 1]})
    frame.to_csv(tmp_path / "masks.csv", index=False)
    logs = [read_log(tmp_path / "masks.csv"), log_of_frame(frame)]
    if not isinstance(times, list):
        logs.append(log_of_frame(frame.set_index("time")))
    for log in logs:
        assert (log.round_seconds, log.start, log.clients) == (600, 3600.0, ("ann", "eve"))
        assert table(log) == [[1, 0], [0, 1], [1, 1]]


def test_numbers_name_columns_if_they_count_them(tmp_path: Path) -> None:
    path = tmp_path / "masks.csv"
    path.write_text("0,1,2\n1,0,1\n")
    assert (read_log(path).clients, table(read_log(path))) == (("0", "1", "2"), [[1, 0, 1]])
    path.write_text("0,1\n1,0\n")
    assert table(read_log(path)) == [[0, 1], [1, 0]]


def test_a_log_within_one_round_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Days as Excel counts them, read as seconds."""
    days = pd.DataFrame({"device": ["a", "a"], "time": [45444.0, 45453.9], "online": [1, 0]})
    log_of_frame(days, 3600)
    assert "within 9.9 s, less than a round of 1 h" in caplog.text
    caplog.clear()
    log_of_frame(days, 5)
    assert not caplog.text


def test_entries_that_look_wrong_are_said(caplog: pytest.LogCaptureFixture) -> None:
    events = {"device": ["a"] * 3, "time": [0, HOUR, HOUR], "online": [1, 0, 1]}
    log_of_frame(pd.DataFrame(events))
    assert "1 times a device has two states at one time" in caplog.text
    caplog.clear()
    starts = np.arange(50) * HOUR
    visits = pd.DataFrame({"device": "a", "start": starts, "end": starts + HOUR})
    log_of_frame(visits)
    assert not caplog.text
    visits.loc[50] = ["b", 10**8, 10**8 + HOUR]
    log_of_frame(visits)
    assert "lasts 1.16e+03 days, and most of it" in caplog.text


def test_names_of_masks(tmp_path: Path) -> None:
    """Blanks around a name do not count; without names, True and False are rounds."""
    path = tmp_path / "masks.csv"
    path.write_text("round, ann, eve\n1,1,0\n2,0,1\n")
    assert read_log(path).of_clients(["eve"]).masks.row(1).tolist() == [False]
    path.write_text("True,False\nFalse,True\n")
    log = read_log(path)
    assert log.clients == () and log.masks.row(1).tolist() == [True, False]
    assert log.masks.shape == (2, 2)
    path.write_text("True,False\nFalse,?\n")
    with pytest.raises(DataError, match="line 2 is '\\?'"):
        read_log(path)
    with pytest.raises(DataError, match="two columns have the name 'ann'"):
        log_of_frame(pd.DataFrame([[0, 1]], columns=["ann", "ann"]))
