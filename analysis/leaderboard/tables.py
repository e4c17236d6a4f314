"""Prints the boards of a study as Markdown: the first of each regime, then each board, folded.

python -m f3ast_tff.analysis.leaderboard.tables --study table3_synthetic
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.leaderboard.boards import Board, ranked_studies, read_boards
from f3ast_tff.analysis.leaderboard.entry import Masks
from f3ast_tff.analysis.leaderboard.masks import published
from f3ast_tff.analysis.leaderboard.page import (
    Standing,
    command_of,
    model_bytes,
    said_of,
    standings,
)
from f3ast_tff.analysis.texts import broken, markdown_table
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

_HEAD = ("regime", "first", "score", "others not shown worse", "of", "plain baseline", "its place")
# Algorithms that correct nothing, with a plain sum or mean.
_PLAIN = ("fedavg", "fedavg_all", "uniform")
_PLAIN_AGGREGATIONS = ("", "sum", "mean")


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    study: str = parameter(
        REQUIRED,
        "study whose boards to print",
        choices=tuple(each.name for each in ranked_studies()),
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the tables."""
    study = next(each for each in ranked_studies() if each.name == flags.study)
    show(tables(read_boards(study), published()))


def tables(boards: Sequence[Board], masks: Masks) -> str:
    """Returns the tables of the boards of a study, with their published masks."""
    there = {board: masks.get((board.study.name, board.where), {}) for board in boards}
    rows = {board: standings(board, (), model_bytes(there[board])) for board in boards}
    overview = [_overview(board, of_board) for board, of_board in rows.items()]
    parts = [
        markdown_table(_HEAD, overview),
        f"Command of a row: `{command_of(boards[0].study.name)}`",
    ]
    for board, of_board in rows.items():
        parts += [
            f'<details markdown="1">\n<summary>{board.title}: {said_of(board)}</summary>',
            f"BOARD is `{board.where}`.",
            markdown_table([*of_board[0].cells], map(_one_line, of_board)),
            _masks(board, masks),
            "</details>",
        ]
    return "\n\n".join(parts)


def _overview(board: Board, rows: Sequence[Standing]) -> list[str]:
    score = board.score.replace("_", " ")
    level = sum(row.cells["place"] == "1=" for row in rows[1:])
    plain = next(
        method.name
        for method in board.ordered([])
        if method.group.settings["algorithm"] in _PLAIN
        and (method.group.setting("aggregation") or "") in _PLAIN_AGGREGATIONS
    )
    place = next(row.cells["place"] for row in rows if row.cells["method"] == plain)
    first, others = rows[0].cells, len(rows) - 1
    texts = [first["method"], f"{score} {first[score]}", str(level), str(others)]
    return [board.title, *texts, plain, place]


def _one_line(row: Standing) -> list[str]:
    cells = row.cells.values()
    return [cell.replace(",\n", ",").replace("\n", " ") for cell in cells]


def _masks(board: Board, masks: Masks) -> str:
    """The command and the digest of the masks of the first draw."""
    there = masks.get((board.study.name, board.where), {})
    if not there:
        return "Masks: not published."
    first = there[min(there)]
    command = broken(f"{first.command} --write=masks.csv")
    # Not a ```sh block, which would end the tables of a kept page.
    return f"Masks, SHA-256 `{first.digest[:16]}...` for draw 0:\n\n```text\n{command}\n```"


if __name__ == "__main__":
    sys.exit(main(sys.argv))
