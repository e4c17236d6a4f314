"""A planned campaign, and its shards: disjoint parts that several jobs run at once in one folder.

A shard has a folder of its own for its lock, its manifest and its workers' log. The runs of all
shards stand in the campaign's folder, where a report finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.records.run_folder import lock_folder

_SHARD = re.compile(r"([0-9]{1,5})/([0-9]{1,5})")
_FOLDER, _NAME = "shards", re.compile(r"([0-9]{1,5})-of-([0-9]{1,5})")
# Holders of a lock, for the error.
_HOLDERS = "campaign: jobs that share a folder take one shard each, such as --shard=1/4 to 4/4"
# Shards that start at once look at a common lock, each for an instant.
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Shard:
    """One of several parts of a campaign.

    Attributes:
        number: Number of the part, from 1 to `of`.
        of: Number of parts.
    """

    number: int
    of: int

    def __str__(self) -> str:
        """Returns the text that `--shard` takes."""
        return f"{self.number}/{self.of}"

    def folder(self, campaign: Path) -> Path:
        """Returns the shard's own folder in the campaign's."""
        return campaign / _FOLDER / f"{self.number}-of-{self.of}"


def shard_in(text: str) -> Shard:
    """Returns the shard that a text such as `3/20` names.

    Raises:
        ParameterError: If the text names none.
    """
    found = _SHARD.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise ParameterError("shard", text, "must be one of several, such as 3/20: from 1/20 on")
    return Shard(int(found[1]), int(found[2]))


@dataclass(frozen=True)
class Campaign:
    """A planned campaign, or a shard of it.

    Attributes:
        name: The campaign's name.
        about: Purpose.
        folder: The campaign's folder, `<output_dir>/<name>`.
        runs: The runs, in the order of the file's `value`, then of its grid.
        shard: The part of the campaign that `runs` are; `None` for all of it.
    """

    name: str
    about: str
    folder: Path
    runs: tuple[PlannedRun, ...]
    shard: Shard | None = None

    @property
    def own_folder(self) -> Path:
        """Folder of the lock, the manifest and the log: the campaign's, or the shard's."""
        return self.folder if self.shard is None else self.shard.folder(self.folder)

    @property
    def said(self) -> str:
        """Name for messages."""
        return self.name if self.shard is None else f"{self.name}, shard {self.shard}"

    def part(self, shard: Shard) -> Campaign:
        """Returns a shard."""
        return replace(self, shard=shard, runs=deal(self.runs, shard))


def deal(runs: Sequence[PlannedRun], shard: Shard) -> tuple[PlannedRun, ...]:
    """Returns a shard's runs, in their order; every run is in one shard.

    The runs of each line, which cost the same, are spread evenly.
    """
    lines = [run.line for run in runs]
    order = {line: place for place, line in enumerate(dict.fromkeys(lines))}
    by_line = sorted(range(len(runs)), key=lambda place: order[lines[place]])
    return tuple(runs[place] for place in sorted(by_line[shard.number - 1 :: shard.of]))


def lock(campaign: Path, shard: Shard | None) -> FileLock:
    """Locks a campaign's folder, or a shard's; the lock ends with this process in every case.

    Shards of one number have no run in common, so that none hinders another.

    Raises:
        RunFolderError: If the folder cannot be written, or a process runs what may be the same
            runs: the whole campaign, the same shard, or a shard of another number.
    """
    own = lock_folder(shard.folder(campaign) if shard else campaign, kind=_HOLDERS)
    try:
        # Taken after our own: of two that start at once, at most one goes on.
        for other in _in_common(campaign, shard):
            lock_folder(other, _PATIENCE_S, kind=_HOLDERS).release()
    except RunFolderError:
        own.release()
        raise
    return own


def _in_common(campaign: Path, shard: Shard | None) -> Iterator[Path]:
    if shard is not None:
        yield campaign
    for folder in shard_folders(campaign):
        number = _NAME.fullmatch(folder.name)
        if shard is None or (number is not None and int(number[2]) != shard.of):
            yield folder


def shard_folders(campaign: Path) -> list[Path]:
    """Returns the folders of all shards that were ever run, sorted."""
    return sorted(
        path for path in campaign.glob(f"{_FOLDER}/*/") if _NAME.fullmatch(path.name) is not None
    )
