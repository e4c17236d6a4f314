"""Sites: clinics with maintenance windows, outages, a first and a last round, by a table.

CSV with a row per site. The first column, `site`, holds names; the others may be left out:

| column | content |
|---|---|
| down | maintenance, such as `Sun 02-06; daily 23-01` or `Mon+Thu 01-03` |
| presence | share of the time in which the site is reachable, in (0, 1] |
| down_hours | mean length of an outage; without it each round is drawn anew |
| joins, leaves | first round of the site; first round in which it is gone for good |
| seconds_per_example, kbps | speed of the site, for a delivery with a clock |
| configure_seconds | median time until the site has configured itself, for a race |
"""

from __future__ import annotations

import csv
import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.availability.renewal import Renewal
from f3ast_tff.availability.spell_laws import Weibull
from f3ast_tff.core.client_names import client_name, client_names, listed
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import normals, uniforms
from f3ast_tff.files.csv_rows import csv_rows
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, file_state, read_bytes
from f3ast_tff.settings import REQUIRED, parameter, register
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.text_values import number_in

_LOGGER = logging.getLogger(__name__)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEK = 24.0 * len(DAYS)
_CLOCK = r"([0-9]{1,2})(?::([0-9]{2}))?"
_WINDOW = re.compile(rf"([A-Za-z+]+)\s+{_CLOCK}\s*-\s*{_CLOCK}")
_START = re.compile(rf"([A-Za-z]+)\s+{_CLOCK}")
# Bounds of the columns with a number: least, whether it is allowed, most.
_NUMBERS: Mapping[str, tuple[float, bool, float]] = {
    "presence": (0, False, 1),
    "down_hours": (0, False, 1e6),
    "joins": (1, True, 1e9),
    "leaves": (1, True, 1e9),
    "seconds_per_example": (0, False, 1e6),
    "kbps": (0, False, 1e12),
    "configure_seconds": (0, False, 1e6),
}
COLUMNS = ("site", "down", *_NUMBERS)


@dataclass(frozen=True)
class SiteTable:
    """Sites in the order of the file.

    Attributes:
        names: Names of the N sites.
        down: Maintenance of each site: begin and end, hours of the week from Monday 0:00; a window
            over Sunday's midnight is two.
        numbers: Each other column by name, `float64 [N]`, NaN where nothing is given.
    """

    names: tuple[str, ...]
    down: tuple[tuple[tuple[float, float], ...], ...]
    numbers: Mapping[str, np.ndarray]

    def take(self, places: Sequence[int]) -> SiteTable:
        """Returns some of the sites, in this order."""
        numbers = {name: values[list(places)] for name, values in self.numbers.items()}
        chosen = [(self.names[place], self.down[place]) for place in places]
        return SiteTable(tuple(n for n, _ in chosen), tuple(d for _, d in chosen), numbers)


def windows_of(text: str) -> tuple[tuple[float, float], ...]:
    """Returns windows as begin and end, hours of the week.

    Raises:
        ValueError: If the text is no such list.

    Examples:
        >>> from f3ast_tff.availability.sites import windows_of
        >>> windows_of("Tue 22-02:30; Sun 23-01")
        ((46.0, 50.5), (167.0, 168.0), (0.0, 1.0))
    """
    found: list[tuple[float, float]] = []
    for part in filter(None, map(str.strip, text.split(";"))):
        read = _WINDOW.fullmatch(part)
        days = [] if read is None else [_day(name) for name in read[1].split("+")]
        if read is None or not all(days):
            raise ValueError(f"{part!r} must be days and hours, such as Sun 02-06 or daily 23-01")
        begin, end = _hours(read[2], read[3]), _hours(read[4], read[5])
        if begin == end:
            raise ValueError(f"{part!r} begins when it ends")
        for day in sorted({day for each in days for day in each}):
            first = 24.0 * day + begin
            last = first + (end - begin) % 24
            found.append((first, min(last, _WEEK)))
            if last > _WEEK:
                found.append((0.0, last - _WEEK))
    return tuple(found)


