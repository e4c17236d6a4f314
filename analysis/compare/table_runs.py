"""Scores from anybody's table, as runs to compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.scored import Kept, Pair, RunsError
from f3ast_tff.analysis.compare.table_cells import (
    as_number,
    as_text,
    as_texts,
    is_measured,
    rows_said,
)
from f3ast_tff.analysis.compare.table_columns import measured
from f3ast_tff.analysis.compare.table_conditions import differing
from f3ast_tff.analysis.compare.table_directions import is_never_negative, is_share
from f3ast_tff.analysis.compare.table_hints import is_round, may_be_seed
from f3ast_tff.analysis.compare.table_roles import KEPT_BY, Columns
from f3ast_tff.analysis.compare.times import Course
from f3ast_tff.core.client_names import listed

# Ratio of two accuracies of one method that are alike.
_NEAR = 1.1
# Integers that are floats too; larger seeds are told apart as they are written.
_MOST = 2**53


def refuse_unequal(table: pd.DataFrame, columns: Columns, may_differ: Sequence[str]) -> None:
    """Refuses methods that were run under unequal conditions.

    Raises:
        RunsError: Names the column, two methods with their values, and rows.
    """
    table = measured(table, columns.score, columns.step)
    roles = {columns.method, columns.score, columns.step, columns.seed, columns.run, columns.draw}
    found = differing(table, {*roles, *may_differ}, columns.method)
    unequal = [name for name, told in found.items() if told == "unequal"]
    if not unequal:
        return
    name, first = unequal[0], table.drop_duplicates(columns.method)
    one = first.iloc[0]
    other = first[as_text(first[name]) != str(one[name])].iloc[0]
    said = [
        f"{row[columns.method]} has {name} {row[name]} "
        f"({rows_said(table.index[table[columns.method] == row[columns.method]])})"
        for row in (one, other)
    ]
    cure = f"--may_differ={','.join(unequal)} if the methods may differ in that"
    raise RunsError(f"unequal conditions: {', '.join(said)}; {cure}")


def refuse_two_units(table: pd.DataFrame, columns: Columns) -> None:
    """Refuses an accuracy that is a share here, and a percentage of another method or run.

    And a number below 0, which programs write for what they do not know.

    Raises:
        RunsError: Names the column, and a value of each with its row.
    """
    table = measured(table, columns.score, columns.step)
    scores = table[columns.score].map(as_number).astype(float)
    scores = scores[np.isfinite(scores)]
    if (below := scores.index[scores < 0]).size and is_never_negative(columns.score):
        said = f"column {columns.score} holds {scores[below[0]]:g} in {rows_said(below)}"
        raise RunsError(f"{said}: leave it empty if it was not measured, inf if never reached")
    if not is_share(columns.score):
        return
    keys = [as_text(table.loc[scores.index, name]) for name in columns.conditions]
    for _, part in scores.groupby(keys) if keys else [((), scores)]:
        rows = part.groupby(table.loc[part.index, columns.method]).idxmax()
        places = sorted(rows, key=lambda row: float(part.loc[row]))
        low, high = places[0], places[-1]
        if 0 <= part.loc[low] <= 1 < part.loc[high]:
            said = " and ".join(
                f"{table.loc[row, columns.score]} for {table.loc[row, columns.method]} (row {row})"
                for row in (low, high)
            )
            raise RunsError(
                f"column {columns.score} holds at most {said}: shares of 1 and percentages are "
                "not compared, divide percentages by 100"
            )
        # Percentages of a first round may be below 1: at each round by itself.
        of_method = [table.loc[part.index, n] for n in (columns.method, columns.step) if n]
        for _, own in part.groupby(of_method):
            percent = own[own > 1]
            # A run that failed has few percent; a share is like the others once it is one.
            near = percent.min() / _NEAR, percent.max() * _NEAR
            alike = own[(own <= 1) & (100 * own).between(*near)]
            if len(alike):
                row, other = alike.index[0], percent.index[0]
                raise RunsError(
                    f"column {columns.score} holds {own[row]:g} (row {row}) and {own[other]:g} "
                    f"(row {other}) of {table.loc[row, columns.method]}: shares of 1 and "
                    "percentages are not compared, divide percentages by 100"
                )


def runs_in(table: pd.DataFrame, columns: Columns) -> list[Kept]:
    """Returns the runs by method and conditions, in the table's order.

    Raises:
        RunsError: If a run has two scores at one round; names the rows, and columns that differ.
    """
    table = measured(table, columns.score, columns.step)
    keys = [columns.method, *columns.conditions]
    units = _units(table, columns)
    steps = _steps(table, columns)
    scores = table[columns.score].map(as_number).to_numpy(float)
    frame = as_texts(table[keys]).assign(_draw=units[0], _unit=units[1], _step=steps)
    by_name = {columns.metric: scores}
    if columns.loss is not None:
        loss = table[columns.loss]
        losses = np.array([as_number(v) if is_measured(v) else 0.0 for v in loss], float)
        if loss.dtype.kind == "f":
            # As of a score, NaN is a gap where no run of the method has a loss.
            there = loss.notna().groupby([table[columns.method], steps]).transform("any")
            losses[~there] = 0.0
        by_name["sample_loss"] = losses
    _refuse_twice(table, frame, columns)
    found = []
    for values, rows in _places(frame, keys):
        courses: dict[Pair, Course] = {}
        part = frame.iloc[rows]
        for pair, places in _places(part, ["_draw", "_unit"]):
            own = rows[places]
            own = own[np.argsort(steps[own], kind="stable")]
            course = {"round": steps[own], **{n: each[own] for n, each in by_name.items()}}
            courses[Pair(int(pair[0]), int(pair[1]))] = course
        settings = {"algorithm": values[0], **dict(zip(columns.conditions, values[1:]))}
        generated = columns.draw is not None and len({pair.draw for pair in courses}) > 1
        found.append(Kept(settings, courses, columns.directions, generates_data=generated))
    return found


def without_score(table: pd.DataFrame, columns: Columns) -> list[str]:
    """Returns the runs without any score, in words, a line per method."""
    there = measured(table, columns.score, columns.step)
    if columns.unit is None:
        lost = table.index.difference(there.index, sort=False)
        what = f"left out: {rows_said(lost)}, without {columns.score}"
        return [what] if len(lost) and columns.step is None else []
    keys = [columns.method, *columns.conditions, *filter(None, [columns.draw]), columns.unit]
    scored = set(map(tuple, as_texts(there[keys]).to_numpy().tolist()))
    lost_runs: dict[str, list[str]] = {}
    for key in map(tuple, as_texts(table[keys]).drop_duplicates().to_numpy().tolist()):
        if key not in scored:
            lost_runs.setdefault(str(key[0]), []).append(str(key[-1]))
    return [
        f"left out: {columns.unit} {listed(units)} of {method}, without {columns.score}"
        for method, units in lost_runs.items()
    ]


def _places(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each combination of values, and the places of its rows, `int64 [n]`."""
    found: Mapping[Any, Any] = frame.groupby(list(keys), sort=False).indices
    for values, rows in found.items():
        yield values if isinstance(values, tuple) else (values,), rows


