"""The tidy table of scores, a row per run and evaluation: written from run folders, and read back.

python -m f3ast_tff.analysis.tidy_scores --runs runs/cafed_fig1a --out scores.csv

It is kept when the runs are not.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, read_finished, runs_flag
from f3ast_tff.analysis.report.readings import readings
from f3ast_tff.analysis.run_groups import RunGroup, comparable_groups, varying
from f3ast_tff.analysis.runs import SCORES, Pair, Run, RunsError
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.core.data_files import read_text
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.messages import one_line
from f3ast_tff.run.metrics import count_of_last_10_percent
from f3ast_tff.settings import parameter
from f3ast_tff.settings.conditions import conditions
from f3ast_tff.settings.defaults import PRESETS

# A round, or one of `runs.PERIODS`.
When = Union[int, str]
_READING, _DRAWS, _OBJECTIVE = "reading", "availability_draws", "client_share"
_DRAW, _SEED, _ROUND = "data_seed", "seed", "round"
_NEEDED = ("task", "algorithm", _SEED, _ROUND, *SCORES)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = out_flag("CSV")
    every: int = parameter(1, "keep rounds that are multiples of this, and the last", minimum=1)


def main(argv: Sequence[str]) -> int:
    """Parses the command line and writes the file; returns the exit code."""
    return command(argv, __doc__, Flags, _write)


def _write(flags: Flags) -> None:
    table = tidy_scores(read_finished(flags.runs), flags.every)
    write_csv(table, flags.out)
    print(f"{len(table)} rows: {flags.out}")


def tidy_scores(runs: Sequence[Run], every: int = 1) -> pd.DataFrame:
    """Returns the scores of runs, a row an evaluation.

    Args:
        runs: Finished runs.
        every: Rounds that are multiples of it are kept, and the last of each run.

    Returns:
        Columns `task`, `algorithm`, the further settings that differ between groups of runs,
        `client_share` where it is not the share of the examples (scores of other objectives are not
        comparable), `reading` where it is not the paper's, `availability_draws` where it is not the
        reading's (what intervals cover depends on it), `data_seed` where draws of the data differ,
        `seed`, `round` and `SCORES`, which have six decimals, for runs in the order of
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
    for group in groups:
        settings = group.condition(["task", "algorithm", *shown])
        for pair, run in sorted(group.runs.items()):
            rounds = run.metrics["round"]
            kept = run.metrics[(rounds % every == 0) | (rounds == rounds.iloc[-1])]
            scores = kept[["round", *(f"test_{score}" for score in SCORES)]].round(6)
            scores = scores.rename(columns=lambda name: name.removeprefix("test_"))
            drawn = {"data_seed": pair.draw} if several else {}
            labels += [{**settings, **drawn, "seed": pair.seed}] * len(scores)
            parts.append(scores)
    # As objects: a setting given in some runs only, 5 and None, would become 5.0 and NaN.
    columns = pd.DataFrame(labels, dtype=object)
    return pd.concat([columns, pd.concat(parts, ignore_index=True)], axis="columns")


def _always_columns(groups: Sequence[RunGroup]) -> list[str]:
    """Settings that are columns though they may be the same everywhere."""
    of_preset = {each: readings()[_DRAWS].reading.value(each) for each in PRESETS}
    found = []
    if any(group.setting(_OBJECTIVE) not in (None, "examples") for group in groups):
        found.append(_OBJECTIVE)
    if any(group.setting(_READING) != PRESETS[0] for group in groups):
        found.append(_READING)
    given = [group for group in groups if group.setting(_DRAWS) is not None]
    if any(group.setting(_DRAWS) != of_preset.get(group.setting(_READING)) for group in given):
        found.append(_DRAWS)
    return found


@dataclass(frozen=True)
class KeptRun:
    """One run of a file of scores.

    Attributes:
        settings: The settings that are columns of the file, as texts; "" for one that the run
            does not have.
        pair: Its data draw and seed; draw 0 where the file has no column of draws.
        scores: Each of `SCORES` by round; NaN for an empty cell (training diverged).
    """

    settings: Mapping[str, str]
    pair: Pair
    scores: Mapping[int, Mapping[str, float]]

    def at(self, when: When) -> Mapping[str, float]:
        """Returns the scores of a round, or their means over a period.

        Raises:
            RunsError: If the file does not have that round of this run.
        """
        found = [self.scores[number] for number in self.rounds(when)]
        return {score: sum(each[score] for each in found) / len(found) for score in SCORES}

    def rounds(self, when: When) -> list[int]:
        """Returns the kept rounds that are meant, rising.

        Raises:
            RunsError: If the file does not have that round of this run.
        """
        kept = sorted(self.scores)
        if when == "final":
            return kept[-1:]
        if when == "mean_of_last_10_percent":
            return kept[-count_of_last_10_percent(len(kept)) :]
        if when not in self.scores:
            what = ", ".join(f"{name} {value}" for name, value in self.settings.items() if value)
            raise RunsError(f"round {when} of the run {what}, {self.pair} was not kept")
        return [int(when)]


