"""Events of devices: from rows of a time and a state to visits, with the causes of odd rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from f3ast_tff.availability.logs.local_times import check_no_fall_back, in_utc
from f3ast_tff.availability.logs.log_columns import Reading, devices_of
from f3ast_tff.availability.logs.log_entries import Visits, closing, first_seen
from f3ast_tff.availability.logs.log_states import states_of
from f3ast_tff.availability.logs.log_table import LogTable, repeats_of
from f3ast_tff.availability.logs.log_times import Times, read_times
from f3ast_tff.availability.logs.time_units import duration_text
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError

# Rows are samples if most steps are equal, and many repeat the state before.
_FEWEST_STEPS, _EQUAL, _REPEATED, _JITTER, _GAP = 8, 0.7, 0.4, 0.1, 1.5
# Sessions overlap, and are counted, if this many begin within another, and few stay open.
_FEWEST_OVERLAPS, _BALANCE = 10, 0.8
_NAMED = 3


@dataclass(frozen=True)
class _Changes:
    """Rows by device and session, then time, one per time; `place` is the device.

    `steps` is the number of rows online at that time, minus those offline: 0 where one session
    takes over from another.
    """

    key: np.ndarray
    place: np.ndarray
    times: np.ndarray
    online: np.ndarray
    steps: np.ndarray

    @property
    def follows(self) -> np.ndarray:
        return np.append(self.key[1:] == self.key[:-1], False)


def visits_of_events(
    table: LogTable, reading: Reading, unit: str, max_visit: float | None
) -> Visits:
    """Returns the visits of a table of events.

    A device is offline before its first event, and stays in a state until its next event: with
    sessions, of the session. Of rows that are samples, a state lasts for the time between two.

    Args:
        table: The table.
        reading: Its columns.
        unit: See `read_times`.
        max_visit: Longest time online without a further event, seconds; `None` for no limit.

    Raises:
        DataError: If an entry cannot be read; names column and row.
        ParameterError: If the reading's zone is unknown.
    """
    read = read_times([table.frame[reading.time]], table.name, unit, table=table)
    online = states_of(table, reading.state, reading.meant)
    names, place = devices_of(table, reading.device)
    times = read.seconds[0]
    notes: list[str] = []
    if reading.zone:
        times, notes = zoned(times, reading, place, table, local=read.local, column=reading.time)
    elif read.local:
        check_no_fall_back(times, place, table, reading.time)
    key = place if reading.session is None else _sessions(table, reading.session, place)
    rows, more = _once(table, times, reading.zone)
    notes += more
    changes, ties = _by_time(rows, key, place, times, online, table, reading.time)
    twice = f"{ties} times a device has two states at one time; the rows before and after say "
    found = Visits(
        names,
        place=changes.place[changes.online],
        begin=changes.times[changes.online],
        end=_ends(changes)[changes.online],
        first=float(times.min()),
        last=float(times.max()),
        seen=first_seen(place, times, len(names)),
        read=in_zone(read, (times,), reading.zone),
        notes=(*notes, f"{twice}which counts") if ties else tuple(notes),
        odd=_odd(changes),
    )
    if reading.session is not None:
        return _closed(_with_sessions(found), max_visit)
    if max_visit is not None:
        return _closed(found, max_visit)
    if (step := _sampled(changes, table.sampled)) is not None:
        return _samples(found, changes, step)
    if (counted := _overlapping(changes)) is not None:
        online, many = counted
        if not _odd(changes):
            said = f"{many} rows repeat device, time and state of one before, and count as sessions"
            notes.append(f"{said}: if they are of exports that overlap, leave them out")
        return replace(
            found,
            place=changes.place[online],
            begin=changes.times[online],
            end=_ends(changes)[online],
            notes=tuple(notes),
            said=f"sessions that overlap {many} times, and are counted",
        )
    if not table.form and len(rows) > len(names) and online.all() == online.any():
        return replace(found, lacks=_lacks(reading, is_on=bool(online[0])))
    return _said(found, changes)


def _lacks(reading: Reading, *, is_on: bool) -> str:
    """Says that all rows have one state, which is the state of nobody all the time."""
    said = f"by column {reading.state!r} all rows are {'on' if is_on else 'off'}line"
    if not is_on:
        return f"{said}: since when is a device online? Give those rows too"
    return (
        f"{said}, and devices would be so from their first row on: name the column of ends, by "
        "--columns=end=NAME or duration=NAME (of a run --table_columns), or say by "
        "--max_visit=SECONDS how long a device is online after a row (of a run --table_max_visit)"
    )


def in_zone(read: Times, seconds: tuple[np.ndarray, ...], zone: str) -> Times:
    """Returns times as read, with the seconds in UTC and the zone of local times in words."""
    form = read.form.replace("without a zone", f"in {zone}") if zone else read.form
    return replace(read, seconds=seconds, form=form)


def zoned(
    times: np.ndarray,
    reading: Reading,
    place: np.ndarray,
    table: LogTable,
    *,
    local: bool,
    column: str,
) -> tuple[np.ndarray, list[str]]:
    """Returns local times in UTC, and what is not known of them, in words.

    Raises:
        DataError: If they are no dates without a zone.
    """
    if not local:
        allowed = "is for dates without a zone of their own"
        raise DataError(f"{table.name}: zone={reading.zone} {allowed}")
    found, unknown = in_utc(times, reading.zone, place, table, column)
    said = f"{unknown} times lie in the hour that comes twice, and are taken as its first pass"
    return found, [said] if unknown else []


def _sessions(table: LogTable, column: str, place: np.ndarray) -> np.ndarray:
    found = table.coded(column)
    session = np.where(found.filled, found.codes, -1)
    return np.asarray(place * (len(found.values) + 1) + session + 1)


def _once(table: LogTable, times: np.ndarray, zone: str) -> tuple[np.ndarray, list[str]]:
    """Places of the rows that are not the same as one before, and how many are, in words.

    Two exports that overlap, or an event delivered again, are no second session.
    """
    again = table.repeats
    if zone and again.any():
        # In the hour that comes twice, rows alike in local time are of two times.
        again = repeats_of(table.frame.assign(**{f"{table.frame.columns[0]} in UTC": times}))
    many = int(again.sum())
    said = f"{many} of {len(times)} rows are the same as one before in all columns, and count once"
    return np.flatnonzero(~again), [said] if many else []


def _by_time(
    kept: np.ndarray,
    key: np.ndarray,
    place: np.ndarray,
    times: np.ndarray,
    online: np.ndarray,
    table: LogTable,
    column: str,
) -> tuple[_Changes, int]:
    """The rows that are kept in order, one per time, and how many have two states at one time."""
    key, place, times, online = key[kept], place[kept], times[kept], online[kept]
    rows = np.arange(len(times))
    by_key = np.argsort(key, kind="stable")
    steps = np.diff(times[by_key])[key[by_key][1:] == key[by_key][:-1]]
    rises, falls = (steps >= 0).all(), (steps <= 0).all()
    # Newest first: of two rows of one time the upper one is later.
    order = np.lexsort((-rows if falls and not rises else rows, times, key))
    key, place, times, online = key[order], place[order], times[order], online[order]
    again = (key[1:] == key[:-1]) & (times[1:] == times[:-1])
    last = np.append(~again, True)
    steps = np.where(online[last], 1, -1)
    changes = _Changes(key[last], place[last], times[last], online[last].copy(), steps)
    if not again.any():
        return changes, 0
    group = np.cumsum(np.append(0, ~again))
    size = np.bincount(group)
    many_on = np.bincount(group, online)
    steps[:] = 2 * many_on - size
    odd = np.flatnonzero((many_on > 0) & (many_on < size))
    for each in odd.tolist():
        same_before = each > 0 and changes.key[each - 1] == changes.key[each]
        before = bool(changes.online[each - 1]) if same_before else False
        follows = each + 1 < len(size) and changes.key[each + 1] == changes.key[each]
        after = not changes.online[each + 1] if follows else before
        if before == after:
            changes.online[each] = before
        elif not (rises or falls):
            row = int(kept[order[np.flatnonzero(last)[each]]])
            raise DataError(
                f"{table.entry(column, row)}: its device has two states at that time, and rows are "
                "not in the order of time"
            )
    return changes, len(odd)


def _ends(changes: _Changes) -> np.ndarray:
    return np.where(changes.follows, np.append(changes.times[1:], np.inf), np.inf)


def _odd(changes: _Changes) -> float:
    repeats = changes.follows & (changes.online == np.append(changes.online[1:], False))
    pairs = int(changes.follows.sum())
    if pairs and _sampled(changes) is not None:
        return 0.0
    return float(repeats.sum()) / max(pairs, 1)


def _with_sessions(found: Visits) -> Visits:
    """Closes sessions without an end when the device's next one begins."""
    order = np.lexsort((found.begin, found.place))
    place, begin = found.place[order], found.begin[order]
    later = np.append((place[1:] == place[:-1]) & (begin[1:] > begin[:-1]), False)
    following = np.where(later, np.append(begin[1:], np.inf), np.inf)
    end = found.end[order]
    lost = np.isinf(end) & later
    notes = list(found.notes)
    if lost.any():
        said = f"{lost.sum()} sessions have no end, and last until the device's next one begins"
        notes.append(said)
    return replace(
        found,
        place=place,
        begin=begin,
        end=np.where(np.isinf(end), following, end),
        notes=tuple(notes),
    )


