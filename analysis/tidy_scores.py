"""Writes the scores of a folder of runs as one tidy CSV file, to be kept when the runs are not.

python -m f3ast_tff.analysis.tidy_scores --runs runs/cafed_fig1a --out analysis/results/cafed_fig1a.csv
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from absl import flags

from f3ast_tff.analysis.command_line import fail, parse
from f3ast_tff.analysis.grouping import group_runs
from f3ast_tff.analysis.runs import SCORES, Run, RunsError, finished_runs, load_runs
from f3ast_tff.training.atomic import atomic_write

_FLAGS = {
    "runs": "folder of runs, searched at any depth",
    "out": "CSV file to write or replace; its folder must exist",
    "every": "keep rounds that are multiples of this, and the last; default: 1, all evaluated",
}


def main(argv: Sequence[str]) -> int:
    """Parses the command line and writes the file; returns the exit code."""
    values = flags.FlagValues()
    for name in ("runs", "out"):
        flags.DEFINE_string(name, None, _FLAGS[name], flag_values=values)
    flags.DEFINE_integer("every", 1, _FLAGS["every"], lower_bound=1, flag_values=values)
    code = parse(argv, values, __doc__ or "", _FLAGS, ["runs", "out"])
    if code is not None:
        return code
    out = Path(values["out"].value)
    try:
        runs = finished_runs(load_runs(Path(values["runs"].value)))
        table = tidy_scores(runs, values["every"].value)
        with atomic_write(out, newline="") as file:
            table.to_csv(file, index=False, lineterminator="\n")
    except RunsError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"--out={out}: cannot write: {error.strerror}")
    print(f"{len(table)} rows: {out}")
    return 0


def tidy_scores(runs: Sequence[Run], every: int = 1) -> pd.DataFrame:
    """Returns the scores of runs, a row an evaluation.

    Args:
        runs: Finished runs.
        every: Rounds that are multiples of it are kept, and the last of each run.

    Returns:
        Columns `task`, `algorithm`, the further settings that differ between groups of runs,
        `seed`, `round` and `SCORES`, which have six decimals, for runs in the order of `group_runs`
        and of their seeds.

    Raises:
        RunsError: If a run is there twice.
    """
    groups = group_runs(runs)
    differing = [
        name
        for name in groups[0].condition
        if name != "task" and len({str(group.condition[name]) for group in groups}) > 1
    ]
    parts = []
    for group in groups:
        for run in sorted(group.runs, key=lambda run: run.settings["seed"]):
            rounds = run.metrics["round"]
            kept = run.metrics[(rounds % every == 0) | (rounds == rounds.iloc[-1])]
            scores = kept[["round", *(f"test_{score}" for score in SCORES)]].round(6)
            scores = scores.rename(columns=lambda name: name.removeprefix("test_"))
            of_group = {name: group.condition[name] for name in differing}
            settings = {"task": group.condition["task"], "algorithm": group.algorithm, **of_group}
            settings["seed"] = run.settings["seed"]
            for position, (name, value) in enumerate(settings.items()):
                scores.insert(position, name, [value] * len(scores))
            parts.append(scores)
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
