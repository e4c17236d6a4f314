"""The tidy table of scores, a row per run and evaluation: written from run folders, and read back.

python -m f3ast_tff.analysis.tidy_scores --runs runs/cafed_fig1a --out scores.csv

The table can be kept without the runs.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, read_finished, runs_flag
from f3ast_tff.analysis.compare.pairs import diverged, ranked
from f3ast_tff.analysis.compare.scored import (
    KINDS_OF_SCORES,
    Kept,
    Pair,
    RunsError,
    scores_named,
    varying,
)
from f3ast_tff.analysis.compare.times import FINAL, Course
from f3ast_tff.analysis.method_names import (
    FORMS,
    PLAIN_MEAN,
    display_of,
    is_plain_mean,
    name_with_rules,
    without_own_aggregation,
)
from f3ast_tff.analysis.report.readings import readings
from f3ast_tff.analysis.run_groups import RunGroup, comparable_groups
from f3ast_tff.analysis.runs import DIRECTIONS, Run
from f3ast_tff.analysis.score_directions import shared_scores
from f3ast_tff.analysis.texts import NOTHING, csv_text, read_csv, write_csv
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import read_text
from f3ast_tff.files.messages import one_line, show
from f3ast_tff.settings import builtin_registry, parameter
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import PRESETS
from f3ast_tff.settings.text_values import conditions

# Values of settings, in the order of the settings' names.
Key = tuple[str, ...]
_READING, _DRAWS, _OBJECTIVE = "reading", "availability_draws", "client_share"
_AGGREGATION = "aggregation"
_DRAW, _SEED, _ROUND = "data_seed", "seed", "round"
CLOCK = "simulated_seconds"
# Which direction of each score is better, of runs whose model brings scores.
WAYS = "better"
# Before a score's name: whether the run diverged in it.
DIVERGED = "diverged"
# Behind the first word of a further score that is better in one direction, whatever its name.
_KIND = "_*"


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = out_flag("CSV")
    every: int = parameter(1, "keep rounds that are multiples of this, and the last", minimum=1)
    clock: bool = parameter(False, "also keep simulated_seconds since round 1")
    add: bool = parameter(False, "add rounds to the runs of the file, in place of a new file")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    kept = read_text(Path(flags.out)) if flags.add else ""
    columns = next(csv.reader(io.StringIO(kept)), ())
    table = tidy_scores(read_finished(flags.runs), flags.every, clock=flags.clock, columns=columns)
    if flags.add:
        text = with_rounds(kept, csv_text(table), flags.out)
        with atomic_write(Path(flags.out), encoding="utf-8", newline="") as file:
            file.write(text)
    else:
        write_csv(table, flags.out)
    show(f"{len(table)} rows: {flags.out}")


def with_rounds(kept: str, more: str, name: str) -> str:
    """Returns a file of scores with further rounds of its runs, each run's in their order.

    Args:
        kept: Text of the file.
        more: Text of another one with the same columns; rounds that `kept` has stay as they are.
        name: Name of the file, for errors.

    Raises:
        RunsError: If the columns differ, or `kept` lacks a run.
    """
    (header, *rows), (columns, *others) = (list(csv.reader(io.StringIO(t))) for t in (kept, more))
    if columns != header:
        raise RunsError(f"{name}: has columns {', '.join(header)}, the runs {', '.join(columns)}")
    place = header.index(_ROUND)
    runs: dict[tuple[str, ...], dict[int, list[str]]] = {}
    for row in rows:
        runs.setdefault(tuple(row[:place]), {})[int(row[place])] = row
    for row in others:
        key = tuple(row[:place])
        if key not in runs:
            said = ", ".join(f"{n} {v}" for n, v in zip(header, key) if v)
            raise RunsError(f"{name}: has no run of {said}, to which rounds could be added")
        runs[key].setdefault(int(row[place]), row)
    out = io.StringIO()
    ordered = (row for rounds in runs.values() for _, row in sorted(rounds.items()))
    csv.writer(out, lineterminator="\n").writerows([header, *ordered])
    return out.getvalue()


def tidy_scores(
    runs: Sequence[Run], every: int = 1, *, clock: bool = False, columns: Sequence[str] = ()
) -> pd.DataFrame:
    """Returns the scores of runs, with a row per evaluation.

    Args:
        runs: Finished runs.
        every: Rounds that are multiples of it are kept, and the last round of each run.
        clock: Whether `simulated_seconds` are kept, empty if a delivery has no clock.
        columns: Columns of a file of a study, whose settings are those of the table, if any.

    Returns:
        Columns `task`, `algorithm`, the further settings that differ between groups of runs,
        `client_share` where it is not the share of the examples (scores of other objectives are not
        comparable), `aggregation` where it is not an algorithm's own (its runs' name depends on
        it), `reading` where it is not the paper's, `availability_draws` where it is not the
        reading's (what intervals cover depends on it), `data_seed` where draws of the data differ,
        `seed`, `round`, the scores, which have six decimals (further ones if all runs have them),
        the clock, and, if a model brings scores, `better`, the direction of each score, for runs in
        the order of `comparable_groups`, of their draws and their seeds.

    Raises:
        RunsError: If a run is there twice.
    """
    groups, names = comparable_groups(runs)
    always = _always_columns(groups)
    apart = varying(groups, names)
    shown = [n for n in dict.fromkeys([*names, *always]) if n in (*always, *apart) and n != "task"]
    if _SEED in columns:
        given = columns[: columns.index(_SEED)]
        shown = [name for name in given if name not in ("task", "algorithm", _DRAW)]
    scored = shared_scores(groups)
    measured = ["round", *(f"test_{score}" for score in scored), *([CLOCK] if clock else [])]
    with_own = any(group.first.directions != DIRECTIONS or group.ways for group in groups)

    def scores_of_run(run: Run) -> pd.DataFrame:
        rounds = run.metrics["round"]
        kept = run.metrics[(rounds % every == 0) | (rounds == rounds.iloc[-1])]
        scores = kept.reindex(columns=measured).round(6)
        scores = scores.rename(columns=lambda name: name.removeprefix("test_"))
        return scores.assign(**{WAYS: ways_of(run)}) if with_own else scores

    table = labelled(groups, ["task", "algorithm", *shown], scores_of_run)
    return table if table[_DRAW].nunique() > 1 else table.drop(columns=_DRAW)


def ways_of(run: Run) -> str:
    """Returns which direction of each score is better, as in `accuracy higher, loss lower`.

    A further score with a direction of its own comes last, as in `spread_* lower`.
    """
    found = [*run.directions.items(), *((f"{kind}{_KIND}", up) for kind, up in run.ways.items())]
    return ", ".join(f"{name} {'higher' if up else 'lower'}" for name, up in found)


def _directions(text: str) -> dict[str, bool]:
    """The directions of a text of `ways_of`, by name."""
    pairs = [part.split(" ") for part in text.split(", ")]
    if any(len(pair) != 2 or pair[1] not in ("higher", "lower") for pair in pairs):
        raise RunsError(f"column {WAYS}: {text!r} must be as in 'loss lower, mae lower'")
    return {name: way == "higher" for name, way in pairs}


def labelled(
    groups: Sequence[RunGroup], names: Sequence[str], table_of: Callable[[Run], pd.DataFrame]
) -> pd.DataFrame:
    """Returns the tables of all runs, one below the other, each row with the run's settings.

    Before the columns of `table_of` stand the settings `names`, `data_seed` and `seed`.
    """
    labels: list[dict[str, object]] = []
    parts = []
    for group in groups:
        settings = group.condition(names)
        for pair, run in sorted(group.runs.items()):
            parts.append(table_of(run))
            labels += [{**settings, **_drawn(pair)}] * len(parts[-1])
    # Objects, because otherwise 5 and None of a setting would become 5.0 and NaN.
    columns = pd.DataFrame(labels, dtype=object)
    return pd.concat([columns, pd.concat(parts, ignore_index=True)], axis="columns")


def _drawn(pair: Pair) -> dict[str, int]:
    return {_DRAW: pair.draw, _SEED: pair.seed}


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
    return _scores_in(read_cells(path), str(path))


def scores_of_runs(runs: Sequence[Run]) -> pd.DataFrame:
    """Returns what `read_scores` reads from a file of `tidy_scores` with all evaluations of runs.

    Raises:
        RunsError: If a run is there twice.
    """
    return _scores_in(read_csv(csv_text(tidy_scores(runs, clock=True))), "the runs")


def _scores_in(table: pd.DataFrame, path: str) -> pd.DataFrame:
    """The scores in cells that are texts; `path` says where they are from."""
    for name in _needed(table):
        if name not in table:
            raise RunsError(f"{path} has no column {name}; tidy_scores writes files of scores")
    if table.empty:
        raise RunsError(f"{path} has no runs")
    draws = table.pop(_DRAW).replace("", "0") if _DRAW in table else "0"
    table = table.assign(draw=draws)
    try:
        # An empty score: training diverged.
        numbers = [name for name in (*scores_of(table), CLOCK) if name in table]
        table = table.replace(dict.fromkeys(numbers, {"": "nan"})).astype(
            {**dict.fromkeys(("draw", _SEED, _ROUND), int), **dict.fromkeys(numbers, float)}
        )
    except ValueError as error:
        raise RunsError(f"{path}: {one_line(error)}") from error
    again = table.duplicated([*settings_of(table), "draw", _SEED, _ROUND])
    if again.any():
        line = int(again.to_numpy().argmax())
        number = table[_ROUND].iloc[line]
        raise RunsError(f"{path}, line {line + 2}: round {number} of this run is there twice")
    return table


def scores_of(table: pd.DataFrame) -> tuple[str, ...]:
    """Returns the scores that are columns of a table of scores."""
    names: Iterable[str] = DIRECTIONS
    if WAYS in table:
        found = [name for text in dict.fromkeys(table[WAYS]) for name in _directions(text)]
        names = dict.fromkeys(name for name in found if not name.endswith(_KIND))
    return scores_named(names, _kinds_of(table, names))


def _kinds_of(table: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """First words of the scores, which stand behind the round; those of all runs come first."""
    columns = [str(name) for name in table]
    behind = columns[columns.index(_ROUND) + 1 :] if _ROUND in columns else []
    words = [column.partition("_") for column in behind]
    return list(dict.fromkeys([*KINDS_OF_SCORES, *(k for k, _, name in words if name in {*names})]))


def _needed(table: pd.DataFrame) -> tuple[str, ...]:
    return ("task", "algorithm", _SEED, _ROUND, *scores_of(table))


def settings_of(table: pd.DataFrame) -> list[str]:
    """Returns the settings that are columns of a table of scores."""
    other = ("draw", _SEED, _ROUND, *scores_of(table), CLOCK, WAYS)
    return [str(name) for name in table if name not in other]


def kept_groups(table: pd.DataFrame) -> list[Kept]:
    """Returns the runs of `read_scores` by settings, in the file's order; settings are texts."""
    names = settings_of(table)
    texts = {name: table[name].tolist() for name in names}
    draws, seeds, rounds = (table[name].tolist() for name in ("draw", _SEED, _ROUND))
    scores = scores_of(table)
    measured = [name for name in (_ROUND, *scores, CLOCK) if name in table]
    metrics = {name: table[name].to_numpy() for name in measured}
    ways = table[WAYS].tolist() if WAYS in table else ["accuracy higher, loss lower"] * len(table)
    run_of = table.groupby([*names, "draw", _SEED], sort=False).ngroup().to_numpy()
    order = np.lexsort((rounds, run_of))
    kinds = list(dict.fromkeys(score.partition("_")[0] for score in scores))
    found: dict[Key, Kept] = {}
    courses: dict[Key, dict[Pair, Course]] = {}
    for rows in np.split(order, np.flatnonzero(np.diff(run_of[order])) + 1):
        first = int(rows[0])
        settings = {name: values[first] for name, values in texts.items()}
        key = tuple(settings.values())
        courses.setdefault(key, {})[Pair(draws[first], seeds[first])] = {
            name: values[rows] for name, values in metrics.items()
        }
        if key not in found:
            known = _directions(ways[first])
            found[key] = Kept(
                settings,
                courses[key],
                directions={n: up for n, up in known.items() if not n.endswith(_KIND)},
                ways={n.removesuffix(_KIND): up for n, up in known.items() if n.endswith(_KIND)},
                generates_data=generates_data(settings["task"]),
                kinds=kinds,
            )
    return list(found.values())