def _closed(found: Visits, max_visit: float | None) -> Visits:
    if max_visit is None:
        return found
    late = found.begin + max_visit
    many = int(((found.end > late) & (late < found.last)).sum())
    said = (f"{many} visits were closed after {duration_text(max_visit)}",) if many else ()
    return replace(found, end=np.minimum(found.end, late), notes=(*found.notes, *said))


def _sampled(changes: _Changes, known: bool = False) -> float | None:
    """The time between two samples of a device, if rows are samples, as is known of some files."""
    steps = np.diff(changes.times)[changes.follows[:-1]]
    if known and len(steps):
        return float(steps.min())
    if len(steps) < _FEWEST_STEPS:
        return None
    step = float(np.median(steps))
    equal = np.abs(steps - step) <= _JITTER * step
    repeats = (changes.online[1:] == changes.online[:-1])[changes.follows[:-1]]
    return step if equal.mean() >= _EQUAL and repeats.mean() >= _REPEATED else None


def _samples(found: Visits, changes: _Changes, step: float) -> Visits:
    ends = _ends(changes)
    gap = ends > changes.times + _GAP * step
    ends = np.where(gap, changes.times + step, ends)
    last = ~changes.follows & (changes.times + _GAP * step > found.last)
    many = int((gap & ~last).sum())
    said = f"a state every {duration_text(step)}"
    said += f", {many} gap{'s' * (many > 1)} count{'s' * (many == 1)} as offline" if many else ""
    return replace(found, end=ends[changes.online], said=said)


