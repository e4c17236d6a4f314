"""A run of a campaign: plan, result, and progress from its folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.grid_file import CampaignError
from f3ast_tff.core.data_files import hash_of, read_json
from f3ast_tff.run.results import SEALED, SUMMARY, finished_summary
from f3ast_tff.run.run_folder import differences
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import plugin_sources

FINISHED = "finished"
FAILED = "failed"
# The process that ran it is gone.
LOST = "lost"
RESULTS = (*SEALED, SUMMARY)
_ROUND = re.compile("[0-9]{1,18}")


@dataclass(frozen=True)
class PlannedRun:
    """One run of a campaign.

    Attributes:
        name: Unique in the campaign; of its folder.
        configuration: Resolved.
    """

    name: str
    configuration: Configuration

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its settings by name."""
        return self.configuration.settings

    @property
    def folder(self) -> Path:
        """Its folder."""
        return Path(self.settings["output_dir"]) / self.name

    @property
    def environment(self) -> tuple[str, str]:
        """Runs that differ in it, engine or device, share no process: frameworks start once."""
        return self.settings["engine"], self.settings.get("device") or ""

    @property
    def order(self) -> dict[str, Any]:
        """JSON values from which another process resolves the run again."""
        return {
            "settings": dict(self.settings),
            "plugins": plugin_sources([self.configuration]),
            "identity": self.configuration.identity,
        }


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and where.

    Attributes:
        state: `FINISHED`, `FAILED` or `LOST`.
        error: One line if it did not finish.
        started: When it began or went on, ISO 8601, UTC.
        ended: When it ended.
        seconds: Duration without the start of the process.
        worker: The process that ran it.
    """

    state: str
    error: str | None
    started: str
    ended: str
    seconds: float
    worker: str


def now() -> str:
    """Returns the time as manifests have it: ISO 8601, UTC, to the millisecond."""
    return at(datetime.now(timezone.utc).timestamp())


def at(timestamp: float) -> str:
    """Returns a time, seconds since 1970, as manifests have it."""
    time = datetime.fromtimestamp(timestamp, timezone.utc)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_finished(run: PlannedRun) -> bool:
    """Returns whether the run has finished with unchanged results.

    Raises:
        CampaignError: If the folder holds another run.
    """
    config = read_config(run)
    if config is None:
        return False
    try:
        differing = differences(config, json.loads(json.dumps(run.configuration.identity)))
    except ValueError as error:
        raise CampaignError(f"{run.folder / 'config.json'} {error}") from error
    if differing:
        raise CampaignError(
            f"{run.folder} holds a run with other settings: {'; '.join(differing)}. "
            "Give another output_dir, or remove the campaign's folder"
        )
    return finished_summary(run.folder) is not None


def read_config(run: PlannedRun) -> dict[str, Any] | None:
    """Returns the content of `config.json`, `None` if there is none.

    Raises:
        CampaignError: If it is damaged.
    """
    path = run.folder / "config.json"
    try:
        content = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise CampaignError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise CampaignError(f"{path} is not of a run")
    return content


def rounds_done(run: PlannedRun) -> int:
    """Returns the round of the newest checkpoint; 0 without one."""
    checkpoints = (run.folder / "checkpoints").glob("round_*.npz")
    numbers = [path.stem.partition("_")[2] for path in checkpoints]
    return max((int(number) for number in numbers if _ROUND.fullmatch(number)), default=0)


def checksums(run: PlannedRun) -> dict[str, str]:
    """Returns the SHA-256 of each existing result file, in hexadecimal, by file name."""
    return {name: hash_of(run.folder / name) for name in RESULTS if (run.folder / name).is_file()}


def modified(path: Path) -> float | None:
    """Returns when a file was written, seconds since 1970; `None` if it is not there."""
    return path.stat().st_mtime if path.exists() else None