def generates_data(task: str) -> bool:
    """Returns whether one of this version's tasks generates its data; `False` for others."""
    component = builtin_registry().components["task"].get(task)
    return component is not None and component.config.generates_data


def final_scores(groups: Iterable[Kept]) -> pd.DataFrame:
    """Returns a row per kept run: its settings, `draw`, `seed`, `last_round`, and scores there.

    A run that diverged has the worst scores, see `compare.pairs`, and says so in a column per
    score, such as `diverged_user_accuracy`.
    """
    rows = []
    for group in groups:
        scores = {score: ranked(group, score, FINAL) for score in group.score_names}
        lost = {score: diverged(group, score, FINAL) for score in group.score_names}
        rows += [
            {
                **group.settings,
                **pair._asdict(),
                "last_round": int(group.courses[pair]["round"][-1]),
                **{name: each[pair] for name, each in scores.items()},
                **{f"{DIVERGED}_{name}": pair in each for name, each in lost.items()},
            }
            for pair in group.courses
        ]
    return pd.DataFrame(rows)


def label(names: Sequence[str], key: Key) -> str:
    """Returns a row or column in words.

    Left out are settings that the runs do not have, and an aggregation that is the algorithm's
    default.
    """
    values = {name: value for name, value in zip(names, key) if value}
    values = without_own_aggregation(values, values.get("algorithm", ""))
    if is_plain_mean(values):
        del values["aggregation"]
        values["algorithm"] = PLAIN_MEAN
    if "algorithm" in values:
        joined = name_with_rules(display_of("algorithm", values["algorithm"]), values)
        if joined is not None:
            del values["aggregation"]
            values["algorithm"] = joined
    return ", ".join(_in_words(name, value) for name, value in values.items()) or NOTHING


def _in_words(name: str, value: str) -> str:
    if name in KINDS:
        return display_of(name, value)
    return value.replace("_", " ") if name in FORMS else f"{name} {value}"


def runs_where(table: pd.DataFrame, where: str | None) -> pd.DataFrame:
    """Returns the runs of `read_scores` that meet conditions, see `settings.text_values`.

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


def require_score(name: str, table: pd.DataFrame) -> None:
    """Refuses a score that a table of `read_scores` does not have.

    Raises:
        ParameterError: If it does not.
    """
    known = scores_of(table)
    if name not in known:
        raise ParameterError("score", name, f"must be of {', '.join(known)}")


def require_setting(flag: str, name: str, table: pd.DataFrame) -> None:
    """Checks that a table of scores has a setting.

    Raises:
        ParameterError: If the setting is missing; names the flag.
    """
    names = settings_of(table)
    if name not in names:
        raise ParameterError(flag, name, f"must be of the file's settings {', '.join(names)}")


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
