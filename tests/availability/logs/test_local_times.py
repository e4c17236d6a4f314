"""Local times over the end of summer time: as events of several devices, and as masks."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.core.errors import DataError

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
