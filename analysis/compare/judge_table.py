"""Judges the methods of anybody's table of scores.

Examples:
    >>> import pandas as pd
    >>> from f3ast_tff.analysis.compare.judge_table import judge_table
    >>> table = pd.DataFrame({
    ...     "method": ["mine"] * 4 + ["fedavg"] * 4,
    ...     "seed": [0, 1, 2, 3] * 2,
    ...     "accuracy": [0.81, 0.83, 0.80, 0.82, 0.71, 0.74, 0.70, 0.71],
    ... })
    >>> print(judge_table(table).frame()["sentence"][0])
    mine is better than fedavg by .100 [.087, .113] over 4 seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import labelled
from f3ast_tff.analysis.compare.table_claims import (
    Asked,
    Judged,
    claims_in,
    every_pair,
    heading,
    judged,
)
from f3ast_tff.analysis.compare.table_columns import recognised, score_in, scores_in
from f3ast_tff.analysis.compare.table_left_out import (
    without_other_splits,
    without_summaries,
    without_unfinished,
)
from f3ast_tff.analysis.compare.table_roles import Columns, require_columns
from f3ast_tff.analysis.compare.table_runs import runs_in
from f3ast_tff.analysis.compare.table_shapes import split_names
from f3ast_tff.core.client_names import listed


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on a table.

    Attributes:
        results: The verdicts, one family.
        heading: How the table was read, in words.
        notes: What was left out, in words.
    """

    results: Sequence[Judged]
    heading: str
    notes: Sequence[str]

    @property
    def by_condition(self) -> dict[str, list[Judged]]:
        """The verdicts by condition in words, in the order of the conditions."""
        found: dict[str, list[Judged]] = {}
        for each in self.results:
            found.setdefault(each.where, []).append(each)
        return found

    def frame(self) -> pd.DataFrame:
        """Returns a row per verdict: `where`, `a`, `b`, numbers, `sentence`, `claim`, `holds`."""
        return pd.DataFrame([each.row for each in self.results])


def judge_table(
    table: Any,
    claim: str = "",
    *,
    columns: Mapping[str, str] | None = None,
    higher: bool | None = None,
    baseline: str | None = None,
    within: Sequence[str] = (),
    may_differ: Sequence[str] = (),
    at: int | None = None,
    reach: float | None = None,
) -> Verdicts:
    """Judges claims on a table of scores as one family.

    Args:
        table: A pandas DataFrame, or a table with `to_pandas`, as of polars and Arrow: a row per
            run, or per run and round. Its index names rows in messages. A score that is NaN or
            infinite is that of a run that diverged; `None` was not measured.
        claim: Claims, `;` between them, such as `"mine > fedavg on accuracy at 100 within alpha"`;
            empty for each method against each.
        columns: Columns by role, of `method`, `score`, `seed`, `run`, `draw`, `step`; by default
            they are recognised by their names.
        higher: Whether a higher score is better; `None` to tell by its name.
        baseline: Method that all others are compared with.
        within: Further columns that methods must share to be compared.
        may_differ: Columns in which methods may differ, also if they hold text; runs that did
            not finish by a state that is named here count.
        at: Round of claims that name none; `None` for the last one.
        reach: Score until which rounds count, for claims that name none.

    Raises:
        ParameterError: If a column, method or claim is not known.
        RunsError: If the table cannot be judged; names the rows.
    """
    table = _plain(table)
    given = {role: name for role, name in (columns or {}).items() if name}
    asked = claims_in(claim)
    require_columns(table, given)
    shared = dict.fromkeys([*within, *(name for each in asked for name in each.within or ())])
    methods = {baseline or "", *(name for each in asked for name in (each.a, each.b))}
    table, left_out = without_summaries(table, given, methods)
    table, others = without_other_splits(table, given, (*shared, *may_differ))
    left_out = [*left_out, *others]
    names = [each.score or score_in(table, given) or "" for each in asked or [Asked("", "")]]
    table, unfinished = without_unfinished(table, given, names, may_differ)

    def of_score(name: str) -> Columns:
        roles = {**given, "score": name} if name else given
        return recognised(table, roles, higher, list(shared), may_differ)

    scores = {each.score: of_score(each.score) for each in asked} or {"": of_score("")}
    first = next(iter(scores.values()))
    if not asked and (more := scores_in(table, given)[1:]):
        left_out += [f"not judged: {listed(more)}, --score= names another score"]
    if not asked:
        if baseline is None and (said := split_names(table[first.method])):
            raise RunsError(f"{said}; --baseline= if each is a method")
        asked = every_pair(runs_in(table, first), first.metric, baseline)
    asked = [
        replace(
            each,
            at=at if each.at is None else each.at,
            reach=reach if each.reach is None else each.reach,
        )
        for each in asked
    ]
    results, notes = judged(table, scores, asked, may_differ)
    said = heading(list(scores.values()), results)
    return Verdicts(results, said, [*left_out, *unfinished, *notes])


def _plain(table: Any) -> pd.DataFrame:
    """A pandas DataFrame with names of text, rows told apart, and `None` for gaps."""
    try:
        table = labelled(table)
    except ValueError as error:
        raise RunsError(f"the table {error}") from error
    table = table.rename(columns=str)
    if not table.columns.is_unique:
        raise RunsError("two columns have the same name")
    return table
