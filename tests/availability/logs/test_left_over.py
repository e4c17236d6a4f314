"""Flags that a refusal prints may be pasted: each settles all columns, and says what it said."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.core.errors import DataError

HOUR = 3600
# Device a is online from 0 to 2 h and from 4 to 8 h, b from 1 to 3 h: of 8 rounds 75% and 25%.
SPANS = [("a", 0, 2), ("b", 1, 3), ("a", 4, 8)]
EVENTS = sorted(
    (t, on, k, number) for number, (k, *ab) in enumerate(SPANS) for t, on in zip(ab, (1, 0))
)
WORDS = ("LEAVE", "JOIN")
DATES = ["2024-06-01", "2024-06-02", "2024-06-03"]
# In its first visit a takes over from itself, which ends later; so does it four times in its last.
TAKEN = [("a", 0, 1, 1), ("a", 1, 2, 2), ("b", 1, 3, 3), ("a", 4, 6, 4), ("a", 5, 8, 5)]


def days(hours: Any) -> Any:
    return pd.to_datetime(hours, unit="h", origin="2024-06-01", utc=True)


def spans(**more: list[Any]) -> pd.DataFrame:
    names = ("user", "acctstarttime", "acctstoptime")
    frame = pd.DataFrame(dict(zip(names, zip(*SPANS))))
    return frame.assign(**{name: days(frame[name]) for name in names[1:]}, **more)


def sessions(column: str) -> pd.DataFrame:
    rows = sorted((t, on, k, n) for k, *ab, n in TAKEN for t, on in zip(ab, (1, 0)))
    rows = [(t, on, k, n) for t, on, k, n in rows]
    frame = pd.DataFrame(rows, columns=["time", "word", "device", column])
    return frame.assign(time=days(frame["time"]), word=[WORDS[on] for on in frame["word"]])


def flags_in(text: str) -> dict[str, str]:
    """Each flag of a message, and the share that it says."""
    found = re.findall(r"--columns=([^ ']+)'?(?: \(of a run --table_columns\):)? \(?(.*?% o)", text)
    return {flag: said[:-2] for flag, said in found}


@pytest.mark.parametrize(
    ("frame", "flags"),
    [
        (spans(cause=["lost", "user", "user"]), {"ignore=cause": "50.0%"}),
        (spans(ok=[1, 0, 0]), {"ignore=ok": "50.0%", "state=ok": "12.5%"}),
        # A length that is given replaces an end of a known name.
        (
            spans(minutes_on=[60, 60, 120]).rename(
                columns={"acctstarttime": "start", "acctstoptime": "end"}
            ),
            {"duration=minutes_on": "33.3%", "ignore=minutes_on": "50.0%"},
        ),
        (sessions("conn_id"), {"session=conn_id": "50.0%", "ignore=conn_id": "37.5%"}),
    ],
)
def test_each_flag_that_is_offered_is_read_as_it_says(
    frame: pd.DataFrame, flags: dict[str, str]
) -> None:
    with pytest.raises(DataError) as error:
        log_of_frame(frame)
    found = flags_in(str(error.value))
    for flag, said in found.items():
        log = log_of_frame(frame, columns=flag)
        assert said == f"{len(log.clients)} devices, {log.masks.mean().mean():.1%}"
    for part, share in flags.items():
        assert [said for flag, said in found.items() if part in flag] == [f"2 devices, {share}"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"timezone": ["Asia/Tokyo", "Europe/Paris", "Asia/Tokyo"]}, "'timezone' has zones of"),
        ({"where": ["UTC+09:00", "UTC+02:00", "UTC+09:00"]}, "'where' has zones of the times"),
        ({"tz_offset_min": [540, 120, 540]}, "'tz_offset_min' has zones of the times"),
        (
            {
                "start": [480, 500, 480],
                "end": [1020, 900, 990],
                "date": [f"2024-06-0{n}" for n in (1, 2, 3)],
            },
            "'date'",
        ),
    ],
)
def test_zones_and_days_of_the_times_are_not_passed_over(more: Any, says: str) -> None:
    """Local times of several zones were read as UTC, and minutes of a day from the log's start."""
    frame = pd.DataFrame(SPANS, columns=["device", "start", "end"])
    frame = frame.assign(start=days(frame["start"]), end=days(frame["end"]))
    local = frame.assign(**{name: frame[name].dt.tz_localize(None) for name in ("start", "end")})
    with pytest.raises(DataError, match=says):
        log_of_frame(local.assign(**more))


def test_a_column_of_what_rows_measure_is_named() -> None:
    rows = [(k, t, kind, on) for t, on, k, _ in EVENTS for kind in ("up", "load")]
    frame = pd.DataFrame(rows, columns=["device", "time", "metric", "state"])
    frame.loc[frame["metric"] == "load", "state"] ^= 1
    with pytest.raises(DataError, match="'metric' tells apart rows of a device at one time"):
        log_of_frame(frame.assign(time=days(frame["time"])))
    up = frame[frame["metric"] == "up"]
    log = log_of_frame(up.assign(time=days(up["time"])))
    assert log.masks.mean().tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("lengths", "shown"),
    [(["2 h", "120 mins", "3 hrs 60 mins"], "--columns=duration=duration"), (["?"] * 3, "no len")],
)
def test_rows_of_one_state_need_an_end_or_a_length(lengths: list[str], shown: str) -> None:
    rows = [(k, a, 1) for k, a, _ in SPANS]
    frame = pd.DataFrame(rows, columns=["device", "time", "online"])
    frame = frame.assign(time=days(frame["time"]))
    with pytest.raises(DataError, match="by column 'online' all rows are online"):
        log_of_frame(frame)
    with pytest.raises(DataError, match="all rows are offline: since when"):
        log_of_frame(frame.assign(online=0))
    assert log_of_frame(frame, max_visit=HOUR).masks.mean().tolist() == [0.25, 0.25]
    with pytest.raises(DataError) as error:
        log_of_frame(frame.assign(duration=lengths))
    assert shown in str(error.value) or "all rows are online" in str(error.value)
    if shown.startswith("--"):
        log = log_of_frame(frame.assign(duration=lengths), columns="duration=duration")
        assert log.masks.mean().tolist() == [0.75, 0.25]


def test_outages_are_not_offered_as_times_online() -> None:
    frame = pd.DataFrame(SPANS, columns=["device", "start", "end"])
    frame = frame.assign(start=days(frame["start"]), end=days(frame["end"]))
    with pytest.raises(DataError, match="if no row is online by 'state', it is a list of outages"):
        log_of_frame(frame.assign(state=["DOWN*", "DRAIN", "DOWN*"]))
    with pytest.raises(DataError) as error:
        log_of_frame(frame.assign(state=["down", "up", "repair"]))
    assert "ignore" not in str(error.value)
