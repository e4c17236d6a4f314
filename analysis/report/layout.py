"""Lays out values as text, grids and data frames; cells without runs have no number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from f3ast_tff.analysis.paired_difference import PairedDifference
from f3ast_tff.analysis.report.document import Grid
from f3ast_tff.analysis.report.tables import Cell, Comparison, FilledTable
from f3ast_tff.analysis.texts import (
    NOT_RUN,
    interval,
    of_intervals,
    of_spread,
    one_availability,
    over,
    p_text,
    spread_text,
)
from f3ast_tff.analysis.verdicts import Verdict
from f3ast_tff.settings.kinds import KINDS

_HEADS = {"synthetic_alpha": "alpha", "clients_per_round": "K"}
# Limits for a table that fits 1280 pixels.
_MAX_COLUMNS = 5
_NO_CLAIM = "no claim"
_SIGNS = {"better": ">", "same": "=", "not worse": "≥"}


def interval_columns(found: PairedDifference | None, name: str) -> dict[str, float | None]:
    """Returns a difference and its interval as columns of a data frame; `name` heads the mean."""
    values = (None,) * 3 if found is None else (found.mean, found.low, found.high)
    return dict(zip((name, "low", "high"), values))


def count_columns(found: PairedDifference | None) -> dict[str, object]:
    """Returns pairs, draws and the population covered as columns of a data frame."""
    values = (0, 0, "") if found is None else (found.num_pairs, found.num_draws, found.covers)
    return dict(zip(("pairs", "draws", "covers"), values))


def heading(filled: FilledTable, value: Any) -> str:
    """Returns the head of a column: a value of the setting that the columns vary."""
    across = filled.table.across
    if across in KINDS:
        return filled.display(value, across)
    text = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return f"{_HEADS[across]} = {text}" if across in _HEADS else text


def table_grids(name: str, filled: FilledTable) -> list[Grid]:
    """Returns a filled table as the paper lays it out: ours, then the paper's number.

    The paper's columns come first. If there are many further columns, these have separate tables
    that fit a page.
    """
    filled_in = {at for (*_, at), c in filled.cells.items() if c.ours or c.paper is not None}
    columns = [at for at in filled.columns if at in filled_in]
    parts = [columns]
    if len(columns) > _MAX_COLUMNS:
        further = [at for at in columns if at not in filled.table.columns]
        chunks = range(0, len(further), _MAX_COLUMNS)
        parts = [
            [at for at in columns if at in filled.table.columns],
            *(further[at : at + _MAX_COLUMNS] for at in chunks),
        ]
    # Said once where all cells agree.
    counted = len({over(cell.ours) for cell in filled.cells.values() if cell.ours}) > 1
    grids: list[Grid] = []
    for part in filter(None, parts):
        rows = [
            (task, algorithm, [filled.cells.get((task, algorithm, at)) for at in part])
            for task in filled.tasks
            for algorithm in filled.algorithms(task)
        ]
        # A row without a run or a number of the paper is left out.
        rows = [row for row in rows if any(c and (c.ours or c.paper is not None) for c in row[2])]
        if not rows:
            continue
        more = f", {heading(filled, part[0])} to {heading(filled, part[-1])}" if grids else ""
        covered = "" if filled.variant is None else f"; {of_spread(filled.variant.groups)}"
        grids.append(
            Grid(
                f"{name}_part{len(grids) + 1}" if grids else name,
                caption=f"{filled.table.title} ({filled.label}){more}{covered}",
                head=("algorithm", *(heading(filled, at) for at in part)),
                rows=tuple(
                    (filled.display(algorithm), *(_cell_text(cell, counted) for cell in cells))
                    for _, algorithm, cells in rows
                ),
                groups=tuple(filled.display(task, "task") for task, _, _ in rows),
            )
        )
    return grids


def _cell_text(cell: Cell | None, counted: bool) -> str:
    if cell is None:
        return "–"
    lines = [NOT_RUN if cell.ours is None else spread_text(cell.ours)]
    if cell.relative is not None:
        lines[0] += f" {cell.relative:+.1%}"
    if counted and cell.ours is not None:
        lines.append(over(cell.ours))
    if cell.paper is not None:
        gain = "" if cell.paper_relative is None else f" {cell.paper_relative:+.1%}"
        lines.append(f"paper {cell.paper:g}{gain}")
    return "\n".join(lines)


def comparison_grid(name: str, filled: FilledTable) -> Grid:
    """Returns a table's comparisons that were run, one per row."""
    head = (
        "claim",
        "paper: A − B",
        "ours: A − B, 95% interval",
        "p",
        "over",
        "direction (Holm)",
        "size (Holm)",
    )
    rows, groups = [], []
    for each in filled.ran:
        claim, found, verdict = each.claim, each.found, each.verdict
        rows.append(
            (
                claim_text(filled, each),
                "–" if claim.paper is None else f"{claim.paper:+.4g}",
                interval(found),
                p_text(found),
                over(found),
                _NO_CLAIM if verdict is None else direction_text(verdict),
                "–" if verdict is None else size_text(verdict),
            )
        )
        groups.append(f"{claim.title or 'beside the claims'}, {filled.display(claim.task, 'task')}")
    shared = filled.variant is not None and one_availability(filled.variant.groups)
    covered = of_intervals((each.found for each in filled.comparisons), shared)
    caption = f"Paired differences ({filled.label}){covered and '; ' + covered}"
    return Grid(name, caption, head, tuple(rows), groups=tuple(groups))


