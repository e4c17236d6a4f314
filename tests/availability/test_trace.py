"""Clients that follow device traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import DeviceTraces, Trace, TraceConfig
from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.availability.trace import assign_devices, read_clients
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.resolve import resolve
from tests.availability.logs.test_trace_files import FEDSCALE, TIMERS, write

HOUR = 3600


def nights(num_devices: int = 3, days: int = 3) -> DeviceTraces:
    """Device d is eligible in hours 2 d, 2 d + 1 of each day, on day 1 half an hour less."""
    times, eligible = [], []
    for d in range(num_devices):
        times.append(-np.inf)
        eligible.append(False)
        for day in range(days):
            start = day * DAY + 2 * d * HOUR
            times += [start + (HOUR / 2 if day == 1 else 0), start + 2 * HOUR]
            eligible += [True, False]
    times[-1] = days * DAY
    per_device = 1 + 2 * days
    return DeviceTraces(
        tuple(map(str, range(num_devices))),
        np.arange(num_devices + 1) * per_device,
        np.array(times),
        np.array(eligible),
    )


def trace(n: int = 3, traces: DeviceTraces | None = None, **changed: Any) -> Trace:
    """Trace whose clients follow the devices in order, from time 0, for three days."""
    given = {"start": 0.0, "days": 3.0, "assignment": "in_order", **changed}
    config = TraceConfig("", **{f"trace_{name}": value for name, value in given.items()})
    config.check(Settings.of({}))
    return config.follow(traces or nights(), n, seed=0)


def available(process: Trace, client: int) -> list[int]:
    """Hours of the cycle, from 0, in which a client is available."""
    rounds = range(1, process.rounds_per_cycle + 1)
    return [t - 1 for t in rounds if process.mask(t)[client]]


def test_state_at_the_start_of_the_round_by_hand() -> None:
    """Device 1 has hours 2 and 3 of days 0 and 2. On day 1 it starts at 2:30: hour 3 only.

    Device 2, the last, stays eligible from hour 4 of day 2 on.
    """
    process = trace()
    assert process.rounds_per_cycle == 72
    assert available(process, 1) == [2, 3, 27, 50, 51]
    assert available(process, 2) == [4, 5, 29, *range(52, 72)]
    np.testing.assert_allclose(process.stationary, [5 / 72, 5 / 72, 23 / 72])


def test_throughout_the_round_by_hand() -> None:
    """Two-hour rounds: the slot fills a round on days 0 and 2, but not on day 1."""
    process = trace(round_seconds=2 * HOUR, when="throughout")
    assert available(process, 1) == [1, 25]
    assert available(trace(round_seconds=2 * HOUR), 1) == [1, 25]
    assert available(trace(round_seconds=HOUR // 2, when="throughout"), 1)[4:7] == [53, 54, 55]
    # One-hour rounds from 2:15 on: [2:15, 3:15) lies in the slot, [3:15, 4:15) does not.
    late = trace(start=HOUR / 4, days=1.0, when="throughout")
    assert available(late, 1) == [2]


def test_a_device_that_is_always_eligible_misses_no_round_by_rounding() -> None:
    """Traces repeat after fractions of a second."""
    d = 50
    ends = np.random.default_rng(0).uniform(DAY, 3 * DAY, d)
    spans = np.stack([ends - DAY, ends], axis=1)
    names = tuple(map(str, range(d)))
    traces = DeviceTraces(names, np.arange(d + 1), spans[:, 0].copy(), np.ones(d, bool), spans)
    process = trace(d, traces, days=2.0, when="throughout")
    assert process.stationary.tolist() == [1.0] * d
    assert available(trace(start=HOUR / 4, days=1.0), 1) == [2, 3]


def test_the_part_begins_again_at_the_same_time_of_day() -> None:
    process = trace(days=2.0)
    for t in range(1, 49):
        assert np.array_equal(process.mask(t), process.mask(t + 48 * 7))


def test_shifted_clients_keep_their_time_of_day_and_differ() -> None:
    """One client of device 1 in three is on day 1 in round 3, and so not available at hour 2."""
    plain = trace(3 * 400)
    shifted = trace(3 * 400, shift="days")
    ones = shifted.device_of == 1
    hours = [t % 24 for t in range(1, 73) if shifted.mask(t)[ones].any()]
    assert set(hours) == {3, 4}
    at_two = shifted.mask(3)[ones]
    assert abs(at_two.mean() - 2 / 3) < 5 * np.sqrt(2 / 9 / 400)
    assert plain.mask(3)[ones].all()
    np.testing.assert_allclose(shifted.stationary, plain.stationary)
    seen = np.mean([shifted.mask(t) for t in range(1, 73)], axis=0)
    np.testing.assert_allclose(seen, shifted.stationary)


@pytest.mark.parametrize(("n", "num_devices"), [(5, 12), (12, 12), (30, 12)])
def test_balanced_devices_take_turns(n: int, num_devices: int) -> None:
    counts = np.bincount(assign_devices(n, num_devices, 1, "balanced"), minlength=num_devices)
    assert counts.max() - counts.min() <= 1
    first = assign_devices(n, num_devices, 1, "balanced")
    assert np.array_equal(first, assign_devices(n, num_devices, 1, "balanced"))
    assert not np.array_equal(first, assign_devices(n, num_devices, 2, "balanced"))


def test_other_assignments() -> None:
    assert assign_devices(5, 3, 0, "in_order").tolist() == [0, 1, 2, 0, 1]
    drawn = assign_devices(3000, 3, 0, "with_replacement")
    counts = np.bincount(drawn, minlength=3)
    # Each count is binomial(3000, 1/3), standard deviation 26; 1000 each would not be random.
    assert np.all(np.abs(counts - 1000) < 5 * 26)
    assert counts.tolist() != [1000, 1000, 1000]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"round_seconds": 7000}, "^trace_round_seconds = "),
        ({"round_seconds": 10**9}, "^trace_round_seconds = "),
        ({"days": 3.5}, "^trace_days = "),
        ({"start": float(HOUR)}, "^trace_days = 3.0: .*259200 s .*at most 2.958"),
        ({"shift": "days", "days": 0.5}, "^trace_shift = "),
        ({"shift": "days", "round_seconds": 2 * DAY // 5, "days": 2.0}, "^trace_shift = "),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        trace(**changed)


def test_a_gap_at_the_start_is_refused() -> None:
    late = DeviceTraces(("x",), np.array([0, 2]), np.array([50.0, 1e6]), np.array([True, False]))
    with pytest.raises(DataError, match="device x: has a gap"):
        trace(2, late, days=1)


def test_more_states_than_memory_are_refused_before_they_are_made() -> None:
    names = tuple(map(str, range(100)))
    times = np.tile([0.0, 1e11], 100)
    long = DeviceTraces(names, np.arange(0, 201, 2), times, np.tile([True, False], 100))
    with pytest.raises(ParameterError, match="makes 86400000000 rounds of 100 devices"):
        trace(3, long, round_seconds=1, days=1e6)


def test_the_objective_follows_from_the_devices(tmp_path: Path) -> None:
    """Devices in three groups that take turns all day, and independently available devices.

    Clients that share a device come together, unless each starts on a day of its own.
    """
    draws = np.random.default_rng(0).random((240, 40)) < 0.4
    turns = (np.arange(240)[:, None] // 4 + np.arange(40)) % 3 == 0
    for objective, table in (("p", turns), ("p_squared", draws)):
        rows = [
            f"{d},{t * HOUR},{'AVL_TRAIN' if table[t, d] else 'UN_AVL'}"
            for d in range(40)
            for t in range(240)
        ]
        path = tmp_path / f"{objective}.csv"
        path.write_text("\n".join(["device,time,state", *rows]))
        given = {"availability": "trace", "trace_file": str(path), "trace_start": 0.0}

        for num_clients, shift, expected in (
            (40, "none", objective),
            (200, "none", "p"),
            (200, "days", objective),
        ):
            settings = {**given, "num_clients": num_clients, "trace_shift": shift}
            assert resolve(settings).settings["availability_objective"] == expected


@pytest.mark.parametrize("given", [{"trace_days": 2e-38}, {"trace_round_seconds": 2147483647}])
def test_a_part_without_a_round_is_refused_before_it_is_measured(
    given: dict[str, Any], tmp_path: Path
) -> None:
    path = write(tmp_path, FEDSCALE)
    with pytest.raises(ParameterError, match="trace_round_seconds = .*: must divide trace_days"):
        resolve({"availability": "trace", "trace_file": str(path), **given})


def from_file(path: Path, **given: Any) -> Trace:
    values = {"trace_start": 0.0, "trace_days": 1.0, "trace_assignment": "in_order", **given}
    return TraceConfig(trace_file=str(path), **values).build(np.full(2, 0.5), 0)


def test_clients_are_present_while_their_device_was_seen(tmp_path: Path) -> None:
    """Rounds of 50 s: device 1 is seen until 1000 s, device 2 until 500 s; neither starts again."""
    path = write(tmp_path, FEDSCALE)
    process = from_file(path, trace_round_seconds=50, trace_days=900 / DAY, trace_presence="seen")
    present = np.array([process.present(t) for t in range(1, 19)])
    assert present.all(axis=0).tolist() == [True, False]
    assert present[:, 1].tolist() == [True] * 11 + [False] * 7
    mask = np.array([process.mask(t) for t in range(1, 19)])
    assert np.flatnonzero(mask[:, 0]).tolist() == [1, 2, 4, 5, 6, 7]
    assert np.flatnonzero(mask[:, 1]).tolist() == [8, 9]
    always = from_file(path, trace_round_seconds=50, trace_days=1000 / DAY)
    assert always.present(19).all()
    # At 900 s, device 2 is 400 s into the second run of its trace.
    assert always.mask(19).tolist() == [False, True]


def test_plain_traces_are_seen_from_their_first_entry(tmp_path: Path) -> None:
    """A device's state before its first entry is a gap, allowed until the device is seen."""
    devices = {"a": [[0, "AVL_TRAIN"], [10800, "UN_AVL"]], "b": [[3600, "AVL_TRAIN"], [7200, "x"]]}
    path = write(tmp_path, {"devices": devices})
    given = {"trace_days": 3 / 24, "trace_presence": "seen"}
    process = from_file(path, **given)
    assert [process.present(t).tolist() for t in (1, 2, 3, 4)] == [
        [True, False],
        [True, True],
        [True, True],
        [True, False],
    ]
    with pytest.raises(DataError, match="device b: has a gap"):
        from_file(path, trace_days=3 / 24)


def test_sampled_cases_of_flhetbench(tmp_path: Path) -> None:
    path, case = write(tmp_path, TIMERS), tmp_path / "case1.json"
    given = {"trace_clients": str(case), "trace_assignment": "balanced"}
    write(tmp_path, ["1", "1", "659"], case.name)
    process = from_file(path, **given)
    assert process.device_of.tolist() == [1, 1]
    for names, message in (
        (["1"], "trace_clients = 1 names: must name a device for each of 2 clients"),
        (["1", "451"], "'451': of client 1, is not in the trace, or never eligible"),
    ):
        write(tmp_path, names, case.name)
        with pytest.raises(ParameterError, match=message):
            from_file(path, **given)
    for content in ({"1": 2}, [1], None):
        with pytest.raises(DataError, match="must be a list of device names"):
            read_clients(write(tmp_path, content, case.name))
    with pytest.raises(ParameterError, match="trace_assignment = in_order: does not apply"):
        TraceConfig(str(path), trace_clients=str(case), trace_assignment="in_order").check(
            Settings.of({})
        )
