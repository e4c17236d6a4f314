"""Judges the methods of any table of scores: intervals, corrected verdicts, sentences.

f3ast-tff judge scores.csv
f3ast-tff judge scores.csv --claim "mine > fedavg on accuracy at 100 within alpha"
f3ast-tff judge wandb.csv --method=config/algorithm --score=test/acc --out=verdicts.svg

A row is a run, or a run at one round: CSV, TSV, parquet, JSON or JSON lines.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.command_line import command, names_in, require_ending
from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_claims import Judged
from f3ast_tff.analysis.compare.table_figures import draw_verdicts, latex_table
from f3ast_tff.analysis.compare.table_files import read_table
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import REQUIRED, parameter

_WIDTH = 100
_ROLES = ("method", "score", "seed", "run", "draw", "step")


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(
        REQUIRED, "table of scores; --scores= may be left out before it", is_path=True
    )
    claim: str = parameter(
        "",
        'claims, ; between them: "A > B on SCORE at ROUND within CONDITION"; > means higher, < '
        "lower, beats better; until SCORE in place of at: rounds to a score. Default: all pairs",
    )
    baseline: str | None = parameter(None, "method that all others are compared with")
    method: str = parameter("", "column of the method; default: recognised by its name")
    score: str = parameter("", "column of the score; default: accuracies first, of tests")
    seed: str = parameter("", "column of the seed, by which runs are paired")
    run: str = parameter("", "column of a run's id, in place of a seed")
    draw: str = parameter("", "column of the draw of the data, such as a fold")
    step: str = parameter("", "column of the round")
    higher: bool = parameter(False, "a higher score is better")
    lower: bool = parameter(False, "a lower score is better")
    within: str = parameter("", "further conditions that methods must share, commas between")
    may_differ: str = parameter("", "columns in which methods may differ, commas between")
    at: int | None = parameter(None, "round of the verdict; default: the last one", minimum=0)
    reach: float | None = parameter(None, "compare the rounds until the score has this value")
    out: str | None = parameter(
        None, "picture of the verdicts, .png, .svg or .pdf; its folder must exist", is_path=True
    )
    latex: str | None = parameter(None, "LaTeX file to write the table into", is_path=True)
    csv: str | None = parameter(None, "CSV file to write the table into", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the verdicts."""
    if flags.out is not None:
        require_ending("out", flags.out, ".png", ".svg", ".pdf")
    if flags.higher and flags.lower:
        raise ParameterError("higher", True, "excludes --lower")
    table = read_table(Path(flags.scores))
    try:
        found = judge_table(
            table,
            flags.claim,
            columns={role: getattr(flags, role) for role in _ROLES},
            higher=True if flags.higher else False if flags.lower else None,
            baseline=flags.baseline,
            within=names_in(flags.within),
            may_differ=names_in(flags.may_differ),
            at=flags.at,
            reach=flags.reach,
        )
    except RunsError as error:
        read = f"; here table is {read_table.__module__}.read_table(Path({flags.scores!r}))"
        read = read if "in pandas: table" in str(error) else ""
        raise RunsError(f"{flags.scores}: {error}{read}") from error
    for note in found.notes:
        say(note)
    for where, results in found.by_condition.items():
        show("\n".join(filter(None, [where, *(line for r in results for line in _lines(r))])))
    show(f"\n{textwrap.fill(found.heading, _WIDTH)}")
    if flags.out is not None:
        draw_verdicts(found.results, Path(flags.out))
        show(f"picture: {flags.out}")
    if flags.latex is not None:
        with atomic_write(Path(flags.latex), encoding="utf-8") as file:
            file.write(latex_table(found.results))
        show(f"LaTeX: {flags.latex}")
    if flags.csv is not None:
        write_csv(found.frame(), flags.csv)
        show(f"table: {flags.csv}")


def _lines(each: Judged) -> list[str]:
    lines = [each.sentence]
    if each.asked.sign:
        word = {True: "holds", False: "does not hold", None: "open"}[each.holds]
        lines = [f"{each.asked.said}: {word}. {each.sentence}"]
    return [*lines, *([f"  {each.more}"] if each.more else [])]
