"""Events and visits of devices: from a table to entries in time, checked, and to rounds."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.availability.logs.log_columns import LogColumns, devices_of, states_of
from f3ast_tff.availability.logs.log_times import Times, read_times, row_of
from f3ast_tff.availability.logs.mask_files import PackedMasks
from f3ast_tff.availability.logs.time_units import duration_text
from f3ast_tff.core.errors import DataError

_LOGGER = logging.getLogger(__name__)
# A log this many times longer than the middle 90% of its times has a wrong clock, presumably.
_FAR = 20
# Visits this many times longer than all others, at most a twentieth, lack an end, presumably.
_LONGER, _FEW, _MANY_VISITS = 4, 20, 10
_CLOSES = "--max_visit=SECONDS closes such visits (of a run --table_max_visit)"


@dataclass(frozen=True)
class Entries:
    """Changes of D devices, sorted by device and time; offline before the first.

    Attributes:
        names: Names of the devices.
        place: Device of each entry, `int64 [n]`.
        times: Time of each entry, seconds, `float64 [n]`; of entries of one time the last counts.
        online: Whether the device is online from then on, `bool [n]`.
        read: How the times were read; `None` for traces.
    """

    names: tuple[str, ...]
    place: np.ndarray
    times: np.ndarray
    online: np.ndarray
    read: Times | None = None

    @property
    def follows(self) -> np.ndarray:
        """Whether the next entry is of the same device, `bool [n]`."""
        return np.append(self.place[1:] == self.place[:-1], False)

    def in_rounds(self, starts: np.ndarray) -> PackedMasks:
        """Returns who is online at the start of each round, in time linear in entries and masks.

        Args:
            starts: Rising times, seconds, `float64 [T]`.
        """
        first_round = np.searchsorted(starts, self.times, side="left")
        same = np.append(first_round[1:] == first_round[:-1], False)
        kept = np.flatnonzero(~(same & self.follows))
        kept = kept[np.argsort(first_round[kept], kind="stable")]
        bounds = np.searchsorted(first_round[kept], np.arange(len(starts) + 1))
        shape = len(starts), len(self.names)
        state = np.zeros(len(self.names), bool)
        bits = np.empty((shape[0], (shape[1] + 7) // 8), np.uint8)
        for t, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:])):
            changed = kept[begin:end]
            state[self.place[changed]] = self.online[changed]
            bits[t] = np.packbits(state)
        return PackedMasks(bits, shape)


def entries_of_events(
    frame: Any, columns: LogColumns, name: str, unit: str, max_visit: float | None, given: str = ""
) -> Entries:
    """Returns the entries of a table of events: a device is offline before its first event.

    `given` may say what words for states mean, see `log_columns.given_states`.
    """
    read = read_times([frame[columns.time]], name, unit)
    online = states_of(frame[columns.state], name, given)
    names, place = devices_of(frame[columns.device], name)
    entries = _sorted(Entries(names, place, read.seconds[0], online, read))
    times, place, online, follows = entries.times, entries.place, entries.online, entries.follows
    later = np.append(np.diff(times), 0)
    again = follows & (later == 0) & np.append(online[1:] != online[:-1], False)
    if again.any():
        text = "%s: %d times a device has two states at one time; the later row counts"
        _LOGGER.warning(text, name, again.sum())
    twice = follows & (later > 0) & online & np.append(online[1:], False)
    if twice.any():
        text = "%s: %d times a device comes online twice in a row; an offline may be missing: %s"
        _LOGGER.warning(text, name, twice.sum(), _CLOSES)
    if max_visit is not None:
        last = times.max()
        closed = np.flatnonzero(online & ((follows & (later > max_visit)) | ~follows))
        closed = closed[times[closed] + max_visit < last]
        _say_closed(len(closed), max_visit, name)
        entries = replace(
            entries,
            place=np.insert(place, closed + 1, place[closed]),
            times=np.insert(times, closed + 1, times[closed] + max_visit),
            online=np.insert(online, closed + 1, False),
        )
    else:
        ends = np.bincount(place[~online], minlength=len(names)) > 0
        if (never := int((~ends).sum())) > 0 and len(online) > len(names):
            text = "%s: %d of %d devices never go offline, and are online to the log's end; %s"
            _LOGGER.warning(text, name, never, len(names), _CLOSES)
    _say_visits(entries, name)
    return entries


def entries_of_spans(
    frame: Any, columns: LogColumns, name: str, unit: str, max_visit: float | None
) -> Entries:
    """Returns the entries of a table of visits; a visit without an end lasts to the log's end."""
    start, end = columns.start, columns.end
    read = read_times([frame[start], frame[end]], name, unit, ends=(False, True))
    began, ended = read.seconds
    early = np.flatnonzero(ended < began)
    if len(early):
        row = row_of(frame, int(early[0]))
        raise DataError(f"{name}: column {end!r}, {row}: is before its {start}")
    endless = np.isinf(ended)
    last = np.where(endless, began, ended).max()
    if max_visit is not None:
        long = ended - began > max_visit
        _say_closed(int(long.sum()), max_visit, name)
        ended = np.where(long, began + max_visit, ended)
        last = min(last, ended.max()) if not endless.any() else max(last, began.max())
    elif endless.any():
        text = "%s: %d of %d spans have no end, and last until the log's end; %s"
        _LOGGER.warning(text, name, endless.sum(), len(ended), _CLOSES)
    if last == began.min():
        raise DataError(f"{name}: has no length: all spans begin when the log ends")
    names, place = devices_of(frame[columns.device], name)
    times = np.concatenate([began, np.minimum(ended, last)])
    steps = np.repeat([1, -1], len(frame))
    place = np.tile(place, 2)
    order = np.lexsort((times, place))
    # Steps sum to 0 in each device.
    online = np.cumsum(steps[order]) > 0
    entries = Entries(names, place[order], times[order], online, read)
    _say_visits(entries, name)
    return entries


