"""What looks wrong in a log is said by its cause; what may decide is never passed over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame, read_log
from f3ast_tff.core.errors import DataError, ParameterError

HOUR, DAY = 3600, 86_400
Event = tuple[str, int, int]


def frame_of(events: list[Event]) -> pd.DataFrame:
    return pd.DataFrame(events, columns=["device", "time", "online"])


def daily(devices: str = "abcd", days: int = 10, hours: int = 8) -> list[Event]:
    return [
        (device, day * DAY + k * 60 + at, on)
        for k, device in enumerate(devices)
        for day in range(days)
        for at, on in ((0, 1), (hours * HOUR, 0))
    ]


def test_samples_are_no_missing_ends(caplog: pytest.LogCaptureFixture) -> None:
    """A state every 5 min, on in even hours; b is not asked from 4:00 to 6:00, and away then."""
    rows = [
        (device, t * 300, int(t // 12 % 2 == 0))
        for t in range(288)
        for device in "ab"
        if not (device == "b" and 48 <= t < 72)
    ]
    log = log_of_frame(frame_of(rows))
    assert not caplog.text
    assert "; a state every 5 min, 1 gap counts as offline; " in log.read_as
    assert log.masks.mean().tolist() == [0.5, 11 / 24]


def test_a_missing_end_names_devices_and_a_limit(caplog: pytest.LogCaptureFixture) -> None:
    events = daily()
    events.remove(("b", 3 * DAY + 60 + 8 * HOUR, 0))
    log_of_frame(frame_of(events))
    said = "1 times a device comes online twice in a row, of 1 devices (b); an offline is missing"
    assert f"{said}: --max_visit=28800 closes" in caplog.text
    caplog.clear()
    log = log_of_frame(frame_of(events), max_visit=28_800)
    # b is online for the 8 hours after 0:01 each day: at 1:00 to 8:00.
    assert log.masks.mean()[1] == pytest.approx(80 / log.masks.shape[0])


def test_sessions_that_overlap_are_counted_or_said(caplog: pytest.LogCaptureFixture) -> None:
    """Each day a second session begins an hour after the first, which then ends 5 s later."""
    taken_over = [
        (device, day * DAY + at, on)
        for device in "abcd"
        for day in range(10)
        for at, on in ((0, 1), (HOUR, 1), (HOUR + 5, 0), (9 * HOUR, 0))
    ]
    log = log_of_frame(frame_of(taken_over))
    assert not caplog.text and "sessions that overlap 40 times, and are counted" in log.read_as
    # Online at 0:00 to 8:00, of 225 rounds.
    assert log.masks.mean().tolist() == [90 / 225] * 4
    log_of_frame(frame_of(taken_over[:4] + daily("bcd")))
    said = "1 times a device comes online twice in a row, and 1 times it goes offline twice"
    assert f"{said}, of 1 devices (a): sessions overlap, or rows are missing" in caplog.text
    assert "max_visit" not in caplog.text


def test_rows_that_are_there_twice_count_once(caplog: pytest.LogCaptureFixture) -> None:
    """An export of days 0 to 4 and a's begin of day 5 comes again: no second session begins.

    Each device is online for 8 rounds of each of ten days, 80 of the 225 rounds.
    """
    events = daily()
    again = [each for each in events if each[1] < 5 * DAY] + [("a", 5 * DAY, 1)]
    log = log_of_frame(frame_of(events + again))
    assert log.masks.mean().tolist() == [80 / 225] * 4
    assert log.masks.table().tolist() == log_of_frame(frame_of(events)).masks.table().tolist()
    said = f"{len(again)} of {len(events + again)} rows are the same as one before in all columns"
    assert said in caplog.text
    assert "overlap" not in log.read_as
    # A row that differs in any column is another session.
    frame = frame_of(events + again).assign(note=[f"n{k}" for k in range(len(events + again))])
    assert "sessions that overlap 25 times, and are counted" in log_of_frame(frame).read_as
    upper = frame.assign(device=["A", *frame["device"][1:]])
    assert log_of_frame(upper).clients[0] == "A" and "upper and lower case alone" in caplog.text
    assert "25 rows repeat device, time and state of one before, and count as" in caplog.text
    lists = frame_of(events + again).assign(tags=[[]] * len(events + again))
    assert log_of_frame(lists).masks.table().tolist() == log.masks.table().tolist()


def test_rows_that_are_there_twice_hide_no_session() -> None:
    """Each row of a session, `link`, is there twice: four per session, of which two count."""
    events = [("a", 0, 1, "x"), ("a", 4000, 1, "y"), ("a", 4100, 0, "x"), ("a", 4 * HOUR, 0, "y")]
    events += [("b", time, on, {"x": "p", "y": "q"}[link]) for _, time, on, link in events]
    frame = pd.DataFrame(events, columns=["device", "time", "online", "link"])
    for each in (frame, pd.concat([frame, frame], ignore_index=True)):
        with pytest.raises(DataError, match="'link' looks like a session"):
            log_of_frame(each)


def test_rows_alike_in_the_hour_that_comes_twice_are_no_repeats(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A poll every 30 min, on throughout: 2:00 and 2:30 come twice on 27 October in Berlin."""
    utc = pd.date_range("2024-10-26T22:00Z", periods=16, freq="30min")
    times = utc.tz_convert("Europe/Berlin").tz_localize(None)
    on = [1] * 15 + [0]
    frame = pd.DataFrame({"device": "a", "time": times, "online": on})
    right = log_of_frame(frame.assign(time=utc)).masks.table().tolist()
    log = log_of_frame(frame, columns="zone=Europe/Berlin")
    assert log.masks.table().tolist() == right
    assert "in all columns" not in caplog.text
    log = log_of_frame(frame.loc[[0, *range(16)]], columns="zone=Europe/Berlin")
    assert log.masks.table().tolist() == right
    assert "1 of 17 rows are the same as one before in all columns" in caplog.text


