"""The tidy table of scores, a row per run and evaluation: written from run folders, and read back.

python -m f3ast_tff.analysis.tidy_scores --runs runs/cafed_fig1a --out scores.csv

The table can be kept without the runs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, read_finished, runs_flag
from f3ast_tff.analysis.report.readings import readings
from f3ast_tff.analysis.run_groups import (
    RunGroup,
    comparable_groups,
    higher_is_better,
    varying,
)
from f3ast_tff.analysis.runs import SCORES, Pair, Run, RunsError
from f3ast_tff.analysis.texts import read_csv, write_csv
from f3ast_tff.core.data_files import read_text
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.messages import one_line
from f3ast_tff.run.metrics import count_of_last_10_percent
from f3ast_tff.settings import parameter
from f3ast_tff.settings.conditions import conditions
from f3ast_tff.settings.parameter import PRESETS

# Best score of a run over all its evaluations, as FedLaAvg's Table 2 prints it.
BEST = "best"
# A round, one of `runs.PERIODS`, or `BEST`.
When = Union[int, str]
_READING, _DRAWS, _OBJECTIVE = "reading", "availability_draws", "client_share"
_AGGREGATION = "aggregation"
_DRAW, _SEED, _ROUND = "data_seed", "seed", "round"
CLOCK = "simulated_seconds"
_NEEDED = ("task", "algorithm", _SEED, _ROUND, *SCORES)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = out_flag("CSV")
    every: int = parameter(1, "keep rounds that are multiples of this, and the last", minimum=1)
    clock: bool = parameter(False, "also keep simulated_seconds since round 1")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    table = tidy_scores(read_finished(flags.runs), flags.every, clock=flags.clock)
    write_csv(table, flags.out)
    print(f"{len(table)} rows: {flags.out}")


def tidy_scores(runs: Sequence[Run], every: int = 1, *, clock: bool = False) -> pd.DataFrame:
    """Returns the scores of runs, with a row per evaluation.

    Args:
        runs: Finished runs.
        every: Rounds that are multiples of it are kept, and the last round of each run.
        clock: Whether `simulated_seconds` are kept, empty if a delivery has no clock.

    Returns:
        Columns `task`, `algorithm`, the further settings that differ between groups of runs,
        `client_share` where it is not the share of the examples (scores of other objectives are not
        comparable), `aggregation` where it is not an algorithm's own (its runs' name depends on
        it), `reading` where it is not the paper's, `availability_draws` where it is not the
        reading's (what intervals cover depends on it), `data_seed` where draws of the data differ,
        `seed`, `round`, `SCORES`, which have six decimals, and the clock, for runs in the order of
        `comparable_groups`, of their draws and their seeds.

    Raises:
        RunsError: If a run is there twice.
    """
    groups, names = comparable_groups(runs)
    always = _always_columns(groups)
    apart = varying(groups, names)
    shown = [n for n in dict.fromkeys([*names, *always]) if n in (*always, *apart) and n != "task"]
    several = len({draw for group in groups for draw in group.draws}) > 1
    labels: list[dict[str, object]] = []
    parts = []
    measured = ["round", *(f"test_{score}" for score in SCORES), *([CLOCK] if clock else [])]
    for group in groups:
        settings = group.condition(["task", "algorithm", *shown])
        for pair, run in sorted(group.runs.items()):
            rounds = run.metrics["round"]
            kept = run.metrics[(rounds % every == 0) | (rounds == rounds.iloc[-1])]
            scores = kept.reindex(columns=measured).round(6)
            scores = scores.rename(columns=lambda name: name.removeprefix("test_"))
            drawn = {"data_seed": pair.draw} if several else {}
            labels += [{**settings, **drawn, "seed": pair.seed}] * len(scores)
            parts.append(scores)
    # Objects, because otherwise 5 and None of a setting would become 5.0 and NaN.
    columns = pd.DataFrame(labels, dtype=object)
    return pd.concat([columns, pd.concat(parts, ignore_index=True)], axis="columns")


def _always_columns(groups: Sequence[RunGroup]) -> list[str]:
    """Settings that are columns though they may be the same everywhere."""
    of_preset = {each: readings()[_DRAWS].reading.value(each) for each in PRESETS}
    found = []
    if any(group.setting(_OBJECTIVE) not in (None, "examples") for group in groups):
        found.append(_OBJECTIVE)
    if any(group.first.has_other_aggregation for group in groups):
        found.append(_AGGREGATION)
    if any(group.setting(_READING) != PRESETS[0] for group in groups):
        found.append(_READING)
    given = [group for group in groups if group.setting(_DRAWS) is not None]
    if any(group.setting(_DRAWS) != of_preset.get(group.setting(_READING)) for group in given):
        found.append(_DRAWS)
    return found


def is_scores(path: Path) -> bool:
    """Whether a CSV file has the columns of a file of scores."""
    return set(_NEEDED) <= set(read_cells(path))


def read_scores(path: Path) -> pd.DataFrame:
    """Reads a file of scores.

    Returns:
        A row an evaluation, in the file's order: the settings as texts, `""` for one that the run
        does not have; `draw`, 0 where the file has no column of draws; `seed`, `round`, and
        `SCORES`, NaN for an empty cell (training diverged), and `simulated_seconds` of a file that
        has them.

    Raises:
        RunsError: If it cannot be read, lacks a column, has a cell that is no number, or has a
            round of a run twice.
    """
    table = read_cells(path)
    for name in _NEEDED:
        if name not in table:
            raise RunsError(f"{path} has no column {name}; tidy_scores writes files of scores")
    if table.empty:
        raise RunsError(f"{path} has no runs")
    draws = table.pop(_DRAW).replace("", "0") if _DRAW in table else "0"
    table = table.assign(draw=draws)
    try:
        # An empty score: training diverged.
        numbers = [name for name in (*SCORES, CLOCK) if name in table]
        table = table.replace(dict.fromkeys(numbers, {"": "nan"})).astype(
            {**dict.fromkeys(("draw", _SEED, _ROUND), int), **dict.fromkeys(numbers, float)}
        )
    except ValueError as error:
        raise RunsError(f"{path}: {one_line(error)}") from error
    again = table.duplicated([*_run_columns(table), _ROUND])
    if again.any():
        line = int(again.to_numpy().argmax())
        number = table[_ROUND].iloc[line]
        raise RunsError(f"{path}, line {line + 2}: round {number} of this run is there twice")
    return table


def settings_of(table: pd.DataFrame) -> list[str]:
    """Returns the settings that are columns of a table of scores."""
    other = ("draw", _SEED, _ROUND, *SCORES, CLOCK)
    return [str(name) for name in table if name not in other]


def scores_at(table: pd.DataFrame, when: When) -> pd.DataFrame:
    """Returns the scores of a round, their means over a period or the best, a row per run.

    Returns:
        The settings, `draw`, `seed`, `at_rounds` (the averaged rounds, rising), and `SCORES`.

    Raises:
        RunsError: If the file does not have that round of a run.
    """
    names = _run_columns(table)
    runs = table.sort_values(_ROUND, kind="stable").groupby(names, sort=False, dropna=False)
    if when == "final":
        kept = runs.tail(1)
    elif when == "mean_of_last_10_percent":
        from_end, numbers = runs.cumcount(ascending=False), runs[_ROUND].transform("size")
        kept = table[(from_end < numbers.map(count_of_last_10_percent)).reindex(table.index)]
    elif when == BEST:
        kept = table
    else:
        kept = table[table[_ROUND] == when]
        without = table.drop(kept.index).merge(kept[names], "left", names, indicator=True)
        lacking = without[without["_merge"] == "left_only"]
        if len(lacking):
            first = lacking.iloc[0]
            what = ", ".join(f"{name} {first[name]}" for name in settings_of(table) if first[name])
            pair = Pair(int(first["draw"]), int(first[_SEED]))
            raise RunsError(f"round {when} of the run {what}, {pair} was not kept")
    kept = kept.sort_index()
    run_of = kept.groupby(names, sort=False).ngroup().to_numpy()
    kept = kept.iloc[np.argsort(run_of, kind="stable")]
    sizes = np.bincount(run_of)
    ends = sizes.cumsum()
    spans = [slice(start, end) for start, end in zip(ends - sizes, ends)]
    rounds = kept[_ROUND].tolist()
    values = {score: kept[score].tolist() for score in SCORES}
    chosen = {
        score: [_best(score, values[score][span]) for span in spans]
        if when == BEST
        else [_mean(values[score][span]) for span in spans]
        for score in SCORES
    }
    at_rounds = pd.Series([tuple(sorted(rounds[span])) for span in spans], dtype=object)
    found = kept[names].iloc[ends - sizes].reset_index(drop=True)
    return found.assign(**chosen, at_rounds=at_rounds)


def _mean(values: Sequence[float]) -> float:
    """Not pandas' mean, which leaves out a score that is not finite.

    Nor `sum`, which rounds otherwise since Python 3.12, so that a last digit shown would differ.
    """
    return math.fsum(values) / len(values)


def _best(score: str, values: Sequence[float]) -> float:
    """The best finite score; NaN if none is finite."""
    finite = [value for value in values if math.isfinite(value)]
    best = max if higher_is_better(score) else min
    return best(finite, default=math.nan)


def by_pair(runs: pd.DataFrame, score: str) -> dict[Pair, float]:
    """Returns a column of runs, one run per pair of data draw and seed, by pair."""
    return dict(scores_of(runs, score))


def scores_of(runs: pd.DataFrame, score: str) -> Iterator[tuple[Pair, float]]:
    """Yields the pair of data draw and seed of each run, and its score."""
    for draw, seed, value in zip(runs["draw"], runs["seed"], runs[score]):
        yield Pair(int(draw), int(seed)), float(value)


def runs_where(table: pd.DataFrame, where: str | None) -> pd.DataFrame:
    """Returns the runs of `read_scores` that meet conditions, see `settings.conditions`.

    Raises:
        ParameterError: If no run has a setting, or its value.
        RunsError: If no run meets all conditions.
    """
    kept = table
    for name, values in (conditions(where) if where else {}).items():
        require_setting("where", name, table)
        there = dict.fromkeys(table[name])
        for value in values:
            if value not in there:
                known = ", ".join(filter(None, there))
                raise ParameterError(
                    "where", where, f"no run has {name}={value}; there are {known}"
                )
        kept = kept[kept[name].isin(list(values))]
    if kept.empty:
        raise RunsError(f"no run has {', '.join(str(where).split(','))}")
    return kept


def require_setting(flag: str, name: str, table: pd.DataFrame) -> None:
    """Checks that a table of scores has a setting.

    Raises:
        ParameterError: If the setting is missing; names the flag.
    """
    names = settings_of(table)
    if name not in names:
        raise ParameterError(flag, name, f"must be of the file's settings {', '.join(names)}")


def _run_columns(table: pd.DataFrame) -> list[str]:
    """The columns that identify a run."""
    return [*settings_of(table), "draw", _SEED]


def read_cells(path: Path) -> pd.DataFrame:
    """Reads a CSV file, its cells as texts.

    Raises:
        RunsError: If it cannot be read.
    """
    try:
        return read_csv(read_text(path))
    except OSError as error:
        raise RunsError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise RunsError(f"{path} is no CSV file: {one_line(error)}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv))