def _said(found: Visits, changes: _Changes) -> Visits:
    """Events that are changes: warns of what does not alternate, by its cause."""
    kept = changes.steps != 0
    changes = _Changes(*(getattr(changes, each.name)[kept] for each in fields(changes)))
    same = changes.follows[:-1] & (changes.online[1:] == changes.online[:-1])
    on, off = same & changes.online[1:], same & ~changes.online[1:]
    many_on, many_off = int(on.sum()), int(off.sum())
    devices = np.unique(changes.place[1:][on])
    some = listed([found.names[k] for k in devices[:_NAMED]])
    if len(devices) > _NAMED:
        some += " ..."
    ended = changes.follows & changes.online & ~np.append(changes.online[1:], True)
    ended[1:] &= ~on
    lengths = (_ends(changes) - changes.times)[ended]
    notes = list(found.notes)
    if many_on + many_off > (len(changes.times) - len(found.names)) / 2:
        said = "most rows repeat the state before, at irregular times"
        return replace(found, said=said)
    if many_on and many_off >= many_on / 2:
        notes.append(
            f"{many_on} times a device comes online twice in a row, and {many_off} times it goes "
            f"offline twice, of {len(devices)} devices ({some}): sessions overlap, or rows are "
            "missing; a column of sessions would pair them (--columns=session=NAME)"
        )
    elif many_on:
        notes.append(
            f"{many_on} times a device comes online twice in a row, of {len(devices)} devices "
            f"({some}); an offline is missing: {closing(lengths)}"
        )
    elif many_off:
        some = listed([found.names[k] for k in np.unique(changes.place[1:][off])[:_NAMED]])
        notes.append(
            f"{many_off} times a device goes offline twice in a row ({some}); an online is "
            "missing, and the time before counts as offline"
        )
    ends = np.bincount(changes.place[~changes.online], minlength=len(found.names)) > 0
    if (never := int((~ends).sum())) > 0 and len(changes.times) > len(found.names):
        some = listed([found.names[k] for k in np.flatnonzero(~ends)[:_NAMED]])
        some += " ..." if never > _NAMED else ""
        notes.append(
            f"{never} of {len(found.names)} devices never go offline, and are online to the log's "
            f"end ({some}); {closing(lengths)}"
        )
    return replace(found, notes=tuple(notes))


def _overlapping(changes: _Changes) -> tuple[np.ndarray, int] | None:
    """Whether each device is online until the last of its sessions ends, and how many overlap.

    `None` if sessions that are counted do not explain the rows: a missing end leaves one open.
    """
    steps = changes.steps
    firsts = np.flatnonzero(np.append(True, ~changes.follows[:-1]))
    total = np.cumsum(steps)
    before = np.repeat(total[firsts] - steps[firsts], np.diff(np.append(firsts, len(steps))))
    depth = total - before
    final = depth[np.append(firsts[1:], len(depth)) - 1]
    many = int(((steps > 0) & (depth > 1)).sum())
    if many < _FEWEST_OVERLAPS or depth.min() < 0 or final.max() > 1:
        return None
    return (depth > 0, many) if final.sum() <= (1 - _BALANCE) * many else None