def test_an_old_sessions_late_end_does_not_switch_a_reconnected_device_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = [("a", 0, 1, "x"), ("a", 4000, 1, "y"), ("a", 4100, 0, "x"), ("a", 4 * HOUR, 0, "y")]
    frame = pd.DataFrame(events, columns=["device", "time", "online", "session_id"])
    assert log_of_frame(frame).masks.table().ravel().tolist() == [True] * 4
    assert not log_of_frame(frame.drop(columns="session_id")).masks.row(3).any()
    # A session whose end is lost lasts until the next one begins.
    log = log_of_frame(frame.drop(index=2).assign(time=[0, 6000, 7000]))
    assert log.masks.table().ravel().tolist() == [True, True]
    assert "1 sessions have no end, and last until the device's next one begins" in caplog.text
    other = frame.rename(columns={"session_id": "link"}).assign(device="a")
    again = pd.concat([other, other.assign(device="b", link=["p", "q", "p", "q"])])
    with pytest.raises(
        DataError, match="'link' looks like a session.*=session=link .2 devices, 10"
    ):
        log_of_frame(again.reset_index(drop=True))


def autumn(zone: str | None) -> pd.DataFrame:
    """Two devices, on and off in turn every 25 min, over the night in which summer time ends."""
    first = pd.Timestamp("2024-10-26T18:00Z")
    rows = [
        (first + pd.Timedelta(minutes=25 * n + 7 * k), "ab"[k], int(n % 2 == 0))
        for n in range(40)
        for k in range(2)
    ]
    frame = pd.DataFrame(rows, columns=["time", "device", "online"])
    if zone is not None:
        frame["time"] = frame["time"].dt.tz_convert(zone).dt.tz_localize(None)
    return frame


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_local_times_at_the_end_of_summer_time_ask_for_their_zone(
    zone: str, newest_first: bool
) -> None:
    local, right = autumn(zone), log_of_frame(autumn(None)).masks.table().tolist()
    if zone == "America/New_York":
        local["time"] += pd.Timedelta(days=7)  # There it ends a week later.
    if newest_first:
        local = local[::-1].reset_index(drop=True)
    if zone == "Europe/Berlin":
        with pytest.raises(
            DataError, match="falls back by .* min within .* --columns=zone=Europe/B"
        ):
            log_of_frame(local)
    log = log_of_frame(local, columns=f"zone={zone}")
    assert f"in {zone}, 2024-1" in log.read_as
    if zone == "Europe/Berlin":
        assert log.masks.table().tolist() == right
    with pytest.raises(DataError, match="zone=UTC is for dates without a zone of their own"):
        log_of_frame(autumn(None), columns="zone=UTC")
    with pytest.raises(ParameterError, match="zone 'Mars' must be a name such as Europe/Berlin"):
        log_of_frame(local, columns="zone=Mars")


