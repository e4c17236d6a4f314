"""A date and a time of day in two columns."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.availability.logs.split_times import with_joined_times
from f3ast_tff.core.errors import DataError

DAYS = ["2024-06-01", "2024-06-01", "2024-06-02"]


@pytest.mark.parametrize(
    ("columns", "joined"),
    [
        ({"date": DAYS, "hour": [0, 7, 23]}, {"date": ["T00:00", "T07:00", "T23:00"]}),
        (
            {"Date": DAYS, "Time": ["00:00", "7:30", "23:59"]},
            {"Date": ["T00:00", "T07:30", "T23:59"]},
        ),
        (
            {"start_date": DAYS, "start_time": ["0:00:01", "07:30:00", "23:59:59.5"]},
            {"start_time": ["T00:00:01", "T07:30:00", "T23:59:59.5"]},
        ),
    ],
)
def test_they_become_one_column(columns: dict[str, list], joined: dict[str, list]) -> None:
    frame = with_joined_times(pd.DataFrame({"device": ["a", "b", "c"], **columns}))
    assert list(frame.columns) == ["device", *joined]
    for name, times in joined.items():
        assert frame[name].tolist() == [day + time for day, time in zip(DAYS, times)]


@pytest.mark.parametrize(
    "columns",
    [
        {"date": DAYS, "hours": [0, 7, 23]},
        {"date": DAYS, "hour": [0, 7, 24]},
        {"date": DAYS, "hour": [0, 7.5, 23]},
        {"date": ["2024-06-01T05:00", *DAYS[1:]], "hour": [0, 7, 23]},
        {"day": DAYS, "hour": [0, 7, 23]},
    ],
)
def test_other_columns_stay(columns: dict[str, list]) -> None:
    frame = pd.DataFrame(columns)
    assert with_joined_times(frame) is frame


def test_a_column_that_is_named_leaves_the_others_joined() -> None:
    """The flag that was offered read days alone."""
    frame = pd.DataFrame({"who": ["a", "b"] * 3, "online": [1, 0, 0, 1, 0, 0]})
    for date, hour in (("date", "hour"), ("Datum", "Stunde")):
        times = {date: ["2024-06-01"] * 6, hour: [0, 0, 1, 1, 2, 2]}
        with pytest.raises(DataError, match="2 devices, 50.0% online") as refused:
            log_of_frame(frame.assign(**times))
        flag = re.search(r"--columns=(\S+) \(", str(refused.value))
        assert flag is not None
        log = log_of_frame(frame.assign(**times), columns=flag[1].strip("'"))
        assert log.masks.table().astype(int).tolist() == [[1, 0], [0, 1]]
    named = frame.assign(date=["2024-06-01", "2024-06-02"] * 3, hour=[0, 0, 1, 1, 2, 2])
    given = log_of_frame(named, columns="device=who,time=hour", time_unit="h")
    assert given.masks.table().astype(int).tolist() == [[1, 0], [0, 1]]


def test_shifts_may_pass_midnight(caplog: pytest.LogCaptureFixture) -> None:
    """From 22 to 6 h, and from 6 to 14 h, on two days: 32 hours, of each a half."""
    frame = pd.DataFrame({"device": ["a", "b"] * 2, "date": sorted(DAYS[1:] * 2)})
    shifts = frame.assign(start=["22:00", "6:00"] * 2, end=["06:00", "14:00"] * 2)
    german = shifts["date"].map({"2024-06-01": "1.6.2024", "2024-06-02": "02.06.2024"})
    for each in (shifts.rename(columns={"start": "from", "end": "to"}), shifts.assign(date=german)):
        log = log_of_frame(each)
        assert "2 spans of one date end at or before their start: read as of the" in caplog.text
        assert log.masks.shape == (48, 2) and log.masks.mean().tolist() == [16 / 48] * 2
    # A date of the end says the day.
    given = frame.assign(start_time="22:00", end_date=frame["date"], end_time="06:00")
    with pytest.raises(DataError, match="is before its start_time"):
        log_of_frame(given.rename(columns={"date": "start_date"}))


def test_events_spans_and_masks() -> None:
    """Three forms of one log: ann from 0 to 2 h, bob from 1 to 3 h, of 4 rounds."""
    day = ["2024-06-01"] * 4
    events = pd.DataFrame(
        {"date": day, "time": ["00:00", "01:00", "02:00", "03:00"], "device": ["ann", "bob"] * 2}
    ).assign(online=[1, 1, 0, 0])
    spans = pd.DataFrame(
        {
            "device": ["ann", "bob"],
            "start_date": day[:2],
            "start_hour": [0, 1],
            "end_date": day[:2],
            "end_hour": [2, 3],
        }
    ).rename(columns={"start_hour": "start_time", "end_hour": "end_time"})
    masks = pd.DataFrame({"ann": [1, 1, 0], "bob": [0, 1, 1], "date": day[:3], "hour": [0, 1, 2]})
    for frame in (events, spans, masks):
        log = log_of_frame(frame)
        assert log.clients == ("ann", "bob") and log.round_seconds == 3600
        assert log.masks.table().T.tolist() == [[True, True, False], [False, True, True]]
