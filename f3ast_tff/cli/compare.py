"""Compares the algorithms of a folder of runs: a table, and a picture of the curves.

f3ast-tff compare --runs runs/demo --out runs/demo/accuracy.png --colour rate_beta
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.command_line import command, runs_flag, say_left_out
from f3ast_tff.analysis.curves import X_AXES, draw_curves
from f3ast_tff.analysis.line_styles import looks_of
from f3ast_tff.analysis.run_groups import Collected, RunGroup, arranged, collect, varying
from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.analysis.table import final_table, render
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import REQUIRED, parameter

_FORMATS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = parameter(
        REQUIRED,
        "picture to write or replace, .png, .svg or .pdf; its folder must exist",
        is_path=True,
    )
    colour: str | None = parameter(
        None, "setting whose values have lines in one panel, coloured; default: the algorithm"
    )
    x: str = parameter("rounds", "what curves are drawn against", choices=tuple(X_AXES))
    csv: str | None = parameter(None, "CSV file to write the table into", is_path=True)


def main(argv: Sequence[str]) -> int:
    """Parses the command line, prints the table and draws the curves; returns the exit code."""
    return command(argv, __doc__, Flags, _compare)


def _compare(flags: Flags) -> None:
    if Path(flags.out).suffix.lower() not in _FORMATS:
        raise ParameterError("out", flags.out, f"must end in {', '.join(_FORMATS)}")
    collected = collect(flags.runs)
    _require_finished(collected)
    groups, names = arranged(collected.groups)
    colour = None if flags.colour == "algorithm" else flags.colour
    if colour is not None:
        _require_setting(colour, groups)
        names = [*names, *([] if colour in names else [colour])]
    say_left_out((*collected.damaged, *collected.repeated, *collected.unfinished))
    told = {g: {colour: g.setting(colour)} for g in groups if colour and g.has(colour)}
    looks = looks_of(groups, told, always=True)
    table = final_table(groups, names, {group: look.label for group, look in looks.items()})
    print(render(table, colour))
    others = [name for name in names if name != colour]
    draw_curves(groups, others, Path(flags.out), looks, len(collected.unfinished), flags.x)
    if flags.csv is not None:
        try:
            write_csv(table, flags.csv)
        except OSError as error:
            allowed = f"cannot write: {error.strerror or error}"
            raise ParameterError("csv", flags.csv, allowed) from error
        print(f"table: {flags.csv}")
    print(f"curves: {flags.out}")


def _require_finished(collected: Collected) -> None:
    if not collected.groups:
        lines = [*collected.damaged, *collected.unfinished]
        raise RunsError(f"no finished run (one with a summary.json) among: {'; '.join(lines)}")


def _require_setting(colour: str, groups: Sequence[RunGroup]) -> None:
    if any(group.has(colour) for group in groups):
        return
    differing = ", ".join(varying(groups))
    said = f"; these differ: {differing}" if differing else ""
    raise ParameterError("colour", colour, f"must be a setting of the runs{said}")
