"""Writes the SHA-256 of the masks of each board's runs, and the commands that write the masks.

python -m f3ast_tff.analysis.leaderboard.masks --out analysis/leaderboard/masks.csv

The digest equals `sha256sum` of the masks as `.csv`. The command needs the data of the tasks.
Boards of a study with a plug-in are left out, because its files may not be there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag
from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.leaderboard.boards import Board, ranked_studies, read_boards
from f3ast_tff.analysis.study_runs import SHARE
from f3ast_tff.analysis.texts import read_csv, write_csv
from f3ast_tff.availability.logs.mask_files import masks_digest, packed_masks
from f3ast_tff.availability.round_clients import available_clients
from f3ast_tff.files.data_files import read_text
from f3ast_tff.files.messages import show
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import resolve

FILE = Path(__file__).with_name("masks.csv")
# Settings from which every run's masks follow.
_ALWAYS = ("task", "availability", "rounds", "data_seed", "seed")


class Published(NamedTuple):
    """SHA-256 of a run's masks as `.csv`, bytes of a copy of its model, and the masks' command."""

    digest: str
    model_bytes: int
    command: str


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    out: str = out_flag("CSV")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    boards = [board for study in ranked_studies() for board in read_boards(study)]
    table = pd.DataFrame([row for board in boards if not _plugged(board) for row in _rows(board)])
    write_csv(table, flags.out)
    show(f"{len(table)} masks: {flags.out}")


def _plugged(board: Board) -> bool:
    first = board.methods[0].configuration
    return first is not None and bool(first.plugins)


def _rows(board: Board) -> Iterator[dict[str, object]]:
    first = board.methods[0].configuration
    assert first is not None
    for pair in sorted(board.first.runs):
        digest, model_bytes = masks_of_run(first, pair)
        yield {
            "study": board.study.name,
            "where": board.where,
            "draw": pair.draw,
            "seed": pair.seed,
            "model_bytes": model_bytes,
            "sha256": digest,
            "command": f"f3ast-tff availability {_flags(first, pair)}",
        }


def masks_of_run(
    configuration: Configuration, pair: Pair, data_dir: str | None = None
) -> tuple[str, int]:
    """Returns the digest of the masks of a run's draw, and the bytes of its model.

    `data_dir` is the folder of the task's data, if it is not the default.

    Raises:
        DataError: If the task's data are missing.
    """
    builder = Builder(_drawn(configuration, pair, data_dir))
    process, rounds = builder.world.availability, configuration.settings["rounds"]
    rows = [available_clients(process, process.num_clients, t) for t in range(1, rounds + 1)]
    return masks_digest(packed_masks(np.array(rows), "masks")), builder.model_bytes


def published() -> dict[tuple[str, str], dict[Pair, Published]]:
    """Returns the published masks, by study and conditions of a board, then by draw.

    Raises:
        RunsError: If the file cannot be read.
    """
    try:
        table = read_csv(read_text(FILE))
        found: dict[tuple[str, str], dict[Pair, Published]] = {}
        for row in table.to_dict("records"):
            pair = Pair(int(row["draw"]), int(row["seed"]))
            of_run = Published(row["sha256"], int(row["model_bytes"]), row["command"])
            found.setdefault((row["study"], row["where"]), {})[pair] = of_run
    except (OSError, ValueError, KeyError) as error:
        raise RunsError(f"cannot read {FILE}: {error}") from error
    return found


def _drawn(configuration: Configuration, pair: Pair, data_dir: str | None = None) -> Configuration:
    settings = dict(configuration.settings)
    settings.update(seed=pair.seed, **({"data_seed": pair.draw} if "data_seed" in settings else {}))
    if data_dir is not None:
        settings["data_dir"] = data_dir
    return resolve(settings, configuration.registry)


def _flags(configuration: Configuration, pair: Pair) -> str:
    """The settings that decide the masks and differ from their defaults, as flags."""
    settings = _drawn(configuration, pair).settings
    plain = resolve({name: settings[name] for name in ("task", "availability")}).settings
    components = (configuration.components[kind] for kind in ("task", "availability"))
    names = [p.name for component in components for p in component.parameters if p.decides_result]
    kept = [n for n in dict.fromkeys([*_ALWAYS, *names, SHARE]) if n in settings]
    told = [n for n in kept if n in _ALWAYS or settings[n] != plain.get(n)]
    return " ".join(f"--{name}={settings[name]}" for name in told)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
