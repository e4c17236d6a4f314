"""Writes the scores of a folder of runs as one tidy CSV file, to be kept when the runs are not.

python -m f3ast_tff.analysis.tidy_scores --runs runs/cafed_fig1a --out scores.csv
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, read_finished, runs_flag
from f3ast_tff.analysis.report.readings import readings
from f3ast_tff.analysis.run_groups import RunGroup, comparable_groups
from f3ast_tff.analysis.runs import SCORES, Run
from f3ast_tff.atomic import atomic_write
from f3ast_tff.components import parameter
from f3ast_tff.components.defaults import PRESETS

_READING, _DRAWS, _OBJECTIVE = "reading", "availability_draws", "client_share"


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
    with atomic_write(Path(flags.out), encoding="utf-8", newline="") as file:
        table.to_csv(file, index=False, lineterminator="\n")
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
    shown = [
        name
        for name in dict.fromkeys([*names, *always])
        if name != "task"
        and (name in always or len({str(group.setting(name)) for group in groups}) > 1)
    ]
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


if __name__ == "__main__":
    sys.exit(main(sys.argv))
