"""Rows that are no visits: outages, also by a name alone, and heartbeats without an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame, read_log
from f3ast_tff.core.errors import DataError, ParameterError

HOUR = 3600
# Device a from 0 to 2 h, b from 1 to 4 h, on each of four days; the log ends at 76 h.
ROWS = [
    (k, 24 * day + a, 24 * day + b) for day in range(4) for k, a, b in (("a", 0, 2), ("b", 1, 4))
]
LENGTHS = [b - a for _, a, b in ROWS]
SHARES = [8 / 76, 12 / 76]


def days(hours: object) -> pd.Series:
    return pd.Series(pd.to_datetime(hours, unit="h", origin="2024-06-01", utc=True))


def spans(start: str = "start", end: str = "end", **more: Any) -> pd.DataFrame:
    """The rows with names for their bounds; without an end only their begin."""
    found = pd.DataFrame(ROWS, columns=["device", "a", "b"])
    bounds = {start: days(found["a"]), **({end: days(found["b"])} if end else {})}
    return pd.DataFrame({"device": found["device"], **bounds}).assign(**more)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (spans("outage_start", "outage_end"), "name of column 'outage_start'"),
        (spans("start", "outage_end"), "name of column 'outage_end'"),
        (spans("down_at", "up_at"), "name of column 'down_at'"),
        (spans("downAt", "upAt"), "name of column 'downAt'"),
        (spans("offline_since", "online_since"), "name of column 'offline_since'"),
        (spans("lost_at", "restored_at"), "name of column 'lost_at'"),
        (spans("last_seen", "reconnected"), "name of column 'reconnected'"),
        (spans("Ausfall von", "Ausfall bis"), "name of column 'Ausfall von'"),
        (spans("absent_from", "absent_to"), "name of column 'absent_from'"),
        (spans("maintenance_start", "maintenance_end"), "name of column 'maintenance_start'"),
        (spans("incident_start", "incident_end"), "name of column 'incident_start'"),
        (spans("Started at", "Resolved at"), "name of column 'Resolved at'"),
        (spans("dropped_at", "rejoined_at"), "name of column 'dropped_at'"),
        (spans("unresponsive_since", "responsive_again"), "name of column 'unresponsive_since'"),
        (spans("left", "returned"), "name of column 'left'"),
        (spans("disconnected_at", "connected_at"), "from 'disconnected_at' to 'connected_at'"),
        (spans("logout", "login"), "from 'logout' to 'login'"),
        (spans(reason="power loss"), "all spans are 'power loss' in column 'reason'"),
        (spans("start", "", downtime_s=[n * HOUR for n in LENGTHS]), "column 'downtime_s'"),
        (spans("time", "", outage_minutes=[n * 60 for n in LENGTHS]), "column 'outage_minutes'"),
        (spans(Downtime=[f"0{n}:00:00" for n in LENGTHS]), "name of column 'Downtime'"),
        (spans(offline_minutes=[n * 60 for n in LENGTHS]), "name of column 'offline_minutes'"),
        (spans(down_hours=LENGTHS), "name of column 'down_hours'"),
        (spans(outage_id=[f"INC{n}" for n in range(8)]), "name of column 'outage_id'"),
        (spans(state="outage"), "all spans are 'outage' in column 'state'"),
        (spans(state="down"), "all spans are 'down' in column 'state'"),
        (spans(alert="HostDown"), "all spans are 'HostDown' in column 'alert'"),
        (spans(event=["link down", "power outage"] * 4), "all spans are 'link down' in column"),
        (spans(is_down=1), "all spans are '1' in column 'is_down'"),
        (
            spans("time", "", event="connection lost", duration=[n * HOUR for n in LENGTHS]),
            "all spans are 'connection lost' in column 'event'",
        ),
    ],
)
def test_a_list_of_outages_is_refused(frame: pd.DataFrame, said: str) -> None:
    with pytest.raises(DataError) as error:
        log_of_frame(frame)
    text = str(error.value)
    assert said in text and "\n" not in text
    assert "look like outages, times offline, and a list of outages does not say when a " in text
    assert "give the spans online too" in text and "% online" not in text


@pytest.mark.parametrize("name", ["outages.csv", "2024_downtimes.csv"])
def test_nor_is_a_file_of_outages_read(name: str, tmp_path: Path) -> None:
    spans().to_csv(tmp_path / name, index=False)
    with pytest.raises(DataError, match="by the name of the file its rows look like outages"):
        read_log(tmp_path / name)
    assert read_log(tmp_path / name, columns="start=start").masks.mean().tolist() == SHARES


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        (spans(), ""),
        (spans("down_at", "up_at"), ",start=down_at,end=up_at"),
        (spans(state="down"), ""),
        (spans(reason=["reboot", "power loss"] * 4), ""),
        (spans("start", "", outage_minutes=[n * 60 for n in LENGTHS]), ",duration=outage_minutes"),
        # An outage in another, and one of no length.
        (pd.concat([spans(), spans().assign(start=lambda t: t["end"])]), ""),
    ],
)
def test_outages_are_turned_if_the_user_says_so(frame: pd.DataFrame, columns: str) -> None:
    log = log_of_frame(frame.reset_index(drop=True), columns=f"rows=offline{columns}")
    assert log.masks.mean().tolist() == pytest.approx([1 - share for share in SHARES])
    assert "rows are outages: online between them" in log.read_as


def test_what_outages_cannot_be() -> None:
    events = spans().rename(columns={"start": "time"})[["device", "time"]].assign(online=[1, 0] * 4)
    with pytest.raises(DataError, match="rows=offline is for spans"):
        log_of_frame(events, columns="rows=offline")
    with pytest.raises(DataError, match="--max_visit closes visits: must not be given"):
        log_of_frame(spans(), columns="rows=offline", max_visit=HOUR)
    with pytest.raises(ParameterError, match="rows must be offline, if given"):
        log_of_frame(spans(), columns="rows=down")


@pytest.mark.parametrize(
    "frame",
    [
        spans("connected_at", "disconnected_at"),
        spans("online_from", "online_until"),
        spans("login", "logout"),
        # Lengths of the times before, no lengths, and what says that no row is an outage.
        spans(downtime_s=[22 * HOUR + n for n in range(8)]),
        spans(outage_count=range(8)),
        spans(is_down=0),
        spans(note="all well"),
        spans(last_outage=days([0] * 8)),
    ],
)
def test_visits_are_read(frame: pd.DataFrame) -> None:
    assert log_of_frame(frame).masks.mean().tolist() == pytest.approx(SHARES)


def test_names_of_visits_are_taken_if_given(caplog: pytest.LogCaptureFixture) -> None:
    log = log_of_frame(spans("down_at", "up_at"), columns="start=down_at,end=up_at")
    assert log.masks.mean().tolist() == pytest.approx(SHARES)
    assert "column 'down_at' says by its name that the rows are outages" in caplog.text
    with pytest.raises(DataError, match="--columns=ignore=Downtime"):
        log_of_frame(spans(Downtime=LENGTHS))
    log = log_of_frame(spans(Downtime=LENGTHS), columns="ignore=Downtime")
    assert log.masks.mean().tolist() == pytest.approx(SHARES)
    log = log_of_frame(spans(mode="offline"), columns="on=offline,state=mode")
    assert log.masks.mean().tolist() == pytest.approx(SHARES)


def test_words_of_failures_beside_another_are_not_offered_as_online() -> None:
    """Whether kept is online must be said; to ignore the column is no way."""
    frame = spans(state=["maintenance", "PowerFailure", "kept", "kept"] * 2)
    with pytest.raises(DataError, match="by --columns=on=kept,off=maintenance/PowerF") as refused:
        log_of_frame(frame)
    assert "if no row is online by 'state', it is a list of outages" in str(refused.value)
    assert "ignore=state" not in str(refused.value)


def test_outages_of_unknown_names_and_words_are_spans_all_the_same() -> None:
    """They were taken as events, as no word may mean online."""
    frame = spans("TimeStart", "TimeEnd", State=["DOWN*", "DRAIN"] * 4)
    with pytest.raises(DataError, match="by --columns=start=TimeStart,end=TimeEnd .*but .*DRAIN"):
        log_of_frame(frame)
    log = log_of_frame(frame, columns="start=TimeStart,end=TimeEnd,off=drain,rows=offline")
    assert log.masks.mean().tolist() == pytest.approx([1 - share for share in SHARES])


def test_outages_beside_spans_online_are_times_offline() -> None:
    """With the spans between the outages, a is offline for 2 of 24 hours, b for 3."""
    between = [(k, 24 * day + b, 24 * day + 24 + a) for day in range(3) for k, a, b in ROWS[:2]]
    rows = [(*row, "outage") for row in ROWS] + [(*row, "ok") for row in between]
    frame = pd.DataFrame(rows, columns=["device", "start", "end", "state"])
    frame = frame.assign(start=days(frame["start"]), end=days(frame["end"]))
    with pytest.raises(DataError, match="say what they mean, as by --columns=on=ok"):
        log_of_frame(frame)
    log = log_of_frame(frame, columns="on=ok")
    # Of three gaps of 22 and of 21 hours.
    assert log.masks.mean().tolist() == pytest.approx([66 / 76, 63 / 76])


def beats(**names: str) -> pd.DataFrame:
    """Ann is seen every 10 minutes in hours 0 and 3 of 5, Bob in all; a beat of his is lost."""
    rows = [("ann", HOUR * h + 600 * n) for h in (0, 3) for n in range(6)]
    rows += [("bob", 600 * n) for n in range(30) if n != 7]
    frame = pd.DataFrame(rows, columns=["device", "time"]).rename(columns=names)
    return frame.sample(frac=1, random_state=0)


def test_a_device_is_there_until_the_next_beat_if_that_is_near() -> None:
    """From 00:50 on Ann is there for 10 minutes, not until 03:00; Bob's lost beat is no gap."""
    log = log_of_frame(beats(time="beat"), HOUR, columns="seen=beat")
    assert [log.masks.row(t).tolist() for t in range(1, 6)] == [
        [True, True],
        [False, True],
        [False, True],
        [True, True],
        [False, True],
    ]
    assert "rows every 10 min: there from each until the next, or for 10 min" in log.read_as
    assert "by device, seen = beat" in log.read_as
    # In rounds of 20 minutes Ann has 3 of each of her hours.
    log = log_of_frame(beats(), 1200, columns="seen=time")
    assert log.masks.mean().tolist() == [6 / 15, 1.0]