def is_scores(path: Path) -> bool:
    """Whether a CSV file has the columns of a file of scores."""
    return set(_NEEDED) <= set(_read(path))


def read_scores(path: Path) -> list[KeptRun]:
    """Reads a file of scores.

    Returns:
        Its runs, in their order in the file.

    Raises:
        RunsError: If it cannot be read, lacks a column, has a cell that is no number, or has a
            round of a run twice.
    """
    table = _read(path)
    for name in _NEEDED:
        if name not in table:
            raise RunsError(f"{path} has no column {name}; tidy_scores writes files of scores")
    if table.empty:
        raise RunsError(f"{path} has no runs")
    names = [str(name) for name in table if name not in (_DRAW, _SEED, _ROUND, *SCORES)]
    table.insert(0, _DRAW, table.pop(_DRAW).replace("", "0") if _DRAW in table else "0")
    try:
        # An empty score: training diverged.
        table = table.replace(dict.fromkeys(SCORES, {"": "nan"})).astype(
            {**dict.fromkeys((_DRAW, _SEED, _ROUND), int), **dict.fromkeys(SCORES, float)}
        )
    except ValueError as error:
        raise RunsError(f"{path}: {one_line(error)}") from error
    again = table.duplicated([*names, _DRAW, _SEED, _ROUND])
    if again.any():
        line = int(again.to_numpy().argmax())
        number = table[_ROUND].iloc[line]
        raise RunsError(f"{path}, line {line + 2}: round {number} of this run is there twice")
    runs = []
    for _, part in table.groupby([*names, _DRAW, _SEED], sort=False):
        first = part.iloc[0]
        rows = zip(part[_ROUND].tolist(), part[[*SCORES]].to_numpy().tolist())
        scores = {number: dict(zip(SCORES, row)) for number, row in rows}
        settings = {name: str(first[name]) for name in names}
        runs.append(KeptRun(settings, Pair(int(first[_DRAW]), int(first[_SEED])), scores))
    return runs


def scores_at(runs: Sequence[KeptRun], when: When) -> pd.DataFrame:
    """Returns the scores of a round or period, a row per run.

    Returns:
        The settings as texts, `draw`, `seed`, `rounds` (those that are meant), and `SCORES`.

    Raises:
        RunsError: If the file does not have that round of a run.
    """
    return pd.DataFrame(
        [
            {
                **run.settings,
                **run.pair._asdict(),
                "rounds": tuple(run.rounds(when)),
                **run.at(when),
            }
            for run in runs
        ]
    )


def runs_where(runs: Sequence[KeptRun], where: str | None) -> Sequence[KeptRun]:
    """Returns the runs that meet conditions.

    Args:
        runs: At least one.
        where: Conditions as of `f3ast_tff.settings.conditions.conditions`; `None` or `""` for none.

    Raises:
        ParameterError: If no run has a setting, or its value.
        RunsError: If no run meets all conditions.
    """
    if not where:
        return runs
    allowed = conditions(where)
    for name, values in allowed.items():
        require_setting("where", name, runs)
        there = dict.fromkeys(run.settings[name] for run in runs)
        for value in values:
            if value not in there:
                known = ", ".join(filter(None, there))
                raise ParameterError(
                    "where", where, f"no run has {name}={value}; there are {known}"
                )
    kept = [run for run in runs if all(run.settings[n] in v for n, v in allowed.items())]
    if not kept:
        raise RunsError(f"no run has {', '.join(where.split(','))}")
    return kept


def require_setting(flag: str, name: str, runs: Sequence[KeptRun]) -> None:
    """Checks that a file of scores has a setting.

    Raises:
        ParameterError: If it has not; names the flag.
    """
    names = list(runs[0].settings)
    if name not in names:
        raise ParameterError(flag, name, f"must be of the file's settings {', '.join(names)}")


def _read(path: Path) -> pd.DataFrame:
    """The cells as texts."""
    try:
        return pd.read_csv(io.StringIO(read_text(path)), dtype=str, keep_default_na=False)
    except OSError as error:
        raise RunsError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise RunsError(f"{path} is no CSV file: {one_line(error)}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv))