def _refuse_twice(table: pd.DataFrame, frame: pd.DataFrame, columns: Columns) -> None:
    twice = frame[frame.duplicated(keep=False)]
    if twice.empty:
        return
    same = twice[(twice == twice.iloc[0]).all(axis=1)].index
    row = table.loc[same[0]]
    place = "" if columns.step is None else f" at {columns.step} {row[columns.step]}"
    rows = rows_said(same)
    roles = {columns.score, columns.loss}
    others = as_texts(table.loc[list(same)]).nunique()
    apart = [str(name) for name, number in others.items() if number > 1 and name not in roles]
    if columns.unit is None:
        seeds = [name for name in apart if may_be_seed(name)]
        cure = f"--seed= names the column of the seed, of {listed(seeds)}" if seeds else "no seed"
        if apart and not seeds:
            cure = f"they differ in {apart[0]}: a row per run, such as their mean, and a seed"
        raise RunsError(f"{row[columns.method]} has several scores{place}: {rows}; {cure}")
    cure = f"; they differ in {apart[0]}: --within={apart[0]} if it is a condition" if apart else ""
    if apart and is_round(apart[0]):
        cure = f"; they differ in {apart[0]}: --step={apart[0]} if it is the round"
    if others.max() == 1:
        cure = "; they are alike, in pandas table.drop_duplicates() keeps one"
        below = table.replace("", None).ffill().loc[list(same)].astype(str).nunique()
        if merged := [str(name) for name, number in below.items() if number > 1]:
            filled = f"table[{merged[0]!r}].replace('', None).ffill()"
            cure = f"; if {merged[0]} is that of the row before, in pandas: "
            cure += f"table[{merged[0]!r}] = {filled}"
    if apart and KEPT_BY.fullmatch(apart[0].lower()):
        keys = [n for n in (columns.method, *columns.conditions, columns.draw, columns.unit) if n]
        keys += [columns.step] if columns.step else []
        last = f"table.sort_values({apart[0]!r}).drop_duplicates({keys}, keep='last')"
        cure = f"; they differ in {apart[0]}, if the last run counts, in pandas: {last}"
    what = f"{columns.unit} {row[columns.unit]}"
    raise RunsError(f"{what} is there twice for {row[columns.method]}{place}: {rows}{cure}")


def _units(table: pd.DataFrame, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Draw and seed of each row, as integers; methods share a seed by its value."""
    numbers = []
    for name in (columns.draw, columns.unit):
        if name is not None:
            numbers.append(_integers(table[name]))
        elif name is columns.unit and columns.step is None:
            numbers.append(np.arange(len(table)))
        else:
            numbers.append(np.zeros(len(table), np.int64))
    return numbers[0], numbers[1]


def _steps(table: pd.DataFrame, columns: Columns) -> np.ndarray:
    if columns.step is None:
        return np.ones(len(table), np.int64)
    found = [as_number(value) for value in table[columns.step]]
    wrong = [row for row, n in zip(table.index, found) if n is None or n != n or n % 1]
    if wrong:
        value = table[columns.step][wrong[0]]
        raise RunsError(
            f"column {columns.step} is no whole number in {rows_said(wrong)}: {value!r}"
        )
    return np.array(found, np.int64)


def _integers(values: pd.Series[Any]) -> np.ndarray:
    """The integers of a column, else the places of its values in their order."""
    found = [as_number(value) for value in values]
    if all(n is not None and n % 1 == 0 and abs(n) < _MOST for n in found):
        return np.array(found, np.int64)
    return pd.factorize(as_text(values), sort=True)[0]
