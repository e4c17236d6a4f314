"""The folder of one run: settings, lock, checkpoints, seal and log."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from filelock import FileLock, Timeout

from f3ast_tff.core.errors import CheckpointError, PluginError, RunFolderError, is_of_a_path
from f3ast_tff.files.atomic import atomic_write, naming, remove_temporaries
from f3ast_tff.files.data_files import check_appendable, read_json
from f3ast_tff.files.locks import held
from f3ast_tff.files.messages import LineFormatter
from f3ast_tff.records.checkpoint import Checkpoint, CheckpointStore
from f3ast_tff.records.provenance import versions_said
from f3ast_tff.records.results import (
    CLIENT_SCORES,
    ERROR_FILE,
    SUMMARY,
    DamagedResult,
    first_lost_scores,
    first_other_scores,
    seal,
    sound_summary,
)
from f3ast_tff.settings.kinds import KINDS

_LOG = logging.getLogger(__name__)

LOG = "run.log"
# Logger of this package; from other loggers only warnings are logged.
_OWN = "f3ast_tff"
# Settings that are read from a run's record, with their types.
_KINDS: Mapping[str, type] = MappingProxyType({"logger": str, "keep_checkpoints": int})
ADVICE = "Give another run_name, or remove the folder"


class RunFolder:
    """Holds the lock on a run's folder, so that two processes never write one run.

    Attributes:
        path: The folder.
        run_id: Digest of the settings that decide the result.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], patience_s: float = 0.0) -> None:
        """Opens or makes the folder and checks that it is of this run.

        Args:
            path: `<output_dir>/<run_name>`.
            identity: The settings that decide the run's result, as JSON values.
            patience_s: Seconds to wait for another process to release the folder.

        Raises:
            RunFolderError: If the folder cannot be written, is in use, or holds a run with other
                settings that has a checkpoint; names the differences.
        """
        self.path = path
        as_json = json.loads(json.dumps(identity))
        self.run_id = run_id_of(as_json)
        self._made = [folder for folder in (path, *path.parents) if not folder.exists()]
        self._lock = lock_folder(path, patience_s)
        try:
            config = self.config()
            before = None if config is None else config.get("identity")
            own = sorted(path.glob("masks.*")) if config is None and is_without_rounds(path) else []
            if own:
                raise RunFolderError(f"{own[0]} would be overwritten by the run's masks: move it")
            if isinstance(before, dict) and before != as_json and is_without_rounds(path):
                _clear(path)
            elif config is not None:
                refuse_other_run(path, config, as_json, advice=ADVICE)
        except RunFolderError:
            self.close()
            raise
        for folder in (path, path / "checkpoints", path / CLIENT_SCORES):
            remove_temporaries(folder)

    def file(self, name: str) -> Path:
        """Returns the path of a file of the run."""
        return self.path / name

    def write_json(self, name: str, content: Any) -> None:
        """Writes a JSON file, atomically; numbers that are not finite become null."""
        with atomic_write(self.file(name)) as file:
            json.dump(json_values(content), file, indent=2, allow_nan=False)
            file.write("\n")

    @property
    def checkpoints(self) -> CheckpointStore:
        """The run's checkpoints."""
        return CheckpointStore(self.file("checkpoints"), self.run_id)

    def load_checkpoint(self) -> Checkpoint | None:
        """Returns the newest sound checkpoint before damaged client scores, if any.

        Raises:
            CheckpointError: If there are checkpoints but none is sound. If there is no checkpoint,
                and results are damaged or the run has finished.
        """
        checkpoint = self.checkpoints.load_newest(first_lost_scores(self.path))
        if checkpoint is not None:
            lost = first_other_scores(self.path, checkpoint.meta.get(CLIENT_SCORES, {}))
            if lost < checkpoint.round_number + 1:
                _LOG.warning("client scores of round %d are not those that the run wrote", lost)
                checkpoint = self.checkpoints.load_newest(lost)
        if checkpoint is None:
            try:
                finished = sound_summary(self.path) is not None
            except DamagedResult as error:
                raise CheckpointError(
                    f"{error}, and there is no checkpoint to make it anew from. Remove "
                    f"{self.path} to start the run over"
                ) from error
            if finished:
                raise CheckpointError(
                    f"{self.path} holds a finished run without a checkpoint (keep_checkpoints): "
                    "its results can be read, its weights are gone. Remove the folder to start "
                    "the run over"
                )
        return checkpoint

    def seal(self, summary: Mapping[str, Any]) -> None:
        """Writes `summary.json`, which marks the run as finished, with the digests of all files."""
        self.write_json(SUMMARY, seal(self.path, json_values(summary)))

    def config(self) -> dict[str, Any] | None:
        """Returns the content of `config.json`; see `read_config`."""
        return read_config(self.path)

    def close(self) -> None:
        """Releases the lock; removes a folder made for a run that has not started."""
        self._lock.release()
        if self.path not in self._made or self.file("config.json").exists():
            return
        with contextlib.suppress(OSError):
            own = {".lock", LOG}
            if {entry.name for entry in self.path.iterdir()} <= own:
                for name in own:
                    self.file(name).unlink(missing_ok=True)
            for folder in self._made:
                folder.rmdir()


def run_id_of(identity: Mapping[str, Any]) -> str:
    """Returns the digest of an identity (JSON values), which a run's checkpoints carry."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def lock_folder(folder: Path, patience_s: float = 0.0, kind: str = "process") -> FileLock:
    """Makes a folder if missing, and locks it; the lock ends with this process in every case.

    Args:
        folder: The folder.
        patience_s: Seconds to wait for the holder of the lock.
        kind: Holders of the lock, for the error.

    Raises:
        RunFolderError: If the folder cannot be written, holds a link, or is still in use after the
            wait.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_links(folder)
        lock = held(folder / ".lock", patience_s)
    except Timeout as error:
        raise RunFolderError(f"{folder} is in use by another {kind}") from error
    except OSError as error:
        if not is_of_a_path(error):
            raise
        raise RunFolderError(f"cannot write to {folder}: {error.strerror}") from error
    return lock


