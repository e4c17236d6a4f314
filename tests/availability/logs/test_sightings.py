"""Heartbeats: rows that say that a device was there, without a state or an end."""

from __future__ import annotations

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.core.errors import DataError

HOUR = 3600


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
