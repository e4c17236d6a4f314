"""Lays out values as text, grids and data frames; cells without runs have no number."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.render import grounds
from f3ast_tff.analysis.report.claims import NO_CLAIM, Cell, FilledTable
from f3ast_tff.analysis.report.document import Grid
from f3ast_tff.analysis.texts import NOT_RUN, of_spread, over, spread_text

# Limits for a table that fits 1280 pixels.
_MAX_COLUMNS = 5


def difference_columns(found: PairedDifference | None, name: str) -> dict[str, object]:
    """Returns a difference as columns of a data frame; `name` heads the mean."""
    heads = (name, "low", "high", "p_value", "pairs", "draws", "covers")
    if found is None:
        return dict(zip(heads, (None, None, None, None, 0, 0, "")))
    interval = (found.mean, found.low, found.high, found.p_value)
    return dict(zip(heads, (*interval, found.num_pairs, found.num_draws, found.covers)))


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
        more = f", {filled.heading(part[0])} to {filled.heading(part[-1])}" if grids else ""
        covered = "" if filled.variant is None else f"; {of_spread(filled.variant.groups)}"
        grids.append(
            Grid(
                f"{name}_part{len(grids) + 1}" if grids else name,
                caption=f"{filled.table.title} ({filled.label}){more}{covered}",
                head=("algorithm", *(filled.heading(at) for at in part)),
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
            claim, verdict = each.claim, each.verdict
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
                    **difference_columns(each.found, "difference"),
                    "direction": NO_CLAIM if verdict is None else verdict.word,
                    "direction_confidence": None if verdict is None else verdict.level,
                    "size": None if verdict is None else verdict.size,
                    "size_confidence": None if verdict is None else verdict.size_level,
                    "reason": "" if verdict is None else grounds(verdict),
                }
            )
    return pd.DataFrame(rows)
