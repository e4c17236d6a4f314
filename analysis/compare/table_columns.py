"""Columns of anybody's table of scores: a row per run, or per run and round.

Columns are given, or recognised by their names: the method, the score and its direction, the seed
(or an id of the run), the draw of the data, the round. Columns of text in which a method has
several values are conditions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from reprlib import repr

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import as_number, is_measured, rows_said
from f3ast_tff.analysis.compare.table_conditions import (
    differing,
    number_conditions,
    refuse_mixed,
    text_conditions,
)
from f3ast_tff.analysis.compare.table_directions import (
    higher_is_better,
    is_loss_beside,
    likeliest_scores,
)
from f3ast_tff.analysis.compare.table_hints import refuse_clients, refuse_unknown
from f3ast_tff.analysis.compare.table_roles import (
    NAMES,
    Columns,
    column_of,
    known_as,
    method_in,
    require_columns,
)
from f3ast_tff.analysis.compare.table_shapes import (
    no_method,
    no_score,
    refuse_means,
    refuse_several,
    what_text,
)
from f3ast_tff.analysis.compare.table_spellings import refuse_copies, refuse_spellings
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import ParameterError


def recognised(
    table: pd.DataFrame,
    given: Mapping[str, str],
    higher: bool | None,
    within: Sequence[str] = (),
    may_differ: Sequence[str] = (),
) -> Columns:
    """Finds the columns of a table.

    Args:
        table: The table; `table.index` names its rows in messages.
        given: Columns by role: `method`, `score`, `seed`, `run`, `draw`, `step`.
        higher: Whether a higher score is better; `None` to tell by its name.
        within: Further conditions.
        may_differ: Columns that are no conditions.

    Raises:
        ParameterError: If there is no such column.
        RunsError: If a column is not recognised, or the score is no number; names the rows.
    """
    require_columns(table, given)
    method, score = _method_and_score(table, given)
    known = higher_is_better(score)
    if higher is None and known is None:
        raise ParameterError("score", score, "give --higher or --lower, which is better")
    step, seed, draw = (column_of(table, role, given) for role in ("step", "seed", "draw"))
    table = measured(table, score, step)
    _require_numbers(table, score)
    run = None if seed else column_of(table, "run", given)
    if seed is None and run is None and draw is not None:
        # Folds alone are what methods share.
        seed, draw = draw, None
    _refuse_gaps(table, method, [name for name in (method, seed, run, draw) if name])
    refuse_spellings(table, [method])
    if seed is None and run is None:
        refuse_means(table, score, may_differ)
        refuse_copies(table, method)
    losses = [n for n in map(str, table) if n != score and is_loss_beside(n, score)]
    roles = {method, score, step, seed, run, draw}
    found = Columns(
        method=method,
        score=score,
        higher=bool(known if higher is None else higher),
        step=step,
        seed=seed,
        run=run,
        draw=draw,
        conditions=(),
        loss=next(iter(losses), None),
        own=tuple(n for n, told in differing(table, roles, method).items() if told == "tuned"),
    )
    found = replace(found, conditions=text_conditions(table, found, within, may_differ))
    refuse_spellings(table, found.conditions)
    refuse_mixed(table, found, higher)
    if found.unit is None:
        refuse_unknown(table, found, may_differ)
        return found
    refuse_clients(table, found, (*within, *may_differ))
    numbers = number_conditions(table, found, may_differ)
    return replace(found, conditions=(*found.conditions, *numbers))


def _method_and_score(table: pd.DataFrame, given: Mapping[str, str]) -> tuple[str, str]:
    all_ = listed(table.columns)
    method = method_in(table, given)
    roles_by_name = {n for role in NAMES for n in known_as(table, role)}
    if method is None:
        hint = no_method(table, roles_by_name)
        raise RunsError(f"no column is known as the method: --method= names one of {all_}{hint}")
    score = score_in(table, given)
    if score is None:
        hint = no_score(table, {*roles_by_name, method})
        raise RunsError(f"no column is known as the score: --score= names one of {all_}{hint}")
    if "score" not in given:
        refuse_several(table, score, {*roles_by_name, method})
    return method, score


def _require_numbers(table: pd.DataFrame, score: str) -> None:
    texts = [row for row, value in zip(table.index, table[score]) if as_number(value) is None]
    if texts:
        first = repr(table.loc[texts[0], score])
        said = f"column {score} holds text in {rows_said(texts)}: {first}"
        raise RunsError(said + what_text(table.loc[texts], score))
    if table.empty:
        raise RunsError(f"column {score} is empty in every row")


def _refuse_gaps(table: pd.DataFrame, method: str, names: Sequence[str]) -> None:
    """Refuses a row that does not say its method, seed, run or draw."""
    for name in names:
        if empty := [r for r, v in zip(table.index, table[name]) if not is_measured(v) or v != v]:
            cure = "without it a row is no run, delete it or fill it in"
            if name == method:
                filled = f"table[{name!r}] = table[{name!r}].replace('', None).ffill()"
                cure = f"if it is that of the row before, in pandas: {filled}"
            raise RunsError(f"column {name} is empty in {rows_said(empty)}: {cure}")


def score_in(table: pd.DataFrame, given: Mapping[str, str]) -> str | None:
    """Returns the column of the score: the given one, or the likeliest by its name."""
    return next(iter(scores_in(table, given)), None)


def scores_in(table: pd.DataFrame, given: Mapping[str, str]) -> list[str]:
    """Returns the column of the score, and others that are as likely by their names."""

    def may_be(name: str) -> bool:
        return bool(table[name].map(_may_be_score).any())

    if given.get("score"):
        return [given["score"]]
    return likeliest_scores([str(name) for name in table], may_be)


def measured(table: pd.DataFrame, score: str, step: str | None) -> pd.DataFrame:
    """Returns the rows in which a score was measured.

    In a column of floats NaN stands for a gap too, as in the history of a service that logs the
    score at some steps: a step at which no run has a finite score is no evaluation.
    """
    table = table[table[score].map(is_measured)]
    if step is None or table[score].dtype.kind != "f":
        return table
    finite = pd.Series(np.isfinite(table[score]), index=table.index)
    return table[finite.groupby(table[step]).transform("any")]


def _may_be_score(value: object) -> bool:
    """Whether a cell is a number or begins as one, such as `0.7 ± 0.1`, which is refused later."""
    return as_number(value) is not None or re.match(r"[-+]?\.?\d", str(value)) is not None
