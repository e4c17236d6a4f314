"""Compares the algorithms of a folder of runs: a table, and a picture of the curves.

f3ast-tff compare --runs runs/demo --out runs/demo/accuracy.png
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.command_line import command, out_flag, require_png, runs_flag
from f3ast_tff.analysis.curves import draw_curves
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.table import final_table, render


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = out_flag()


def main(argv: Sequence[str]) -> int:
    """Parses the command line, prints the table and draws the curves; returns the exit code."""
    return command(argv, __doc__, Flags, _compare)


def _compare(flags: Flags) -> None:
    require_png(flags.out)
    runs = load_runs(flags.runs)
    print(render(final_table(runs)))
    draw_curves(runs, Path(flags.out))
    print(f"curves: {flags.out}")