def _day(name: str) -> tuple[int, ...]:
    """Numbers of the days that a word stands for; none for another word."""
    if name.lower() in ("daily", "nightly"):
        return tuple(range(len(DAYS)))
    short = name[:3].capitalize()
    return (DAYS.index(short),) if short in DAYS else ()


def _hours(hours: str, minutes: str | None) -> float:
    found = int(hours) + int(minutes or 0) / 60
    if found > 24 or int(minutes or 0) > 59:
        raise ValueError(f"{hours}:{minutes or '00'} is no time of a day")
    return found


def read_sites(path: str) -> SiteTable:
    """Reads a table of sites.

    Raises:
        ParameterError: If the file is missing or has a fault; names the line.
    """
    try:
        return _read(path, *file_state(Path(path)))
    except FileNotFoundError as error:
        raise ParameterError("site_file", path, "not found") from error
    except (OSError, ValueError, csv.Error) as error:
        raise ParameterError("site_file", path, str(error)) from error


@lru_cache(maxsize=2)
def _read(path: str, *_: int) -> SiteTable:
    text = read_bytes(Path(path), MAX_TEXT_BYTES)
    columns, rows = csv_rows(text) if text.strip() else ([], [])
    other = [name for name in columns if name not in COLUMNS]
    if "site" not in columns or other:
        fault = f"has a column {other[0]}" if other else "has no column site"
        raise ValueError(f"{fault}: its columns must be among {', '.join(COLUMNS)}")
    if not rows:
        raise ValueError("has no site")
    lines: dict[str, int] = {}
    down = []
    numbers = {name: np.full(len(rows), np.nan) for name in _NUMBERS}
    for place, (line, row) in enumerate(rows):
        name = client_name(row["site"])
        if not name or name in lines:
            fault = f"site {name} is in line {lines[name]} too" if name else "the site has no name"
            raise ValueError(f"line {line}: {fault}")
        lines[name] = line
        try:
            down.append(windows_of(row.get("down", "")))
            for column, values in numbers.items():
                values[place] = _number(column, row.get(column, ""))
        except ValueError as error:
            raise ValueError(f"line {line}: site {name}: {error}") from error
    for column in ("seconds_per_example", "kbps"):
        missing = np.isnan(numbers[column])
        if missing.any() and not missing.all():
            raise ValueError(f"site {list(lines)[int(np.argmax(missing))]} has no {column}")
    return SiteTable(tuple(lines), tuple(down), numbers)


def _number(column: str, text: str) -> float:
    if not text:
        return math.nan
    least, included, most = _NUMBERS[column]
    try:
        value = number_in(text)
    except ValueError:
        value = math.nan
    if not (least <= value <= most and (included or value > least)):
        bounds = f"at least {least:g}" if included else f"above {least:g}"
        raise ValueError(f"{column} {text[:40]} must be {bounds} and at most {most:g}")
    return value


