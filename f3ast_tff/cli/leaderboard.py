"""The kept methods of each task and regime in order, and the user's methods among them.

f3ast-tff leaderboard --out leaderboard
f3ast-tff leaderboard --add runs/mine --out leaderboard
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.command_line import command, say_left_out
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.leaderboard.boards import ranked_studies, read_boards
from f3ast_tff.analysis.leaderboard.entry import Entered, enter
from f3ast_tff.analysis.leaderboard.masks import published
from f3ast_tff.analysis.leaderboard.page import document, own_verdicts, summary_lines
from f3ast_tff.analysis.report.render import write
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = parameter(
        REQUIRED, "folder to write the page into; made if it is not there", is_path=True
    )
    add: str | None = parameter(
        None, "folder of runs of your own method, searched at any depth", is_path=True
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the page."""
    collected = None if flags.add is None else collect(flags.add)
    boards = [board for study in ranked_studies() for board in read_boards(study)]
    masks = published()
    left_out: list[str] = []
    entered: list[Entered] = []
    if collected is not None:
        left_out = [*collected.damaged, *collected.repeated, *collected.unfinished]
        runs = [run for group in collected.groups for run in group.runs.values()]
        entered, refused = enter(boards, runs, masks)
        left_out += refused
        if not entered:
            raise RunsError(f"no run of {flags.add} is of a board: {'; '.join(left_out)}")
        say_left_out(left_out)
    out = Path(flags.out)
    write(document(boards, entered, left_out, masks), out, name="leaderboard")
    for line in summary_lines(own_verdicts(entered)) if entered else ():
        show(line)
    show(f"leaderboard: {out / 'leaderboard.md'}, {out / 'leaderboard.html'}")
