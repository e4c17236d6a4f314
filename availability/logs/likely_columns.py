"""Logs whose columns have other than the usual names: which columns they most likely are."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from f3ast_tff.availability.logs.log_columns import KNOWN, LOG_FORMS, STATES, LogColumns, flag_of
from f3ast_tff.availability.logs.time_units import is_since_1970
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError
from f3ast_tff.core.frame_columns import is_number

# Rows that are looked at; a table of more columns is no log.
_ROWS, _MOST_COLUMNS = 1000, 50
# Days, also in forms that are not read as times.
_DAY = re.compile(r"\d{1,4}([./-])\d\d?\1\d{2,4}(?![.\d])|\d{8}T\d|\d\d?[ -][A-Za-z]{3,9}[ -]\d\d")


def refuse_columns(frame: Any, found: LogColumns, name: str, given: str = "") -> None:
    """Raises `DataError` on a log without known columns; names its columns, and the likely ones."""
    guess = likely_columns(frame, found)
    times = ("start", "end") if {"start", "end"} & guess.keys() else ("time", "state")
    lacks = [part for part in ("device", *times) if getattr(found, part) is None]
    said = " or ".join("online" if part == "state" else part for part in lacks)
    known = ", ".join(each for part in lacks for each in KNOWN[part])
    flag = flag_of(given, {part: guess.get(part, "NAME") for part in lacks})
    if all(map(is_number, frame.columns)):
        raise DataError(f"{name}: its first line must name the columns, as in {LOG_FORMS}")
    raise DataError(
        f"{name}: has no column {said}, as in {LOG_FORMS}; it has {listed(frame.columns)}: say "
        f"which they are by {flag}. Names that are known: {known}"
    )


def is_likely_log(frame: Any) -> bool:
    """Whether a table is most likely a log: not of states for the most part, and with times."""
    if frame.shape[1] > _MOST_COLUMNS:
        return False
    shares = [_texts(column).str.lower().isin(STATES).mean() for _, column in frame.items()]
    guess = likely_columns(frame, LogColumns())
    return 2 * sum(share > 0.5 for share in shares) < len(shares) and len(guess) > 1


def likely_columns(frame: Any, found: LogColumns) -> dict[str, Any]:
    """Returns the columns of a log by part: those found, then others by their content."""
    guess = {part: column for part, column in asdict(found).items() if column is not None}
    shown = frame.iloc[:, :_MOST_COLUMNS].items()
    texts = {name: _texts(column) for name, column in shown if name not in guess.values()}
    times = [name for name, column in texts.items() if _are_times(column)]
    kinds = {name: column.nunique() for name, column in texts.items()}
    # A device comes again; a number of rows does not.
    others = [name for name in texts if name not in times]
    pool = sorted(others, key=lambda name: kinds[name] == len(texts[name]))
    states = [name for name in pool if texts[name].str.lower().isin(STATES).all()]
    wanted = [part for part in ("start", "end") if part not in guess]
    if len(wanted) < 2 or (len(times) > 1 and not states and "time" not in guess):
        if len(wanted) == 2 and (texts[times[0]] > texts[times[1]]).mean() > 0.5:
            wanted.reverse()
        guess.update(zip(wanted, times))
    else:
        guess = {**dict(zip(["time"], times)), **guess}
        if "state" not in guess and len(pool) > ("device" not in guess):
            guess["state"] = min(states or pool, key=kinds.__getitem__)
    left = [name for name in pool if name not in guess.values()]
    return {**dict(zip(["device"], left)), **guess}


def _texts(column: Any) -> Any:
    return column.head(_ROWS).astype(str).str.strip()


def _are_times(texts: Any) -> bool:
    known = texts[~texts.str.lower().isin(("", "nan", "nat", "none"))]
    return len(known) > 0 and bool(known.str.match(_DAY).mean() > 0.5 or is_since_1970(known))
