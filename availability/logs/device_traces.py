"""Traces of real devices: the times at which each was eligible to train."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.errors import DataError

DAY = 86_400
# Limit on the states of devices by round, a byte each.
MAX_STATES = 2**31
# Some 30,000 years; a later time is not in seconds.
LATEST = 1e12


@dataclass(frozen=True)
class DeviceTraces:
    """Eligible times of D devices, as events on one clock, so that time zones are kept.

    Attributes:
        names: Name of each device.
        offsets: `int64 [D + 1]`; events of device d are `offsets[d]:offsets[d + 1]`, at least one.
        times: Time of each event, seconds, `float64 [n]`, never decreasing in a device; of events
            at the same time the last counts.
        eligible: Whether the device is eligible from the event until its next event, `bool [n]`.
            The state before the first event is unknown; a first time of -inf leaves no such gap.
        spans: Times at which each device's trace begins and begins again, seconds,
            `float64 [D, 2]`; the trace repeats for ever in both directions. `None`: the last state
            stays.
    """

    names: tuple[str, ...]
    offsets: np.ndarray
    times: np.ndarray
    eligible: np.ndarray
    spans: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not self.names:
            raise DataError("the trace has no device")
        if np.any(np.isnan(self.times)):
            raise DataError(f"device {self._device(np.argmax(np.isnan(self.times)))}: time is NaN")
        if self.spans is not None and not np.all(np.abs(self.spans) <= LATEST):
            raise DataError(f"a trace begins or ends beyond {LATEST:g} s")
        far = (np.abs(self.times) > LATEST) & ~np.isneginf(self.times)
        if np.any(far):
            n = int(np.argmax(far))
            raise DataError(
                f"device {self._device(n)}: time {self.times[n]:g} is not within {LATEST:g} s"
            )
        back = self.times[1:] < self.times[:-1]
        back[self.offsets[1:-1] - 1] = False
        if np.any(back):
            n = int(np.argmax(back))
            raise DataError(
                f"device {self._device(n)}: time {self.times[n + 1]:g} comes after "
                f"{self.times[n]:g}: times must not decrease"
            )

    @property
    def num_devices(self) -> int:
        """D."""
        return len(self.names)

    @property
    def end(self) -> float:
        """Time of the last event of all devices, seconds; infinity if traces repeat."""
        return float("inf") if self.spans is not None else float(self.times.max())

    @property
    def seen(self) -> np.ndarray:
        """First and last time at which each device was seen, seconds, `float64 [D, 2]`."""
        if self.spans is not None:
            return self.spans
        return np.stack([self.times[self.offsets[:-1]], self.times[self.offsets[1:] - 1]], axis=1)

    def once(self) -> DeviceTraces:
        """Returns the traces without repetition, not eligible before a device was first seen."""
        starts = self.offsets[:-1]
        return DeviceTraces(
            self.names,
            offsets=self.offsets + np.arange(self.num_devices + 1),
            times=np.insert(self.times, starts, -np.inf),
            eligible=np.insert(self.eligible, starts, False),
        )

    def eligible_at(self, times: np.ndarray) -> np.ndarray:
        """Returns the eligible devices at given times, `bool [len(times), D]`.

        Args:
            times: Times, seconds, `float [m]`.

        Raises:
            DataError: If a state is unknown because the time is before the device's first event.
        """
        if self.spans is None and len(times) and np.all(np.diff(times) > 0):
            return self._eligible_in_order(times)
        found = np.empty((len(times), self.num_devices), bool)
        for d, (device_times, eligible) in enumerate(self._devices()):
            when = times if self.spans is None else self._folded(d, times)[0]
            last = np.searchsorted(device_times, when, side="right") - 1
            if np.any(last < 0):
                raise self._gap(d, times[int(np.argmin(last))])
            found[:, d] = eligible[last]
        return found

    def _eligible_in_order(self, times: np.ndarray) -> np.ndarray:
        """`eligible_at` increasing times, without a step per device, of which there may be 10^6."""
        devices = np.repeat(np.arange(self.num_devices), np.diff(self.offsets))
        # The first time that sees an event; of several events the last one counts.
        seen_from = np.searchsorted(times, self.times, side="left")
        inside = seen_from < len(times)
        state = np.full((len(times), self.num_devices), -1, np.int8)
        state[seen_from[inside], devices[inside]] = self.eligible[inside]
        unknown = np.flatnonzero(state[0] < 0)
        if len(unknown):
            raise self._gap(int(unknown[0]), times[0])
        for before, now in zip(state[:-1], state[1:]):
            np.copyto(now, before, where=now < 0)
        return state.view(bool)

    def _gap(self, device: int, time: float) -> DataError:
        return DataError(
            f"device {self.names[device]}: has a gap: no state is known at time {time:g}, "
            f"its first entry is at {self.times[self.offsets[device]]:g}"
        )

    def eligible_seconds(self, edges: np.ndarray) -> np.ndarray:
        """Returns the eligible time of each device between successive times.

        Args:
            edges: Increasing times, seconds, `float [m + 1]`.

        Returns:
            Seconds, `float64 [m, D]`.

        Raises:
            DataError: See `eligible_at`.
        """
        self.eligible_at(edges[:1])
        seconds = np.empty((len(edges) - 1, self.num_devices))
        for d, (times, eligible) in enumerate(self._devices()):
            start, end = (edges[0], edges[-1]) if self.spans is None else self.spans[d]
            inside = np.append(np.clip(times, start, end), end)
            total = np.append(0, np.cumsum(np.diff(inside) * eligible))
            if self.spans is None:
                seconds[:, d] = np.diff(np.interp(edges, inside, total))
            else:
                when, repeats = self._folded(d, edges)
                seconds[:, d] = np.diff(np.interp(when, inside, total) + repeats * total[-1])
        return seconds

    def _folded(self, device: int, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times folded into a device's trace, and the number of repetitions before each."""
        assert self.spans is not None
        start, end = self.spans[device]
        repeats = np.floor((times - start) / (end - start))
        return np.clip(times - repeats * (end - start), start, end), repeats

    def _devices(self) -> list[tuple[np.ndarray, np.ndarray]]:
        edges = self.offsets
        return [(self.times[a:b], self.eligible[a:b]) for a, b in zip(edges[:-1], edges[1:])]

    def _device(self, event: int | np.intp) -> str:
        return self.names[int(np.searchsorted(self.offsets, event, side="right")) - 1]
