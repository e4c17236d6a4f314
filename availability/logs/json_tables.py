"""Tables in JSON files: lines of objects, lists of them, and the answers of known systems.

- Lines of objects (JSON lines), a list of objects, or an object with one such list (`items`).
- Prometheus: the answer to a range query, a matrix of series, or the series alone, as promtool and
  VictoriaMetrics (a series per line) write them.
- Home Assistant: its history, a list of states per entity of which the first alone names it.

Objects within objects become columns such as `involvedObject.name`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.data_files import json_in

LINES_FORMS = (".jsonl", ".ndjson")
PROMETHEUS = "Prometheus' range query"
# Limit on the entries of a table over the members of its objects: rows may have other keys each.
_SPARSE, _SMALL = 20, 10**6
_DEEP = 20
_LONG_LINE = 2**20
_REASON = 300
# Labels by which the series of a range query are told apart, in the order of preference.
_LABELS = ("instance", "device", "node", "host", "client")


def json_table(content: bytes, name: str, *, lines: bool) -> tuple[Any, str] | None:
    """Returns the table in a JSON file, and its form in words; `None` if it holds no table.

    Args:
        content: The file's bytes.
        name: Name in messages.
        lines: Whether the file's ending says that it is of lines.

    Raises:
        DataError: If it is no JSON, or a table that cannot be read.
    """
    try:
        text = content.decode("utf-8-sig")
        if lines or _is_of_lines(text):
            of_lines = _rows_of_lines(text)
            if (series := _series(of_lines, name)) is not None:
                return _frame(_samples(series, name), name), PROMETHEUS
            return _frame(of_lines, name, line=not text.lstrip().startswith("[")), ""
        found = json_in(text)
    except ValueError as error:
        reason = " ".join(str(error)[:_REASON].split())
        raise DataError(f"{name}: not a table: {reason}") from error
    if (series := _series(found, name)) is not None:
        return _frame(_samples(series, name), name), PROMETHEUS
    rows = _rows(found)
    return None if rows is None else (_frame(rows, name), "")


def _is_of_lines(text: str) -> bool:
    """Whether the first line is an object by itself, with others after it or without lists."""
    first, _, rest = text.strip().partition("\n")
    if not first.startswith("{") or len(first) > _LONG_LINE:
        return False
    try:
        found = json_in(first)
    except ValueError:
        return False
    flat = isinstance(found, dict) and not any(isinstance(v, (dict, list)) for v in found.values())
    return isinstance(found, dict) and (bool(rest.strip()) or flat)


def _rows_of_lines(text: str) -> list[Any]:
    if text.lstrip().startswith("["):
        found = json_in(text)
        rows = _rows(found)
        if rows is None:
            raise ValueError("must be JSON objects")
        return rows
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(json_in(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("must be JSON objects")
    return rows


def _rows(found: Any) -> list[Any] | None:
    """The objects of a list, of one list in an object, or of lists by entity, also deeper."""
    if isinstance(found, list):
        if found and all(isinstance(each, list) for each in found):
            return _histories(found)
        return found if all(isinstance(each, dict) for each in found) else None
    if not isinstance(found, Mapping):
        return None
    lists = [v for v in found.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    if len(lists) == 1:
        return lists[0] if all(isinstance(each, dict) for each in lists[0]) else None
    by_name = {k: rows for k, v in found.items() if (rows := _rows(v))}
    if len(by_name) < 2:
        return next(iter(by_name.values()), None)
    # Several are one table if they are of one kind; their names may be devices, or states.
    kinds = {frozenset(_flat(rows[0])) for rows in by_name.values()}
    rows = [{"name": name, **row} for name, rows in by_name.items() for row in rows]
    return rows if len(kinds) == 1 and "name" not in kinds.pop() else None


def _histories(found: list[Any]) -> list[Any] | None:
    """Home Assistant's history: of an entity's states only the first and the last name it."""
    rows: list[Any] = []
    for history in found:
        entity = None
        for state in history:
            if not isinstance(state, dict):
                return None
            entity = state.get("entity_id", entity)
            rows.append({"entity_id": entity, **state})
    return rows


def _series(found: Any, name: str) -> list[Any] | None:
    """The series of a range query of Prometheus, or of programs that speak its language."""
    if isinstance(found, list):
        if len(found) == 1 and isinstance(found[0], Mapping) and "status" in found[0]:
            return _series(found[0], name)
        known = [
            isinstance(each, Mapping) and each.keys() >= {"metric", "values"} for each in found
        ]
        return found if known and all(known) else None
    if not isinstance(found, Mapping):
        return None
    if found.get("status") == "error" and "errorType" in found:
        raise DataError(
            f"{name}: Prometheus' answer is an error: {str(found.get('error'))[:_REASON]}"
        )
    data = found.get("data", found)
    kind = data.get("resultType") if isinstance(data, Mapping) else None
    if kind in ("vector", "scalar", "string"):
        allowed = "has one moment: ask for a range, /api/v1/query_range"
        raise DataError(f"{name}: Prometheus' answer to an instant query {allowed}")
    result = data.get("result") if kind == "matrix" else None
    if result == []:
        raise DataError(f"{name}: {PROMETHEUS}, without a series")
    return result if isinstance(result, list) else None


def _samples(series: list[Any], name: str) -> Iterable[dict[str, Any]]:
    """A row per sample. A value that is no number is no answer, as a gap is."""
    try:
        metrics = [dict(each["metric"]) for each in series]
        # VictoriaMetrics has the times in milliseconds, in a list of their own.
        values = [
            zip(np.divide(each["timestamps"], 1000.0).tolist(), each["values"], strict=True)
            if "timestamps" in each
            else each["values"]
            for each in series
        ]
        label = _label(metrics, name)
        return [
            {"device": metric.get(label, ""), "time": time, "state": value}
            for metric, pairs in zip(metrics, values)
            for time, value in pairs
            if str(value).lower() != "nan"
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{name}: {PROMETHEUS}, but a series has no metric and values") from error


def _label(metrics: list[dict[str, Any]], name: str) -> str:
    """The label that alone tells the series apart."""
    labels = sorted({label for metric in metrics for label in metric})
    differ = {x: len({str(metric.get(x)) for metric in metrics}) for x in labels}
    alone = [label for label in labels if differ[label] == len(metrics)]
    found = next((label for label in (*_LABELS, *alone) if label in alone), None)
    if found is None:
        some = ", ".join(label for label in labels if differ[label] > 1)
        raise DataError(
            f"{name}: {PROMETHEUS}, whose series no label alone tells apart ({some}): query a "
            "series per device"
        )
    return found


def _frame(rows: Iterable[Any], name: str, *, line: bool = False) -> Any:
    """The table of objects. Values keep their types: an integer is not rounded beside a float."""
    import pandas as pd

    try:
        frame = frame_of_objects(rows)
    except ValueError as error:
        raise DataError(f"{name}: not a table: {error}") from error
    if line:
        frame.index = pd.RangeIndex(1, len(frame) + 1, name="line")
    return frame


def frame_of_objects(rows: Iterable[Any]) -> Any:
    """Returns a DataFrame with a row per JSON object, and columns `a.b` for objects within.

    Raises:
        ValueError: If the objects have so many keys of their own that the table would not fit.
    """
    import pandas as pd

    flat = [_flat(row) for row in rows]
    keys = dict.fromkeys(key for row in flat for key in row)
    if len(keys) * len(flat) > _SPARSE * sum(map(len, flat)) + _SMALL:
        raise ValueError(f"its {len(flat)} objects have {len(keys)} keys")
    columns = {key: pd.Series([row.get(key) for row in flat], dtype=object) for key in keys}
    return pd.DataFrame(columns)


def _flat(row: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping) and value and depth < _DEEP:
            found.update(_flat(value, f"{before}{key}.", depth + 1))
        else:
            found[f"{before}{key}"] = value
    return found
