"""Writes all runs below a folder as one table: a row an evaluation, a column a setting or score.

f3ast-tff export --runs runs --out runs.parquet
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.command_line import command, require_ending, runs_flag
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.runs import DIRECTIONS, Run, read_run, run_folders
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.analysis.tidy_scores import WAYS, ways_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import REQUIRED, parameter

_PARQUET = "needs pyarrow: pip install 'f3ast-tff[parquet]', or a file that ends in .csv"


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = parameter(
        REQUIRED, ".parquet or .csv file to write or replace; its folder must exist", is_path=True
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    require_ending("out", flags.out, ".parquet", ".csv")
    is_csv = flags.out.lower().endswith(".csv")
    if not is_csv and importlib.util.find_spec("pyarrow") is None:
        raise ParameterError("out", flags.out, _PARQUET)
    folder, runs = Path(flags.runs), []
    for path in run_folders(folder):
        try:
            runs.append(read_run(path))
        except RunsError as error:
            say(f"left out: {error}")
    table = runs_table({str(run.path.relative_to(folder)): run for run in runs})
    if is_csv:
        write_csv(table, flags.out)
    else:
        with atomic_write(Path(flags.out), "wb") as file:
            table.to_parquet(file, index=False)
    show(f"{len(runs)} runs, {len(table)} rows: {flags.out}")


def runs_table(runs: Mapping[str, Run]) -> pd.DataFrame:
    """Returns the evaluations of runs, by their names, as one table; unfinished runs too.

    There is a row per evaluation. Columns are `run` (the name), `finished`, every setting of any
    run (missing for runs without it), the columns of `metrics.csv`, and, if a model brings scores,
    `better`, which direction of each score is better. A setting with values of
    several types becomes text.
    """
    names = list(dict.fromkeys(name for run in runs.values() for name in run.settings))
    parts: list[pd.DataFrame] = []
    own: dict[str, None] = {}
    with_own = any(run.directions != DIRECTIONS or run.ways for run in runs.values())
    for name, run in runs.items():
        given = {"run": name, "finished": run.summary is not None, **run.settings}
        metrics = run.metrics.reset_index(drop=True)
        columns = {
            key: pd.Series([given.get(key)] * len(metrics), dtype=object)
            for key in ("run", "finished", *names)
        }
        if with_own:
            metrics = metrics.assign(**{WAYS: ways_of(run)})
        own |= dict.fromkeys(map(str, metrics.columns))
        if len(metrics) or not parts:
            # Types are told by the columns of the runs that have values.
            metrics = metrics.dropna(axis="columns", how="all")
            parts.append(pd.concat([pd.DataFrame(columns), metrics], axis="columns"))
    if not parts:
        return pd.DataFrame(columns=["run", "finished", *names])
    table = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    table = table.reindex(columns=["run", "finished", *names, *own])
    for name in ("run", "finished", *names):
        table[name] = _typed(table[name])
    return table


def _typed(column: pd.Series) -> pd.Series:
    kinds = {type(value) for value in column if value is not None}
    if kinds == {bool}:
        return column.astype("boolean")
    if kinds == {int}:
        return column.astype("Int64")
    if kinds and kinds <= {int, float}:
        return column.astype("Float64")
    return column.map(lambda value: None if value is None else str(value)).astype("string")
