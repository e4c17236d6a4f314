"""Times in logs: their unit, a date and a time in two columns, local times in autumn."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.availability.logs.log_times import Times, read_times
from f3ast_tff.availability.logs.split_times import with_joined_times
from f3ast_tff.availability.logs.time_units import duration_text
from f3ast_tff.core.errors import DataError

# 2024-06-03 and 2024-06-04 in UTC, seconds.
FIRST, SECOND = 1_717_372_800, 1_717_459_200
ENDS = (False, True)


def read(*columns: Any, unit: str = "", ends: tuple[bool, ...] = (False,)) -> Times:
    named = [pd.Series(values, name=name) for name, values in zip(("start", "end"), columns)]
    return read_times(named, "log", unit, ends=ends)


READINGS: dict[str, tuple[Any, str]] = {
    "s": ([FIRST, SECOND], "seconds since 1970"),
    "ms": ([FIRST * 10**3, SECOND * 10**3], "milliseconds since 1970"),
    "us": ([FIRST * 10**6, SECOND * 10**6], "microseconds since 1970"),
    "ns": ([FIRST * 10**9, SECOND * 10**9], "nanoseconds since 1970"),
    "text": ([str(FIRST), f"{SECOND}.0"], "seconds since 1970"),
    "days": ([20240603, 20240604], "compact dates"),
    "days with a point": ([20240603.0, 20240604.0], "compact dates"),
    "minutes": (["202406030000", "202406040000"], "compact dates"),
    "compact": ([20240603000000, 20240604000000], "compact dates"),
    "compact ms": ([20240603000000000, 20240604000000000], "compact dates"),
    "iso": (["2024-06-03T00:00:00Z", "2024-06-04T02:00:00+02:00"], "ISO times in UTC"),
    "basic": (["20240603T000000Z", "20240604T000000Z"], "ISO times in UTC"),
    "postgres": (["2024-06-03 02:00:00+02", "2024-06-04 02:00:00.0+02"], "ISO times in UTC"),
    "utc": (["2024-06-03 00:00:00 UTC", "2024-06-04 00:00:00 UTC"], "ISO times in UTC"),
    "bare": (["2024-06-03", "2024-06-04"], "ISO times without a zone"),
    "german": (["03.06.2024", "4.6.2024 0:00"], "times as day.month.year without a zone"),
    "datetime": (pd.to_datetime(["2024-06-03", "2024-06-04"]), "times without a zone"),
    "zoned": (pd.to_datetime(["2024-06-03", "2024-06-04"], utc=True), "times in UTC"),
    "period": (pd.period_range("2024-06-03", periods=2, freq="D"), "times without a zone"),
    "nullable": (pd.array([FIRST, SECOND], "Int64"), "seconds since 1970"),
    "category": (pd.Categorical(["2024-06-03", "2024-06-04"]), "ISO times without a zone"),
}


@pytest.mark.parametrize("form", READINGS)
def test_forms_of_one_day(form: str) -> None:
    values, said = READINGS[form]
    times = read(values)
    np.testing.assert_array_equal(times.seconds[0], [FIRST, SECOND])
    assert (times.form, times.since_1970) == (said, True)


def test_small_numbers_count_from_the_start() -> None:
    times = read([0, 3600.5, 864_000])
    assert times.seconds[0].tolist() == [0, 3600.5, 864_000] and not times.since_1970
    times = read([0, 864_000_000], unit="ms")
    assert times.seconds[0].tolist() == [0, 864_000] and not times.since_1970
    assert not read(pd.to_timedelta(["0h", "3h"])).since_1970


def test_a_unit_that_is_named_settles_two_readings() -> None:
    """2034060300 is a day and an hour, or a second of June 2034 too."""
    values = [2034060300, 2034060323]
    with pytest.raises(DataError, match="may be seconds since 1970 or compact dates: say which by"):
        read(values)
    assert np.diff(read(values, unit="date").seconds[0]).tolist() == [23 * 3600]
    assert np.diff(read(values, unit="s").seconds[0]).tolist() == [23]


OPEN: dict[str, tuple[Any, Any]] = {
    "iso": (["2024-06-03T00:00Z"] * 3, ["9999-12-31", "2024-06-04T00:00Z", ""]),
    "words": ([FIRST] * 3, ["infinity", str(SECOND), "NULL"]),
    "zeros": ([FIRST] * 3, [0, SECOND, -1]),
    "zero dates": (
        ["2024-06-03T00:00Z"] * 3,
        ["0001-01-01T00:00:00Z", "2024-06-04T00:00Z", "0000-00-00 00:00:00"],
    ),
    "a person": (["2024-06-03T00:00Z"] * 3, ["still logged in", "2024-06-04T00:00Z", "present"]),
    "numbers": ([FIRST] * 3, [np.inf, SECOND, np.nan]),
    "sentinels": ([FIRST] * 3, [253_402_300_799, SECOND, 9_223_372_036_854_775_807]),
    "compact": ([20240603] * 3, [99991231, 20240604, 99991231]),
    "types": (
        pd.to_datetime(["2024-06-03"] * 3),
        pd.to_datetime(["NaT", "2024-06-04", "2200-01-01"]),
    ),
    "dates among numbers": ([FIRST] * 3, ["9999-12-31 00:00:00", SECOND, None]),
}


@pytest.mark.parametrize("form", OPEN)
def test_ends_that_have_not_come(form: str) -> None:
    times = read(*OPEN[form], ends=ENDS)
    assert times.seconds[1].tolist() == [np.inf, SECOND, np.inf]
    assert times.seconds[0].tolist() == [FIRST] * 3


def test_columns_may_differ_in_unit() -> None:
    times = read([FIRST, FIRST], [SECOND * 1000, SECOND * 1000], ends=ENDS)
    assert times.seconds[1].tolist() == [SECOND, SECOND]


REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "two units": (([FIRST, FIRST * 1000, FIRST],), "row 1 is '1717372800000': must be seconds sin"),
    "no unit": (([0, 864_000_000_000],), "no unit makes all times lie within 1990 to 2100: give i"),
    "no date": (
        ([20240603, 20240631, 20240603],),
        "row 1 is '20240631': must be compact dates, as",
    ),
    "half": (([FIRST, 5, FIRST],), "row 1 is '5': must be seconds since 1970"),
    "a zone here": (
        (["2024-06-03T00:00Z", "2024-06-03T00:00"],),
        "row 1 .* must have a zone, as o",
    ),
    "a day": ((["2024-06-03T00:00Z", "2024-06-04"],), "row 1 is '2024-06-04': must have a zone"),
    "another zone": (
        (["2024-06-03T00:00Z"], ["2024-06-04T00:00"]),
        "column 'end', row 0 .* must have a zone, as column 'start' has",
    ),
    "types": (
        (pd.to_datetime(["2024-06-03"]), pd.to_datetime(["2024-06-04"], utc=True)),
        "column 'start', row 0 .* must have a zone",
    ),
    "two clocks": (([0], ["2024-06-04T00:00"]), "'start' and 'end': one has dates, one counts"),
    "empty": ((["", "2024-06-04"],), "row 0 is '': must be a time"),
    "year 1": ((["2024-06-04", "0001-01-01", "2024-06-04"],), "row 1 is '0001-01-01'"),
    "many sentinels": (
        ([FIRST] * 4, [SECOND, SECOND * 1000, SECOND * 1000 + 1, SECOND * 1000 + 2]),
        "row 1 is '1717459200000': must be seconds since 1970",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_the_row(case: str) -> None:
    columns, message = REFUSED[case]
    with pytest.raises(DataError, match=message):
        read(*columns, ends=ENDS)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(DataError, match="time unit 'w': must be one of s, ms, us, ns, date"):
        read([FIRST], unit="w")


def test_durations_in_words() -> None:
    words = [duration_text(seconds) for seconds in (5, 900, 3600, 7200, 86_400, 900_000)]
    assert words == ["5 s", "15 min", "1 h", "2 h", "24 h", "10.4 days"]


@pytest.mark.parametrize("length", [10.0, 237.0])
def test_many_seconds_from_a_start_within_minutes_are_hours_or_days(length: float) -> None:
    column = pd.Series(np.linspace(0, length, 20), name="time")
    with pytest.raises(DataError, match="would be seconds from a start: say the unit"):
        read_times([column], "log")
    assert read_times([column], "log", "s").seconds[0].max() == length


@pytest.mark.parametrize(
    ("text", "hour"),
    [("12:00:00 AM", 0), ("1:30 am", 1.5), ("12:15 PM", 12.25), ("11:00:00PM", 23)],
)
def test_dates_by_the_clock_of_twelve_hours(text: str, hour: float) -> None:
    times = pd.Series([f"2024-03-01 {text}", "2024-03-02 00:00"])
    (found,) = read_times([times], "the table").seconds
    assert 24 - (found[1] - found[0]) / 3600 == hour


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


def test_two_columns_in_events_spans_and_masks() -> None:
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


HOUR = 3600
# Clocks go back at 01:00 and 06:00 UTC.
BERLIN, NEW_YORK = ("Europe/Berlin", "2024-10-27T00:00"), ("America/New_York", "2024-11-03T05:00")
PLACES = pytest.mark.parametrize(("zone", "start"), [BERLIN, NEW_YORK])


def local(zone: str, start: str, minutes: list[int]) -> list[str]:
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp()
    times = [datetime.fromtimestamp(begin + 60 * each, ZoneInfo(zone)) for each in minutes]
    return [f"{each:%Y-%m-%d %H:%M:%S}" for each in times]


def offered(text: str) -> list[str]:
    return re.findall("--columns=(zone=[A-Za-z_/]+)", text)


@PLACES
def test_events_fall_back_from_one_device_to_another(zone: str, start: str) -> None:
    """Device a is online from 0:50 to 3:20, b from 1:10 to 4:00, after the clocks went back."""
    rows = [("a", 1, 50), ("b", 1, 70), ("a", 0, 200), ("b", 0, 240), ("a", 0, 300)]
    frame = pd.DataFrame(rows, columns=["device", "online", "time"])
    frame = frame.assign(time=local(zone, start, frame["time"].tolist()))
    with pytest.raises(DataError, match="falls back by 40 min and rows are in the order") as error:
        log_of_frame(frame)
    flags = offered(str(error.value))
    assert f"zone={zone}" in flags
    for flag in flags:
        assert log_of_frame(frame, columns=flag).masks.mean().tolist() == [3 / 5, 2 / 5]


@PLACES
def test_hourly_masks_have_an_hour_twice(zone: str, start: str) -> None:
    times = local(zone, start, [60 * k for k in range(6)])
    frame = pd.DataFrame({"time": times, "a": [0, 1, 1, 0, 0, 0], "b": [1] * 5 + [0]})
    with pytest.raises(DataError, match="comes again: are these local times") as error:
        log_of_frame(frame)
    for flag in offered(str(error.value)):
        log = log_of_frame(frame, columns=flag)
        assert log.masks.mean().tolist() == [2 / 6, 5 / 6]
        assert log.round_seconds == HOUR


def test_a_zone_whose_clocks_do_not_go_back_then_is_refused() -> None:
    zone, start = NEW_YORK
    rows = [("a", minute % 20 == 0, minute) for minute in range(0, 240, 10)]
    frame = pd.DataFrame(rows, columns=["device", "online", "time"])
    frame = frame.assign(time=local(zone, start, frame["time"].tolist()))
    with pytest.raises(DataError, match="in Europe/Berlin no hour comes twice then"):
        log_of_frame(frame, columns="zone=Europe/Berlin")
    assert log_of_frame(frame, columns="zone=UTC").masks.shape[1] == 1
