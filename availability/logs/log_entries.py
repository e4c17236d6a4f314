"""Times online of devices: from visits to changes in time, and to rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.availability.logs.log_times import Times
from f3ast_tff.availability.logs.mask_files import PackedMasks
from f3ast_tff.availability.logs.time_units import duration_text

# A log this many times longer than the middle 90% of its times has a wrong clock, presumably.
_FAR = 20
# Visits this many times longer than all others, at most a twentieth, lack an end, presumably.
_LONGER, _FEW, _MANY_VISITS = 4, 20, 10


@dataclass(frozen=True)
class Visits:
    """Times online of D devices, which may overlap: what a log says, in whatever form.

    Attributes:
        names: Names of the devices.
        place: Device of each visit, `int64 [m]`.
        begin: Begin of each visit, seconds, `float64 [m]`.
        end: End of each visit; infinity for the log's end.
        first: First time of the log, seconds.
        last: Last time of the log, seconds.
        seen: Time at which each device is first seen, `float64 [D]`.
        read: How the times were read; `None` for traces.
        notes: What looks wrong, in words.
        said: How the rows were read, in words.
        odd: Share of the rows that contradict others of their device.
        lacks: Why the rows alone do not say who is online, in words; empty if they do.
    """

    names: tuple[str, ...]
    place: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    first: float
    last: float
    seen: np.ndarray
    read: Times | None = None
    notes: tuple[str, ...] = ()
    said: str = ""
    odd: float = 0.0
    lacks: str = ""


@dataclass(frozen=True)
class Entries:
    """Changes of D devices, sorted by device and time; offline before the first.

    Attributes:
        names: Names of the devices.
        place: Device of each entry, `int64 [n]`.
        times: Time of each entry, seconds, `float64 [n]`; of entries of one time the last counts.
        online: Whether the device is online from then on, `bool [n]`.
        first: First time of the log, seconds.
        last: Last time of the log, seconds.
    """

    names: tuple[str, ...]
    place: np.ndarray
    times: np.ndarray
    online: np.ndarray
    first: float
    last: float

    @property
    def follows(self) -> np.ndarray:
        """Whether the next entry is of the same device, `bool [n]`."""
        return _as_next(self.place)

    def in_rounds(self, starts: np.ndarray) -> PackedMasks:
        """Returns who is online at the start of each round, in time linear in entries and masks.

        Args:
            starts: Rising times, seconds, `float64 [T]`.
        """
        first_round = np.searchsorted(starts, self.times, side="left")
        same = _as_next(first_round)
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

    def visits(self) -> np.ndarray:
        """Returns the length of each time online, seconds, the longest first."""
        first_of = ~np.roll(self.follows, 1)
        before = np.where(first_of, False, np.roll(self.online, 1))
        changes = np.flatnonzero(self.online != before)
        begins = changes[self.online[changes]]
        place = np.searchsorted(changes, begins) + 1
        following = np.append(changes, len(self.times))[place]
        same = np.append(self.place, -1)[following] == self.place[begins]
        ends = np.where(same, np.append(self.times, 0)[following], self.last)
        return np.sort(ends - self.times[begins])[::-1]


def _as_next(values: np.ndarray) -> np.ndarray:
    """Whether each value equals the next one, `bool [n]`."""
    return np.append(values[1:] == values[:-1], False)[: len(values)]


def entries_of(visits: Visits) -> Entries:
    """Returns the changes of devices, which are online during the union of their visits."""
    end = np.minimum(visits.end, visits.last)
    kept = visits.begin < end
    place = np.tile(visits.place[kept], 2)
    times = np.concatenate([visits.begin[kept], end[kept]])
    steps = np.repeat(np.array([1, -1], np.int32), kept.sum())
    order = np.lexsort((times, place))
    # Steps sum to 0 in each device.
    online = np.cumsum(steps[order]) > 0
    return Entries(
        visits.names,
        place=place[order],
        times=times[order],
        online=online,
        first=visits.first,
        last=visits.last,
    )


def between(outages: Visits) -> Visits:
    """Returns the times between outages, from the log's first time to its last."""
    found, many = entries_of(outages), len(outages.names)
    before = np.roll(found.online & found.follows, 1)
    stops = np.flatnonzero(found.online & ~before)
    starts = np.flatnonzero(~found.online & before)
    place = np.concatenate([np.arange(many), found.place[starts]])
    begin = np.concatenate([np.full(many, outages.first), found.times[starts]])
    of_end = np.concatenate([np.arange(many), found.place[stops]])
    end = np.concatenate([np.full(many, outages.last), found.times[stops]])
    # In the order of devices and times each begin has its end.
    by_begin, by_end = np.lexsort((begin, place)), np.lexsort((end, of_end))
    return replace(
        outages,
        place=place[by_begin],
        begin=begin[by_begin],
        end=end[by_end],
        seen=np.full(many, outages.first),
        said="rows are outages: online between them, from the log's first time to its last",
    )


def first_seen(place: np.ndarray, times: np.ndarray, devices: int) -> np.ndarray:
    """Returns the first of the times of each device, `float64 [D]`."""
    seen = np.full(devices, np.inf)
    np.minimum.at(seen, place, times)
    return seen


def longest_usual(lengths: np.ndarray) -> tuple[int, float]:
    """Returns how many visits are far longer than all others, and the longest other one, seconds.

    Args:
        lengths: Lengths of visits, the longest first, at least one.
    """
    few = max(len(lengths) // _FEW, 1)
    if len(lengths) >= _MANY_VISITS:
        ratios = lengths[:few] / np.maximum(lengths[1 : few + 1], 1)
        n = int(np.argmax(ratios))
        if ratios[n] >= _LONGER:
            return n + 1, float(lengths[n + 1])
    return 0, float(lengths[0])


def closing(lengths: np.ndarray) -> str:
    """Returns the flag that closes visits longer than those that are known to end, in words.

    Args:
        lengths: Lengths of the visits that end, seconds, `float64 [m]`.
    """
    of_run = "(of a run --table_max_visit)"
    if not len(lengths):
        return f"--max_visit=SECONDS closes such visits {of_run}"
    _, longest = longest_usual(np.sort(lengths)[::-1])
    value = max(int(np.ceil(longest / 60)) * 60, 1)
    return f"--max_visit={value} closes such visits after the longest other one {of_run}"


def odd_lengths(entries: Entries) -> list[str]:
    """Returns what looks wrong in the lengths of visits and of the log, in words."""
    found, lengths = [], entries.visits()
    if len(lengths):
        many, longest = longest_usual(lengths)
        if many:
            least = duration_text(float(lengths[many - 1]))
            found.append(
                f"{many} of {len(lengths)} visits last {least} or longer, all others at most "
                f"{duration_text(longest)}; {closing(lengths[many:])}"
            )
    return [*found, *far_times(entries.times)]


def far_times(times: np.ndarray) -> list[str]:
    """Returns, in words, that a few entries make a log far longer than most of its entries last."""
    if not len(times):
        return []
    early, late = np.quantile(times, (0.05, 0.95))
    whole, most = times.max() - times.min(), late - early
    if not whole > _FAR * most > 0:
        return []
    far = int(((times < early - most) | (times > late + most)).sum())
    return [
        f"lasts {whole / DAY:.3g} days, and most of it {most / DAY:.3g} days: {far} entries have "
        "another clock; leave them out, or give the unit by --time_unit (of a run "
        "--table_time_unit)"
    ]
