"""Device traces: states at given times, and time spent in each state."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.availability import DeviceTraces
from f3ast_tff.core.errors import DataError


def traces(**devices: list[tuple[float, bool]]) -> DeviceTraces:
    offsets = np.cumsum([0] + [len(events) for events in devices.values()])
    events = [event for device in devices.values() for event in device]
    return DeviceTraces(
        tuple(devices),
        offsets,
        np.array([t for t, _ in events], float),
        np.array([on for _, on in events], bool),
    )


# Device a: on in 10..20 and from 30. Device b: off; on at 15 for zero seconds, so always off.
BY_HAND = traces(
    a=[(0, False), (10, True), (20, False), (30, True)],
    b=[(-np.inf, False), (15, True), (15, False)],
)


def test_states_by_hand() -> None:
    """A state begins at its own time; of two entries at the same time the later one counts."""
    times = np.array([0, 9, 10, 19.5, 20, 30, 99])
    eligible = BY_HAND.eligible_at(times)
    assert eligible[:, 0].tolist() == [False, False, True, True, False, True, True]
    assert not eligible[:, 1].any()
    assert (BY_HAND.num_devices, BY_HAND.end) == (2, 30)


def test_seconds_by_hand() -> None:
    """Device a is eligible for 2 of 7 s from 5 to 12, 8 of 13 to 25, and 10 of 15 to 40."""
    seconds = BY_HAND.eligible_seconds(np.array([5, 12, 25, 40]))
    np.testing.assert_allclose(seconds, [[2, 0], [8, 0], [10, 0]])


@given(
    st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=20),
    st.sets(st.integers(0, 60), min_size=2, max_size=8),
)
def test_seconds_are_the_sum_of_the_states(events: list[tuple[int, bool]], edges: set[int]) -> None:
    """Times are whole, so a state at the start of a second holds throughout the second."""
    device = traces(a=[(0, False), *sorted(events, key=lambda event: event[0])])
    grid = np.array(sorted(edges), float)
    states = device.eligible_at(np.arange(61.0))[:, 0]
    expected = [states[int(a) : int(b)].sum() for a, b in zip(grid, grid[1:])]
    np.testing.assert_allclose(device.eligible_seconds(grid)[:, 0], expected)


def test_an_unknown_state_is_a_gap() -> None:
    late = traces(a=[(0, True)], b=[(900, True), (950, False)])
    message = "device b: has a gap: no state is known at time 300, its first entry is at 900"
    with pytest.raises(DataError, match=message):
        late.eligible_at(np.array([300.0, 1000.0]))
    with pytest.raises(DataError, match=message):
        late.eligible_seconds(np.array([300.0, 1000.0]))


def test_what_is_no_time_and_no_device_are_refused() -> None:
    with pytest.raises(DataError, match="device b: time is NaN"):
        traces(a=[(1, True)], b=[(float("nan"), True)])
    with pytest.raises(DataError, match="no device"):
        traces()


def test_many_devices_are_read_at_increasing_times_without_a_step_each() -> None:
    """As one time after another, events at one time included; 10^5 devices take no seconds."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 5, 200)
    times = [np.sort(rng.integers(0, 30, count)).astype(float) for count in counts]
    traces = DeviceTraces(
        tuple(map(str, range(200))),
        offsets=np.cumsum([0, *counts]),
        times=np.concatenate(times),
        eligible=rng.random(counts.sum()) < 0.5,
        spans=None,
    ).once()
    when = np.arange(-1.0, 35.0)
    one_by_one = np.concatenate([traces.eligible_at(when[i : i + 1]) for i in range(len(when))])
    backwards = traces.eligible_at(when[::-1])[::-1]
    assert traces.eligible_at(when).tolist() == one_by_one.tolist() == backwards.tolist()
    n = 100_000
    many = DeviceTraces(
        tuple(map(str, range(n))),
        offsets=2 * np.arange(n + 1),
        times=np.tile([0.0, 50.0], n),
        eligible=np.tile([True, False], n),
        spans=None,
    )
    began = time.process_time()
    assert many.eligible_at(np.arange(0.0, 100.0)).sum() == 50 * n
    assert time.process_time() - began < 5
