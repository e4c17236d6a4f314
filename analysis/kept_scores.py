"""Files of scores as `f3ast_tff.analysis.tidy_scores` writes them, read back run by run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import pandas as pd

from f3ast_tff.analysis.runs import SCORES, Pair, RunsError
from f3ast_tff.conditions import conditions
from f3ast_tff.data_files import read_text
from f3ast_tff.errors import ParameterError
from f3ast_tff.messages import one_line
from f3ast_tff.training.metrics import count_of_last_10_percent

# A round, or one of `runs.PERIODS`.
When = Union[int, str]
_DRAW, _SEED, _ROUND = "data_seed", "seed", "round"
_NEEDED = ("task", "algorithm", _SEED, _ROUND, *SCORES)


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
    return set(_NEEDED) <= set(_reader(path).fieldnames or ())


def read_scores(path: Path) -> list[KeptRun]:
    """Reads a file of scores.

    Returns:
        Its runs, in their order in the file.

    Raises:
        RunsError: If it cannot be read, lacks a column, has a cell that is no number, or has a
            round of a run twice.
    """
    reader = _reader(path)
    header = reader.fieldnames or ()
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise RunsError(f"{path} has no column {missing[0]}; tidy_scores writes files of scores")
    names = [name for name in header if name not in (_DRAW, _SEED, _ROUND, *SCORES)]
    found: dict[tuple[object, ...], KeptRun] = {}
    rounds: dict[tuple[object, ...], dict[int, Mapping[str, float]]] = {}
    for line, row in enumerate(_rows(path, reader), start=2):
        settings = {name: row[name] for name in names}
        try:
            pair = Pair(int(row.get(_DRAW) or 0), int(row[_SEED]))
            number = int(row[_ROUND])
            scores = {score: float(row[score] or "nan") for score in SCORES}
        except (TypeError, ValueError) as error:
            raise RunsError(f"{path}, line {line}: {error}") from error
        key = (*settings.values(), pair)
        kept = rounds.setdefault(key, {})
        if number in kept:
            raise RunsError(f"{path}, line {line}: round {number} of this run is there twice")
        kept[number] = scores
        found.setdefault(key, KeptRun(settings, pair, kept))
    if not found:
        raise RunsError(f"{path} has no runs")
    return list(found.values())


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
        where: Conditions as of `f3ast_tff.conditions.conditions`; `None` or `""` for none.

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


def _reader(path: Path) -> csv.DictReader[str]:
    try:
        reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
        # Of the header, which it reads when asked.
        _ = reader.fieldnames
    except OSError as error:
        raise RunsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise RunsError(f"{path} is no CSV file: {one_line(error)}") from error
    return reader


def _rows(path: Path, reader: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise RunsError(f"{path}, line {reader.line_num}: {error}") from error