def test_of_beats_with_a_state_those_online_count() -> None:
    frame = beats().assign(state="up")
    frame.loc[(frame["device"] == "bob") & (frame["time"] >= 4 * HOUR), "state"] = "down"
    log = log_of_frame(frame, HOUR, columns="seen=time")
    assert log.masks.row(5).tolist() == [False, False]


@pytest.mark.parametrize(
    ("names", "flag"),
    [
        ({}, "--columns=seen=time (2 devices, 70.0% online)"),
        ({"device": "imei", "time": "last_seen"}, "--columns=device=imei,seen=last_seen (2 dev"),
    ],
)
def test_they_are_offered_and_not_guessed(names: dict[str, str], flag: str) -> None:
    frame = beats(**names)
    if names:
        frame["last_seen"] = pd.to_datetime(frame["last_seen"], unit="s", utc=True).astype(str)
    with pytest.raises(DataError, match="if each row says that a device is there") as refused:
        log_of_frame(frame, HOUR)
    assert flag in str(refused.value)


def test_they_are_not_offered_beside_messages() -> None:
    """Of rows that a device came or went, neither is a sighting; nor is a time a device."""
    frame = beats().assign(
        message=lambda t: [["new client", "bye, client"][n % 2] for n in t.index]
    )
    frame["handshake"] = frame["time"].mod(7) + 1_717_200_000
    missed = frame.drop(columns=["message", "handshake"]).assign(
        error=[None, "timeout"] * 20 + [None]
    )
    roams = beats().assign(ap=lambda t: [["OFF", f"A{n}"][n % 2] for n in range(len(t))])
    ends = beats().assign(until=lambda t: t["time"] % 7 + 1_717_200_000, level=0.5)
    texts, times = frame.drop(columns="handshake"), frame.drop(columns=["message", "device"])
    for each in (texts, times, missed, roams, ends):
        with pytest.raises(DataError) as refused:
            log_of_frame(each, HOUR)
        assert "seen=" not in str(refused.value) and "% online" not in str(refused.value)
