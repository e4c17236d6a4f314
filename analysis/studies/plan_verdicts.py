"""Judges the questions of a study's plan: what was asked before the scores were there.

python -m f3ast_tff.analysis.studies.plan_verdicts --plan table3_cifar100
    --scores analysis/studies/table3_cifar100/scores.csv

Score, time, pairs, draws and family are the plan's: no flag changes them. Where earlier rounds are
kept, the mean at a quarter and at half of the time stands beside. Claims of one family are
corrected together by Holm's rule. With --added the questions that were not planned are shown:
corrected if they are a family of their own, else with uncorrected intervals. With --counts a row
stands for all cells of a difference.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.command_line import command, require_ending
from f3ast_tff.analysis.compare.plan import PLANNED, read_plan
from f3ast_tff.analysis.compare.plan_verdicts import (
    draw_first_family,
    tables_of,
    verdicts_of_plan,
    write_verdicts,
)
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.tidy_scores import read_scores
from f3ast_tff.campaigns.study_folders import name_of
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    plan: str = parameter(REQUIRED, "campaign with the plan")
    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    added: bool = parameter(False, "show the questions that were not planned, uncorrected")
    counts: bool = parameter(
        False, "a row per difference: its mean over cells, and in how many cells it is shown"
    )
    out: str | None = parameter(
        None, "CSV file to write or replace, a row per claim, in place of tables", is_path=True
    )
    picture: str | None = parameter(
        None, "picture of the first family to draw in place of tables: .svg or .png", is_path=True
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the verdicts, or writes them with `--out`."""
    if flags.picture is not None:
        require_ending("picture", flags.picture, ".svg", ".png")
    path = Path(flags.scores)
    plan = [each for each in read_plan(flags.plan) if each.scores == name_of(path)]
    if not plan:
        raise RunsError(f"the plan of {flags.plan} asks nothing of {name_of(path)}")
    table = verdicts_of_plan(plan, read_scores(path))
    if flags.out is not None:
        write_verdicts(table, flags.out)
        return
    shown = table[(table["status"] != PLANNED) == flags.added]
    if shown.empty:
        which = "no question that was added later" if flags.added else "no planned question"
        raise RunsError(f"the plan of {flags.plan} has {which} on {name_of(path)}")
    if flags.picture is not None:
        draw_first_family(shown, flags.picture)
        return
    show("\n\n".join(tables_of(shown, flags.counts)))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