def claim_text(filled: FilledTable, each: Comparison) -> str:
    """Returns a claim in words, such as `F3AST > FedAvg, Uneven`."""
    claim = each.claim
    sign = _SIGNS[claim.relation] if claim.source else "against"
    pair = f"{filled.display(claim.a)} {sign} {filled.display(claim.b)}"
    return f"{pair}, {heading(filled, each.at)}"


def direction_text(verdict: Verdict) -> str:
    """Returns the verdict on the direction, and its reason on a second line."""
    return f"{verdict.direction or '–'}{_level(verdict.confidence)}\n{verdict.reason}"


def size_text(verdict: Verdict) -> str:
    """Returns the verdict on the size, `–` if the paper prints no size."""
    return f"{verdict.size or '–'}{_level(verdict.size_confidence)}"


def _level(confidence: float | None) -> str:
    return "" if confidence is None else f" (at {confidence:.2%})"


def table_frame(tables: Sequence[FilledTable]) -> pd.DataFrame:
    """Returns all variants of a table, a row per cell; a cell that was not run has no number."""
    rows = []
    for filled in tables:
        for (task, algorithm, at), cell in filled.cells.items():
            ours = cell.ours
            rows.append(
                {
                    "runs": filled.label if filled.variant else "",
                    "task": task,
                    filled.table.across: at,
                    "algorithm": algorithm,
                    "metric": filled.table.metric,
                    "status": NOT_RUN if ours is None else "run",
                    "pairs": 0 if ours is None else ours.num_runs,
                    "draws": 0 if ours is None else ours.num_draws,
                    "mean": None if ours is None else ours.mean,
                    "standard_deviation": None if ours is None else ours.deviation,
                    "relative_improvement": cell.relative,
                    "paper": cell.paper,
                    "paper_relative_improvement": cell.paper_relative,
                }
            )
    return pd.DataFrame(rows)


def comparison_frame(tables: Sequence[FilledTable]) -> pd.DataFrame:
    """Returns all comparisons, one per row."""
    rows = []
    for filled in tables:
        for each in filled.comparisons:
            claim, found, verdict = each.claim, each.found, each.verdict
            rows.append(
                {
                    "source": claim.title,
                    "family": claim.source,
                    "runs": filled.label if filled.variant else "",
                    "task": claim.task,
                    "where": f"{filled.table.across} {each.at}",
                    "metric": claim.metric,
                    "a": claim.a,
                    "relation": claim.relation if claim.source else "",
                    "b": claim.b,
                    "paper_difference": claim.paper,
                    **interval_columns(found, "difference"),
                    "p_value": None if found is None else found.p_value,
                    **count_columns(found),
                    "direction": _NO_CLAIM if verdict is None else verdict.direction,
                    "direction_confidence": None if verdict is None else verdict.confidence,
                    "size": None if verdict is None else verdict.size,
                    "size_confidence": None if verdict is None else verdict.size_confidence,
                    "reason": "" if verdict is None else verdict.reason,
                }
            )
    return pd.DataFrame(rows)