def _sorted(entries: Entries) -> Entries:
    order = np.lexsort((entries.times, entries.place))
    return replace(
        entries,
        place=entries.place[order],
        times=entries.times[order],
        online=entries.online[order],
    )


def _say_closed(many: int, max_visit: float, name: str) -> None:
    if many:
        text = "%s: %d visits were closed after %s"
        _LOGGER.warning(text, name, many, duration_text(max_visit))


def _say_visits(entries: Entries, name: str) -> None:
    """Warns of visits far longer than all others, and of times far from the rest."""
    first_of = np.append(True, entries.place[1:] != entries.place[:-1])
    before = np.where(first_of, False, np.append(False, entries.online[:-1]))
    changes = np.flatnonzero(entries.online != before)
    begins = changes[entries.online[changes]]
    place = np.searchsorted(changes, begins) + 1
    following = np.append(changes, len(entries.times))[place]
    same = np.append(entries.place, -1)[following] == entries.place[begins]
    ends = np.where(same, np.append(entries.times, 0)[following], entries.times.max())
    visits = np.sort(ends - entries.times[begins])[::-1]
    few = max(len(visits) // _FEW, 1)
    if len(visits) >= _MANY_VISITS:
        ratios = visits[:few] / np.maximum(visits[1 : few + 1], 1)
        n = int(np.argmax(ratios))
        if ratios[n] >= _LONGER:
            text = "%s: %d of %d visits last %s or longer, all others at most %s; %s"
            longest = duration_text(float(visits[n])), duration_text(float(visits[n + 1]))
            _LOGGER.warning(text, name, n + 1, len(visits), *longest, _CLOSES)
    say_far_times(entries.times, name)


def say_far_times(times: np.ndarray, name: str) -> None:
    """Warns of a log that a few entries make far longer than most of its entries last."""
    early, late = np.quantile(times, (0.05, 0.95))
    whole, most = times.max() - times.min(), late - early
    if whole > _FAR * most > 0:
        far = int(((times < early - most) | (times > late + most)).sum())
        text = (
            "%s: lasts %.3g days, and most of it %.3g days: %d entries have another clock; leave "
            "them out, or give the unit by --time_unit (of a run --table_time_unit)"
        )
        _LOGGER.warning(text, name, whole / DAY, most / DAY, far)
