"""The folders of studies: their grids, and what each declares for the rest of the suite.

A study is a folder `analysis/studies/NAME/`: `grid.toml`, `scores.csv`, `page.md`, pictures, and
the code that only it needs. Further files `OTHER.toml` are grids, too. `study.toml` declares what
others show of the study: `[board]` a part of the leaderboard, `[advice]` the scores behind the
advice, `[[claims]]` rows of the picture of the papers' claims. They find studies here, by reading
the folders; to delete a study, delete its folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from f3ast_tff.files.data_files import read_toml

STUDIES = Path(__file__).parents[1] / "analysis" / "studies"
DECLARED = "study.toml"
# Files of a study that go by its name.
_OF_STUDY = ("grid.toml", "scores.csv")


def name_of(path: Path) -> str:
    """Returns the name of a grid or of scores: the study's, or the file's without its ending."""
    path = path.resolve()
    if path.name in _OF_STUDY and path.parent.parent.name == STUDIES.name:
        return path.parent.name
    return path.stem


def grid_files() -> dict[str, Path]:
    """Returns the grids of all studies by name, sorted."""
    files = (path for path in STUDIES.glob("*/*.toml") if path.name != DECLARED)
    return dict(sorted((name_of(path), path) for path in files))


def declared(part: str) -> list[tuple[Path, Mapping[str, Any]]]:
    """Returns the tables of a part that studies declare, with their folders, by their `place`."""
    found = []
    for path in sorted(STUDIES.glob(f"*/{DECLARED}")):
        tables = read_toml(path).get(part, [])
        for table in tables if isinstance(tables, list) else [tables]:
            found.append((path.parent, table))
    return sorted(found, key=lambda each: each[1].get("place", 0))