class Sites:
    """Sites that are reachable unless a window, an outage, or their first or last round says no.

    Round t begins at hour `start` + (t - 1) h of the week. A site is asked if it is reachable at
    that time.

    Attributes:
        speeds: Seconds per example and kilobits per second of the sites, each `float64 [N]` or
            `None` if not given.
        dropped: Sites that lost the race at configuration, `bool [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability.sites import Sites, SiteTable, windows_of
        >>> nothing = np.full(2, np.nan)
        >>> numbers = {name: nothing for name in ("presence", "down_hours", "joins")}
        >>> numbers |= {"leaves": np.array([4, np.nan]), "seconds_per_example": nothing}
        >>> numbers |= {"kbps": nothing, "configure_seconds": nothing}
        >>> table = SiteTable(("A", "B"), ((), windows_of("Mon 01-03")), numbers)
        >>> [Sites(table, seed=0).mask(t).astype(int).tolist() for t in (1, 2, 3, 4)]
        [[1, 1], [1, 0], [1, 0], [0, 1]]
    """

    # Windows may overlap, so that sites can be away together.
    positively_correlated = True

    def __init__(
        self,
        table: SiteTable,
        seed: int,
        round_hours: float = 1.0,
        start: float = 0.0,
        dropped: np.ndarray | None = None,
    ) -> None:
        """Makes the process.

        Args:
            table: The sites.
            seed: Seed of outages.
            round_hours: h, hours from one round to the next, above 0.
            start: Hour of the week at which round 1 begins, from Monday 0:00.
            dropped: Sites that never take part, `bool [N]`; by default none.
        """
        self.names = table.names
        self.num_clients = len(table.names)
        self.periodic = any(table.down)
        self.dropped = np.zeros(self.num_clients, bool) if dropped is None else dropped
        self._table, self._seed = table, seed
        self._h, self._start = round_hours, start
        numbers = table.numbers
        self._presence = np.nan_to_num(numbers["presence"], nan=1.0)
        self._first = np.nan_to_num(numbers["joins"], nan=1.0)
        self._last = np.nan_to_num(numbers["leaves"], nan=math.inf, posinf=math.inf)
        in_spells = ~np.isnan(numbers["down_hours"]) & (self._presence < 1)
        self._spells = {
            k: self._renewal(float(numbers["down_hours"][k]), float(self._presence[k]))
            for k in np.flatnonzero(in_spells).tolist()
        }

    def _renewal(self, down: float, presence: float) -> Renewal:
        # All N clients, of which one is used: its draws are then independent of the others'.
        up = Weibull(1.0, down * presence / (1 - presence))
        return Renewal(
            self.num_clients, up, Weibull(1.0, down), seed=self._seed, round_hours=self._h
        )

    @property
    def speeds(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """See `process.speeds_of`."""
        of_example, kbps = (self._table.numbers[n] for n in ("seconds_per_example", "kbps"))
        return (
            None if np.isnan(of_example).any() else of_example,
            None if np.isnan(kbps).any() else kbps,
        )

    @property
    def stationary(self) -> np.ndarray | None:
        """Presence, 0 for a site that is gone for good; `None` with maintenance windows."""
        if self.periodic:
            return None
        return self._presence * (np.isinf(self._last) & ~self.dropped)

    def mask(self, round_number: int) -> np.ndarray:
        ids = np.arange(self.num_clients)
        found = uniforms(self._seed, "site presence", ids, round_number) < self._presence
        for k, spells in self._spells.items():
            found[k] = spells.mask(round_number)[k]
        hour = (self._start + (round_number - 1) * self._h) % _WEEK
        for k, windows in enumerate(self._table.down):
            found[k] &= not any(begin <= hour < end for begin, end in windows)
        return found & (self._first <= round_number) & (round_number < self._last) & ~self.dropped


def lost_race(seconds: np.ndarray, quorum: int, wait: float, racing: np.ndarray) -> np.ndarray:
    """Returns the sites that configure too late, `bool [N]`.

    Args:
        seconds: Time at which each site has configured itself, `float64 [N]`.
        quorum: Number of sites with which the run begins.
        wait: Seconds for further sites after that.
        racing: Sites that take part from round 1, `bool [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability.sites import lost_race
        >>> lost_race(np.array([3.0, 1, 9, 5]), 2, 2.5, np.ones(4, bool)).tolist()
        [False, False, True, False]
    """
    there = np.sort(seconds[racing])
    if len(there) < quorum:
        return np.zeros(len(seconds), bool)
    return racing & (seconds > there[quorum - 1] + wait)


@register(
    "availability",
    "sites",
    "Sites",
    about="clinics with maintenance windows, outages, first and last rounds, from a table",
    order=29,
)
@dataclass(frozen=True)
class SitesConfig(AvailabilityConfig):
    r"""`Sites` of a table, and the race at configuration.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from f3ast_tff.availability import SitesConfig
        >>> rows = ["site,down,joins", "north,daily 00-02,", "south,,3"]
        >>> _ = Path("clinics.csv").write_text("\n".join(rows))
        >>> process = SitesConfig(site_file="clinics.csv").build(np.ones(2) / 2, seed=0)
        >>> [process.mask(t).astype(int).tolist() for t in (1, 2, 3)]
        [[0, 0], [0, 0], [1, 1]]
    """

    positively_correlated: ClassVar[bool] = Sites.positively_correlated

    site_file: str = parameter(
        REQUIRED,
        "CSV with a row per site: site, and any of " + ", ".join(COLUMNS[1:]),
        is_input=True,
    )
    site_round_hours: float = parameter(
        1.0, "time from one round to the next", above=0, maximum=1e6, units="hours"
    )
    site_start: str = parameter("Mon 00:00", "day and time at which round 1 begins")
    site_race_quorum: int | None = parameter(
        None,
        "number of sites with which the run begins; those that configure themselves later are "
        "dropped for the whole run",
        minimum=1,
    )
    site_race_wait: float = parameter(
        0.0, "time for further sites after site_race_quorum", minimum=0, units="seconds"
    )
    site_race_spread: float = parameter(
        0.5,
        "standard deviation of the logarithm of the time in which a site configures itself, whose "
        "median is configure_seconds, or 1",
        minimum=0,
        maximum=10,
    )
    clients: tuple[str, ...] = ()

    @classmethod
    def num_clients_of(cls, known: Any) -> int | None:
        try:
            return len(read_sites(known["site_file"]).names)
        except ParameterError:
            # The run will report the error.
            return None

    def for_clients(self, names: Sequence[str]) -> SitesConfig:
        return replace(self, clients=tuple(client_names(names)))

    def client_names(self, process: Any) -> Sequence[str]:
        return process.names

    def build(self, p: np.ndarray, seed: int) -> Sites:
        table = read_sites(self.site_file)
        if self.clients:
            missing = [name for name in self.clients if name not in table.names]
            if missing:
                allowed = f"has no row for {listed(missing)}; it has {listed(table.names)}"
                raise ParameterError("site_file", self.site_file, allowed)
            table = table.take([table.names.index(name) for name in self.clients])
        if len(table.names) != len(p):
            allowed = f"has {len(table.names)} sites, must have one for each of {len(p)} clients"
            raise ParameterError("site_file", self.site_file, allowed)
        return Sites(
            table,
            seed,
            round_hours=self.site_round_hours,
            start=self._begin(),
            dropped=self._dropped(table, seed),
        )

    def _dropped(self, table: SiteTable, seed: int) -> np.ndarray:
        number = len(table.names)
        if self.site_race_quorum is None:
            return np.zeros(number, bool)
        median = np.nan_to_num(table.numbers["configure_seconds"], nan=1.0)
        z = normals(seed, "site race", np.arange(number))
        racing = ~(table.numbers["joins"] > 1)
        lost = lost_race(
            median * np.exp(self.site_race_spread * z),
            quorum=self.site_race_quorum,
            wait=self.site_race_wait,
            racing=racing,
        )
        if lost.any():
            names = listed(np.array(table.names)[lost])
            _LOGGER.warning(
                "site_race_quorum %d: dropped at configuration, for the whole run: %s",
                self.site_race_quorum,
                names,
            )
        return lost

    def _begin(self) -> float:
        read = _START.fullmatch(self.site_start.strip())
        days = () if read is None else _day(read[1])
        if read is None or len(days) != 1:
            allowed = "must be a day and a time, such as Mon 08:00"
            raise ParameterError("site_start", self.site_start, allowed)
        try:
            return 24.0 * days[0] + _hours(read[2], read[3])
        except ValueError as error:
            raise ParameterError("site_start", self.site_start, str(error)) from error

    def check(self, settings: Settings) -> None:
        names = read_sites(self.site_file).names
        self._begin()
        if self.site_race_quorum is not None and self.site_race_quorum > len(names):
            allowed = f"must be at most {len(names)}, the sites in site_file"
            raise ParameterError("site_race_quorum", self.site_race_quorum, allowed)
        if self.site_race_quorum is None and self.site_race_wait:
            raise ParameterError("site_race_wait", self.site_race_wait, "needs site_race_quorum")
