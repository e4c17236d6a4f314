"""Rows of a user's table that are no finished runs: means of other rows, and crashed runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import (
    as_number,
    as_texts,
    is_measured,
    is_text,
    rows_said,
)
from f3ast_tff.analysis.compare.table_columns import measured, scores_in
from f3ast_tff.analysis.compare.table_directions import is_of_splits, is_result, split_of
from f3ast_tff.analysis.compare.table_hints import RANGES
from f3ast_tff.analysis.compare.table_languages import english
from f3ast_tff.analysis.compare.table_roles import column_of, method_in, plain_name
from f3ast_tff.core.client_names import listed

# Words in place of a seed in a row computed from others, and pandas' name of the computation.
_SUMMARIES = {
    **dict.fromkeys(("mean", "avg", "average", "overall", "all"), "mean"),
    **{"median": "median", "min": "min", "max": "max", "sum": "sum", "total": "sum"},
    **dict.fromkeys(("std", "sd", "stdev", "stddev", "stderr", "sem", "var", "variance"), ""),
    **dict.fromkeys(("count", "rank", "wins", "25%", "50%", "75%"), ""),
}
# A method may have these names, as an aggregation against outliers does: its scores tell.
_PERHAPS_METHODS = frozenset({"mean", "median", "min", "max", "sum", "all"})
_EXACT = 1e-9
_STATES = ("state", "status", "run_state", "run_status")
# Words of W&B, Optuna, MLflow, Ray and SLURM.
_UNFINISHED = (
    "crashed failed fail failure killed pruned running preempted preempting aborted error errored "
    "cancelled canceled timeout pending paused waiting queued scheduled"
)


def without_summaries(
    table: pd.DataFrame, given: Mapping[str, str], asked: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Returns the table without means, deviations and ranges of other rows, and notes on these.

    Args:
        table: The table.
        given: Columns by role.
        asked: Methods that the user names.
    """
    notes = []
    method = method_in(table, given)
    roles = [column_of(table, r, given) for r in ("seed", "run", "draw")]
    others = [n for n in map(str, table) if n not in (method, *roles) and is_text(table[n])]
    for name in (method, *roles, *others):
        if name is None or name not in table:
            continue
        texts = pd.Series([str(value).strip() for value in table[name]], table.index, dtype=str)
        words = texts.map({text: _summary(text) for text in texts.unique()})
        computed = [
            word
            for word in words[words != ""].unique()
            if name in roles
            or (name == method and word not in _PERHAPS_METHODS)
            # A spread beside its mean is worse if higher.
            or (not _SUMMARIES.get(word, "") and "mean" in map(_SUMMARIES.get, words))
            or _is_computed(table, given, name, words, word)
        ]
        summary = words.isin(computed) & ~texts.isin(asked)
        if name not in others:
            summary |= texts.str.endswith(RANGES) & texts.str[: -len("__MIN")].isin(set(texts))
        if summary.any() and not summary.all():
            said = listed(dict.fromkeys(texts[summary]))
            rows = rows_said(table.index[summary])
            notes.append(f"left out: {rows}, computed from others: {name} {said}")
            table = table[~summary]
    return table, notes


def _summary(text: str) -> str:
    """The words of a text, if all say that a row was computed from others; else `""`."""
    words = re.findall(r"[^\W_]+%?", english(text))
    return " ".join(words) if words and _SUMMARIES.keys() >= {*words} else ""


def _is_computed(
    table: pd.DataFrame, given: Mapping[str, str], name: str, words: pd.Series[str], word: str
) -> bool:
    """Whether rows called `mean` or the like hold the means of the scores of the other rows."""
    score = next(iter(scores_in(table, given)), None)
    if not _SUMMARIES.get(word) or score is None:
        return False
    scores = pd.Series([as_number(value) for value in table[score]], table.index, dtype=float)
    own = table.loc[(words == word) & np.isfinite(scores)]
    digits = [-int(Decimal(str(value)).as_tuple().exponent) for value in own[score]]
    runs = [column_of(table, role, given) for role in ("seed", "run", "draw", "step")]
    keys = [n for n in map(str, table) if n != name and (n in runs or not is_result(n))]
    texts = as_texts(table)
    for each in (keys, []):
        place = pd.Series(["/".join(row) for row in texts[each].to_numpy()], table.index)
        means = scores[words == ""].groupby(place).agg(_SUMMARIES[word]).reindex(place[own.index])
        apart = (scores[own.index].to_numpy() - means.to_numpy())[means.notna()]
        if len(apart) and abs(apart).max() <= 0.51 * 0.1 ** max(digits) + _EXACT:
            return True
    return False


def without_other_splits(
    table: pd.DataFrame, given: Mapping[str, str], kept: Collection[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Returns the rows of tests, else of validations, by a column such as `set`; and a note.

    Args:
        table: The table.
        given: Columns by role.
        kept: Columns that the user explains; they leave out no rows.
    """
    method = method_in(table, given)
    for name in map(str, table):
        if (
            method is None
            or name in (*given.values(), *kept, method)
            or not is_of_splits(table[name])
        ):
            continue
        ranks = table[name].map(lambda value: split_of(str(value)))
        own = ranks == ranks.min()
        if own.all() or table.loc[own, method].nunique() < table[method].nunique():
            continue
        others = listed(dict.fromkeys(table.loc[~own, name]))
        said = f"left out: {name} {others}, beside {table.loc[own, name].iloc[0]}"
        return table[own], [f"{said}; --within={name} judges each"]
    return table, []


def without_unfinished(
    table: pd.DataFrame, given: Mapping[str, str], scores: Sequence[str], may_differ: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Returns the rows of finished runs, by a column such as `State`; and a note on the others.

    A run without any score is kept, as it is reported elsewhere; so is a run that diverged.

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
    """Whether each row's run was lost at its last round; a state may be the round's alone.

    A run that diverged is not lost, even if it crashed for that reason.
    """
    step = column_of(table, "step", given)
    if step is None:
        return lost & ~diverged
    units = [column_of(table, role, given) for role in ("seed", "run", "draw")]
    keys = [method, *(unit for unit in units if unit is not None)]
    found = lost & ~diverged
    for _, rows in table.groupby(keys, sort=False):
        # Rows of several runs, such as a seed that ran again, keep their own state.
        if rows[step].is_unique:
            rounds = pd.to_numeric(rows[step], errors="coerce").fillna(-1).to_numpy(float)
            last = bool(lost[rows.index].iloc[int(rounds.argmax())])
            found[rows.index] = last and not diverged[rows.index].any()
    return found