def _refuse_links(folder: Path) -> None:
    """Refuses links in a folder: through them, files elsewhere would be written and removed."""
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink():
            raise RunFolderError(f"{entry} is a link to {os.readlink(entry)}: remove it")


def read_config(folder: Path) -> dict[str, Any] | None:
    """Returns the content of a folder's `config.json`, `None` if there is none.

    Raises:
        RunFolderError: If it cannot be read, is not of a run, or contradicts itself.
    """
    path = folder / "config.json"
    try:
        content = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RunFolderError(f"{path} cannot be read: {reason}") from error
    if not isinstance(content, dict) or not isinstance(content.get("settings"), dict):
        raise RunFolderError(f"{path} is not of a run: it has no settings")
    settings, identity = content["settings"], content.get("identity")
    for name, kind in _KINDS.items():
        if not isinstance(settings.get(name, kind()), kind):
            raise RunFolderError(f"{path} is damaged: {name} is {settings[name]!r} in its settings")
    for name, value in identity.items() if isinstance(identity, dict) else ():
        if settings.get(name, value) != value:
            says = f"{name} is {settings[name]!r} in its settings, {value!r} in its identity"
            raise RunFolderError(f"{path} is damaged: {says}")
    return content


def is_without_rounds(folder: Path) -> bool:
    """Whether a run, if any, has neither finished nor written a checkpoint to go on from."""
    return not (folder / SUMMARY).exists() and not has_checkpoint(folder)


def has_checkpoint(folder: Path) -> bool:
    """Whether there is a checkpoint in a run's folder, sound or not."""
    return any((folder / "checkpoints").glob("round_*"))


def _clear(folder: Path) -> None:
    """Removes what a run wrote before its first checkpoint, except its log."""
    shutil.rmtree(folder / CLIENT_SCORES, ignore_errors=True)
    # The settings last: after a kill in between, the next start clears the rest.
    patterns = ("metrics.csv", ERROR_FILE, "events.out.tfevents.*", "config.json")
    for file in (found for pattern in patterns for found in folder.glob(pattern)):
        file.unlink()


def refuse_other_run(
    folder: Path, config: Mapping[str, Any], identity: Mapping[str, Any], advice: str
) -> None:
    """Refuses a folder whose `config.json` is of another run.

    Raises:
        RunFolderError: If the runs differ, or the run in the folder was made by an older version;
            names the differing settings, and gives the advice.
    """
    before = config.get("identity")
    if not isinstance(before, dict):
        older = f"is of a run that was made by an older version{versions_said(config)}"
        raise RunFolderError(f"{folder / 'config.json'} {older}; remove its folder")
    differing = _differences(before, identity, config["settings"])
    if differing:
        raise RunFolderError(
            f"{folder} holds a run with other settings: {'; '.join(differing)}"
            f"{versions_said(config)}. {advice}"
        )


def _differences(
    before: Mapping[str, Any], identity: Mapping[str, Any], settings: Mapping[str, Any]
) -> list[str]:
    """A phrase for each setting in which two identities differ."""
    changed = [n for n in sorted(identity) if n in before and before[n] != identity[n]]
    apart = sorted(before.keys() ^ identity.keys())
    # Settings that another component adds or removes are left out, but not an optional component.
    names = [*changed, *(name for name in apart if name in KINDS)] or apart
    found = []
    for name in names:
        then, now = before.get(name), identity.get(name)
        if name == "plugins":
            found.append("a plug-in in use is another, or has changed")
        elif name == "input_files":
            found += _changed_files(then or {}, now or {}, settings)
        else:
            found.append(f"{name} {then!r}, now {now!r}")
    return found


def _changed_files(
    before: Mapping[str, str], now: Mapping[str, str], settings: Mapping[str, Any]
) -> list[str]:
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    return [f"the content of {name} is not that of {settings.get(name)} then" for name in names]


def json_values(value: Any) -> Any:
    """Returns a value for JSON: numbers that are not finite become `None`."""
    if isinstance(value, Mapping):
        return {key: json_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def run_log(folder: Path) -> Iterator[None]:
    """Appends warnings, and records of this package's loggers, to `run.log` in a run's folder.

    The file is made with its first line. A plug-in's error in a started run is written with its
    traceback.

    Raises:
        OSError: If the path is not a file.
    """
    check_appendable(folder / LOG)
    handler = _LogFile(folder / LOG, delay=True, encoding="utf-8", errors="backslashreplace")
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or _is_own(record))
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)s: %(message)s"))
    root, own = logging.getLogger(), logging.getLogger(_OWN)
    level = own.level
    root.addHandler(handler)
    own.setLevel(logging.INFO)
    try:
        yield
    except PluginError as error:
        if (folder / LOG).exists():
            handler.handle(own.makeRecord(_OWN, logging.ERROR, "", 0, error, (), sys.exc_info()))
        raise
    finally:
        own.setLevel(level)
        root.removeHandler(handler)
        with naming(folder / LOG):
            handler.close()


class _LogFile(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Ends the run, as with any other file that cannot be written."""
        if not isinstance(sys.exc_info()[1], OSError):
            return super().handleError(record)
        with naming(Path(self.baseFilename)):
            raise


def _is_own(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] == _OWN
