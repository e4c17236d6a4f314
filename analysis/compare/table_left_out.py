"""Rows of anybody's table that are no finished run: means of the others, and runs that crashed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import as_number, is_measured, rows_said
from f3ast_tff.analysis.compare.table_columns import measured
from f3ast_tff.analysis.compare.table_hints import RANGES
from f3ast_tff.analysis.compare.table_roles import column_of, method_in, plain_name
from f3ast_tff.core.client_names import listed

# What stands in place of a seed in a row that was computed from others.
_SUMMARIES = (
    "mean std avg average median min max sd sem stdev stddev stderr var variance count sum total "
    "all overall 25% 50% 75%"
)
_STATES = ("state", "status", "run_state", "run_status")
# Of W&B, Optuna, MLflow, Ray and SLURM.
_UNFINISHED = (
    "crashed failed fail failure killed pruned running preempted preempting aborted error errored "
    "cancelled canceled timeout pending paused waiting queued scheduled"
)


def without_summaries(
    table: pd.DataFrame, given: Mapping[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Returns the rows that are no mean, deviation or range of others; the others in words."""
    notes = []
    names = [method_in(table, given)] + [
        column_of(table, r, given) for r in ("seed", "run", "draw")
    ]
    for place, name in enumerate(names):
        if name is None or name not in table:
            continue
        texts = pd.Series([str(value).strip() for value in table[name]], table.index, dtype=str)
        # A method may be called all or sum, but W&B's ranges stand beside their curve.
        summary = texts.str.endswith(RANGES) & texts.str[: -len("__MIN")].isin(set(texts))
        if place:
            summary |= texts.str.lower().isin(_SUMMARIES.split(" "))
        if summary.any() and not summary.all():
            said = listed(dict.fromkeys(texts[summary]))
            rows = rows_said(table.index[summary])
            notes.append(f"left out: {rows}, computed from others: {name} {said}")
            table = table[~summary]
    return table, notes


def without_unfinished(
    table: pd.DataFrame, given: Mapping[str, str], scores: Sequence[str], may_differ: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Returns the rows of runs that finished, by a column such as `State`; the others in words.

    A run without any score is kept, it is said elsewhere; so is one that diverged.

    Raises:
        RunsError: If no run of a method finished; names the flag that counts them.
    """
    method = method_in(table, given)
    scores = [name for name in scores if name in table]
    names = [n for n in map(str, table) if plain_name(n) in _STATES and n not in given.values()]
    name = next((name for name in names if name not in may_differ), None)
    if method is None or name is None or not scores:
        return table, []
    ended = table[name].map(_word).isin(_UNFINISHED.split(" "))
    scored = table[scores].map(is_measured).any(axis=1)
    lost = _last_of_run(table, given, method, ended, _diverged(table, given, scores)) & scored
    if not lost.any():
        return table, []
    unit = column_of(table, "seed", given) or column_of(table, "run", given)
    said = []
    for who, part in table[scored].groupby(method, sort=False):
        own = part[lost[part.index]]
        number, all_ = (len(each if unit is None else each[unit].unique()) for each in (own, part))
        which = "" if unit is None else f" ({unit} {listed(own[unit].unique())})"
        if len(own) == len(part):
            word = own[name].iloc[0]
            cure = f"--may_differ={name} counts them"
            raise RunsError(f"no run of {who} has finished by {name}: {word}; {cure}")
        said += [f"{number} of {all_} of {who}{which}"] if number else []
    return table[~lost], [f"left out: runs not finished by {name}: {', '.join(said)}"]


def _word(value: Any) -> str:
    # Optuna writes TrialState.PRUNED.
    return str(value).strip().lower().rpartition(".")[2]


def _diverged(
    table: pd.DataFrame, given: Mapping[str, str], scores: Sequence[str]
) -> pd.Series[bool]:
    """Whether a measured score of a row is not finite."""
    found = pd.Series(False, table.index)
    for name in scores:
        there = measured(table, name, column_of(table, "step", given))[name].map(as_number)
        wrong = there.index[~np.isfinite(there.to_numpy(float))]
        found[wrong] = True
    return found


def _last_of_run(
    table: pd.DataFrame,
    given: Mapping[str, str],
    method: str,
    lost: pd.Series[bool],
    diverged: pd.Series[bool],
) -> pd.Series[bool]:
    """Whether the run of each row was lost at its last round: a state may be that of the round.

    A run that diverged counts, also if it crashed for that.
    """
    step = column_of(table, "step", given)
    if step is None:
        return lost & ~diverged
    units = [column_of(table, role, given) for role in ("seed", "run", "draw")]
    keys = [method, *(unit for unit in units if unit is not None)]
    found = lost & ~diverged
    for _, rows in table.groupby(keys, sort=False):
        # Rows of several runs, as of a seed that ran again, keep their own state.
        if rows[step].is_unique:
            rounds = pd.to_numeric(rows[step], errors="coerce").fillna(-1).to_numpy(float)
            last = bool(lost[rows.index].iloc[int(rounds.argmax())])
            found[rows.index] = last and not diverged[rows.index].any()
    return found
