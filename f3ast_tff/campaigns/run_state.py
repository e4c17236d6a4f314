"""What a run's folder says of the run, read from outside while it may be running."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.errors import CampaignError
from f3ast_tff.campaigns.grid import PlannedRun

RESULTS = ("metrics.csv", "selection.npz", "summary.json")


def is_finished(run: PlannedRun) -> bool:
    """Returns whether the run is done, which `summary.json` says once it is there.

    Raises:
        CampaignError: If the folder holds another run.
    """
    config = read_config(run)
    if config is not None:
        before = config.get("settings", {})
        differing = [
            f"{name} {before.get(name)!r}, now {value!r}"
            for name, value in sorted(run.settings.identity.items())
            if before.get(name) != value
        ]
        if differing:
            raise CampaignError(
                f"{run.folder} holds a run with other settings: {'; '.join(differing)}. "
                "Give another --output_dir, or remove the campaign's folder"
            )
    return config is not None and (run.folder / "summary.json").exists()


def read_config(run: PlannedRun) -> dict[str, Any] | None:
    """Returns the content of `config.json`, `None` if there is none.

    Raises:
        CampaignError: If it is damaged.
    """
    path = run.folder / "config.json"
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CampaignError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise CampaignError(f"{path} is not of a run")
    return content


def rounds_done(run: PlannedRun) -> int:
    """Returns the round of the newest checkpoint; 0 without one."""
    checkpoints = (run.folder / "checkpoints").glob("round_*.npz")
    return max((int(path.stem.partition("_")[2]) for path in checkpoints), default=0)


def checksums(run: PlannedRun) -> dict[str, str]:
    """Returns the SHA-256 of each result that is there, in hexadecimal, by file name."""
    paths = [run.folder / name for name in RESULTS]
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.exists()
    }


def modified(path: Path) -> float | None:
    """Returns when a file was written, seconds since 1970; `None` if it is not there."""
    return path.stat().st_mtime if path.exists() else None
