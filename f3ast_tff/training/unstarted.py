"""Run folders of runs that did not start: made for their lock, and then removed again."""

from __future__ import annotations

import contextlib
from pathlib import Path

from f3ast_tff.atomic import remove_temporaries


def missing_folders(path: Path) -> list[Path]:
    """Returns the folders that making `path` would make, the innermost first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def remove_unstarted(path: Path, made: list[Path]) -> None:
    """Removes a run's folder that holds no run, and the folders made for it that are empty.

    Args:
        path: The run's folder, its lock held or given back.
        made: What `missing_folders` returned before it was made.
    """
    if path not in made or (path / "config.json").exists():
        return
    remove_temporaries(path)
    with contextlib.suppress(OSError):
        if {entry.name for entry in path.iterdir()} <= {".lock"}:
            (path / ".lock").unlink(missing_ok=True)
        for folder in made:
            folder.rmdir()