VISITS = pd.DataFrame(
    {
        "device": ["a", "b"] * 6,
        "start": [HOUR * n for n in range(12)],
        "end": [HOUR * (n + 2) for n in range(12)],
    }
)
CHANGES = pd.DataFrame(
    {"device": ["a", "b"] * 6, "time": [HOUR * n for n in range(12)], "online": [1, 1, 0, 0] * 3}
)
# Intervals that leave no gap.
WINDOWS = VISITS.assign(start=[DAY * (n // 2) for n in range(12)]).assign(
    end=lambda frame: frame["start"] + DAY
)
ODD = [300 + n for n in range(12)]


@pytest.mark.parametrize(
    ("frame", "more", "message"),
    [
        (VISITS, {"flag": [0, 1, 1] * 4}, "'flag' looks like a state.*state=flag"),
        (VISITS, {"mode": ["p", "q", "q"] * 4}, "'mode' has few values, .*on=p,off=q.*on=q,off=p"),
        (VISITS, {"duration": ODD}, "'duration' looks like a duration.*=duration=duration"),
        (
            VISITS,
            {"flag": ["x", None, None] * 4},
            "'flag' has few values, .*state=flag,on=x,off=nu",
        ),
        (VISITS, {"flag": ["down", None, ""] * 4}, "'flag' has few values, .*state=flag,on=null"),
        (WINDOWS, {"beats": [3, 0, 2, 0] * 3}, "'beats' has numbers beside spans of one length"),
        (WINDOWS, {"up_minutes": [9.5, 0, 2, 5] * 3}, "'up_minutes' has numbers beside spans of"),
        (CHANGES, {"value": [1, 0, 0] * 4}, "'value' looks like a state, .*state=value"),
        (CHANGES, {"elapsed": ODD}, "'elapsed' looks like a duration, .*duration=elapsed"),
        (
            CHANGES,
            {"until": [HOUR * (n + 1.5) for n in range(12)], "online": [1, 0] * 6},
            "'until' looks like an end",
        ),
        (
            CHANGES.assign(online=1),
            {"reason": ["x", "y", "y"] * 4},
            "'reason' has few values, as a state has",
        ),
    ],
)
def test_a_column_that_may_decide_is_refused_with_what_each_reading_says(
    frame: pd.DataFrame, more: dict[str, Any], message: str
) -> None:
    """To leave it out is among what is offered; then it is said not to be used."""
    frame = frame.assign(**more)
    column = next(iter(more))
    if column == "until":
        frame = frame.rename(columns={"until": "later_on"})
        frame["later_on"] = pd.to_datetime(frame["later_on"] + 1_717_200_000, unit="s")
        frame["time"] = pd.to_datetime(frame["time"] + 1_717_200_000, unit="s")
        column, message = "later_on", "'later_on' looks like an end"
    with pytest.raises(DataError, match=message) as raised:
        log_of_frame(frame)
    assert f"--columns=ignore={column} (2 devices, " in str(raised.value)
    log = log_of_frame(frame, columns=f"ignore={column}")
    assert log.read_as.endswith(f"not used: {column}")
    with pytest.raises(ParameterError, match="ignore must name columns of the log"):
        log_of_frame(frame, columns="ignore=nothing")


@pytest.mark.parametrize(
    "more",
    [
        {"platform": ["ios", "android"] * 6},
        {"again": ["on", "on", "off", "off"] * 3},
        {"received": [HOUR * n + 1 for n in range(12)]},
        {"note": [f"n{n}" for n in range(12)]},
        {"one": 1},
        {"old_status": ["down", "up"] * 6},
        {"by_server": [True, None, None] * 4},
    ],
)
def test_columns_that_decide_nothing_are_only_said(more: dict[str, Any]) -> None:
    log = log_of_frame(CHANGES.assign(**more))
    assert log.read_as.endswith(f"not used: {next(iter(more))}")
    assert log.masks.table().tolist() == log_of_frame(CHANGES).masks.table().tolist()


def span_of(start: str, end: str) -> pd.DataFrame:
    return pd.DataFrame({"device": ["a"], "start": [start], "end": [end]})


WORDS = ("now", "today", "NOW", "Today", "tomorrow", "2024-06-0\u0661")
REFUSED: dict[str, tuple[pd.DataFrame, str, str]] = {
    "an end in local time before its begin": (
        span_of("2024-10-27T02:40:00", "2024-10-27T02:10:00"),
        "",
        "is before its start; are these local times at the end of",
    ),
    "an hour that clocks skip": (
        span_of("2024-03-31T02:30:00", "2024-03-31T04:10:00"),
        "zone=Europe/Berlin",
        "there is no such time in Europe/Berlin",
    ),
    # Device `host` has two parts whose spans contradict each other.
    "spans that are on and off": (
        VISITS.assign(device="host", state=["up", "down"] * 6),
        "",
        "of the time online is offline by other spans of the same",
    ),
    "numbers that lost their last digits": (
        frame_of(daily("a", 5)).assign(
            time=lambda f: (f.time + 1.7e9).mul(1e3).map("{:.5E}".format)
        ),
        "",
        "is rounded, as Excel does: export all digits",
    ),
    # A time that is another one on each reading.
    **{
        word: (
            pd.DataFrame({"device": ["a", "a"], "time": ["2024-06-01", word], "online": [1, 0]}),
            "",
            "must be a time: a number, or a date as 2024-06-01T18",
        )
        for word in WORDS
    },
}


@pytest.mark.parametrize(("frame", "columns", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_says_why(frame: pd.DataFrame, columns: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        log_of_frame(frame, columns=columns)


@pytest.mark.parametrize(
    ("column", "unit", "scale"),
    [
        ("duration", "seconds", 1),
        ("duration_ms", "milliseconds", 1000),
        ("duration", "minutes", 1 / 60),
        ("duration", "hundredths of a second", 100),
    ],
)
def test_lengths_of_spans_and_their_unit(column: str, unit: str, scale: float) -> None:
    """Each span ends where the next one of its device begins, 2 h later; half of them are on."""
    rows = CHANGES.assign(**{column: 2 * HOUR * scale})
    log = log_of_frame(rows)
    assert f"; {column} in {unit}; by device, time, duration" in log.read_as
    assert (
        log.masks.table().tolist()
        == log_of_frame(VISITS.assign(state=CHANGES.online)).masks.table().tolist()
    )
    for text in ("02:00:00", "0d 02:00:00", "7200000ms"):
        texts = CHANGES.assign(duration=text)
        assert log_of_frame(texts).masks.table().tolist() == log.masks.table().tolist()


@pytest.mark.parametrize("missing", [0, 1])
def test_a_length_of_time_that_ends_at_the_row_is_no_span(missing: int) -> None:
    """As of a session, said when it ends."""
    lengths = [None, None, 2 * HOUR, 2 * HOUR] * 3
    log = log_of_frame(
        CHANGES.assign(
            duration=lengths if missing else [2 * HOUR * (1 - on) for on in CHANGES.online]
        )
    )
    assert log.masks.table().tolist() == log_of_frame(CHANGES).masks.table().tolist()


def test_units_that_fit_but_make_no_log() -> None:
    def timed(first: int, step: int) -> pd.DataFrame:
        return CHANGES.assign(time=[first + step * n for n in range(12)])

    ticks = timed(638_527_968 * 10**9, 36 * 10**9)
    assert "ticks of 100 ns since the year 1, 2024-06-01 to 06-01" in log_of_frame(ticks).read_as
    since_1601 = timed(133_616_736 * 10**9, 36 * 10**9)
    assert "units of 100 ns since 1601, 2024-06-01 to 06-01" in log_of_frame(since_1601).read_as
    for first, step, said in (
        (28_620_000, 60, "28620000 to 28620660, would be seconds from a start: say the unit"),
        (3_926_188_800, HOUR, "would be seconds since 1970, 2094-06-01 to 06-01: if so, say it by"),
        (0, 36_000_000, "0 to 396000000, would be seconds from a start"),
        (1_717_200_000_000, 1, "would be milliseconds since 1970, 2024-06-01 to 06-01"),
    ):
        with pytest.raises(DataError, match=said):
            log_of_frame(timed(first, step))
    log = log_of_frame(timed(3_926_188_800, HOUR), time_unit="s")
    assert "2094-06-01" in log.read_as


def test_clients_that_would_become_one(tmp_path: Path) -> None:
    spans = {"start": [0, 0], "end": [HOUR, 2 * HOUR]}
    assert log_of_frame(pd.DataFrame({"device": [True, 1], **spans})).clients == ("1", "True")
    ids = [2**53, 2**53 + 1, 2.0]
    rows = [{"device": k, "start": 0, "end": HOUR * (n + 1)} for n, k in enumerate(ids)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read_log(tmp_path / "x.jsonl").clients == ("2", str(2**53), str(2**53 + 1))
    with pytest.raises(DataError, match="floating-point number: above 2.53 it stands for several"):
        log_of_frame(pd.DataFrame({"device": [2.0**53 + 2, 2.0], **spans}))
    halves = pd.Series(["a\ud800", "a\ud801"], dtype=object)
    with pytest.raises(DataError, match="holds half of a surrogate pair"):
        log_of_frame(pd.DataFrame({"device": halves, **spans}))
    (tmp_path / "x.jsonl").write_text('{"device": 1, "device": 2, "start": 0, "end": 9}\n')
    with pytest.raises(DataError, match="line 1: it names 'device' twice"):
        read_log(tmp_path / "x.jsonl")
    (tmp_path / "x.csv").write_text("round,7,7\n1,0,1\n2,1,1\n")
    with pytest.raises(DataError, match="line 1 has '7' twice"):
        read_log(tmp_path / "x.csv")
    twice = pd.DataFrame([["a", 0, 1, 2]], columns=["device", "start", "end", "end"])
    with pytest.raises(DataError, match="two columns have the name 'end'"):
        log_of_frame(twice)


def test_small_files_that_would_take_much_memory_or_time(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps({f"k{n}": 1}) for n in range(5000)))
    with pytest.raises(DataError, match="its 5000 objects have 5000 keys"):
        read_log(path)
    for text in ('{"a":' * 10**5, "[" * 10**5):
        path.write_text(text)
        with pytest.raises(DataError, match="nested too deeply|not a table"):
            read_log(path)
    digits = "1" * 400
    path.write_text(f'{{"device": 1, "time": {digits}, "online": 1}}')
    with pytest.raises(DataError, match="must be a time"):
        read_log(path)
    blanks = "2024-06-01" + " " * 16_000
    log = frame_of([("a", 0, 1), ("b", 0, 0)]).assign(time=[f"{blanks}x", "2024-06-02"])
    with pytest.raises(DataError, match="must be a time"):
        log_of_frame(log)


def test_takeovers_at_one_time_and_late_ends_are_sessions_that_overlap(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each hour a session takes over: of a at once, of b half an hour before the other ends."""
    rows = []
    for hour in range(15):
        for device, late in (("a", 0), ("b", 1800)):
            rows += [(device, hour * HOUR, 1), (device, (hour + 1) * HOUR + late, 0)]
    rows += [("c", 19 * HOUR, 1), ("c", 20 * HOUR, 0)]
    frame = pd.DataFrame(sorted(rows, key=lambda row: row[1]), columns=["device", "time", "online"])
    log = log_of_frame(frame)
    assert log.masks.mean().tolist() == [15 / 20, 16 / 20, 1 / 20]
    assert "sessions that overlap 14 times, and are counted" in log.read_as
    assert not caplog.text
