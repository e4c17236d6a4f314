"""The folder of one run: its settings, its lock, its files."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from f3ast_tff.errors import RunFolderError
from f3ast_tff.training.atomic import atomic_write


class RunFolder:
    """Holds the lock on a run's folder, so that two processes never write one run.

    Attributes:
        path: The folder.
        run_id: Digest of the settings that decide the result.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        """Opens or makes the folder and checks that it is ours.

        Args:
            path: `<output_dir>/<run_name>`.
            identity: The settings that decide the run's result, as JSON values.

        Raises:
            RunFolderError: If the folder cannot be written, is in use, or holds a run with other
                settings; says what differs.
        """
        self.path = path
        self._identity = json.loads(json.dumps(identity))
        digest = hashlib.sha256(json.dumps(self._identity, sort_keys=True).encode())
        self.run_id = digest.hexdigest()
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock: IO[str] | None = open(path / ".lock", "w")  # noqa: SIM115
        except OSError as error:
            raise RunFolderError(f"cannot write to {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._refuse_other_settings()
        except BlockingIOError as error:
            self.close()
            raise RunFolderError(f"{path} is in use by another process") from error
        except RunFolderError:
            self.close()
            raise

    def _refuse_other_settings(self) -> None:
        config = self.file("config.json")
        if not config.exists():
            return
        try:
            content = json.loads(config.read_text())
        except ValueError as error:
            raise RunFolderError(f"{config} is not of a run: {error}") from error
        before = content.get("settings") if isinstance(content, dict) else None
        if not isinstance(before, dict):
            raise RunFolderError(f"{config} is not of a run: it has no settings")
        differing = [
            f"{name} {before.get(name)!r}, now {value!r}"
            for name, value in sorted(self._identity.items())
            if before.get(name) != value
        ]
        if differing:
            raise RunFolderError(
                f"{self.path} holds a run with other settings: {'; '.join(differing)}. "
                "Give another --run_name, or remove the folder"
            )

    def file(self, name: str) -> Path:
        """Returns the path of a file of the run."""
        return self.path / name

    def write_json(self, name: str, content: Any) -> None:
        """Writes a JSON file, atomically; numbers that are not finite become null."""
        with atomic_write(self.file(name)) as file:
            json.dump(_finite(content), file, indent=2, allow_nan=False)
            file.write("\n")

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Returns the content of a JSON file, `None` if it is not there."""
        path = self.file(name)
        return json.loads(path.read_text()) if path.exists() else None

    def close(self) -> None:
        """Gives the lock back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
