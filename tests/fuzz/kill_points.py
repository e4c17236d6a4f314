"""Runs in forked processes, each disturbed at a numbered write, fsync, rename or removal of a file.

    python -m tests.fuzz.kill_points ENGINE

Reads one JSON order per line, and answers each in one line. Frameworks are imported once, before
the forks. The engine `fake` is `tests.fake_engine`.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

_ROOT = Path(__file__).parents[2]
_MODULES = (
    "cli.run",
    "run.build",
    "run.round_loop",
    "records.metrics_loggers",
    "run.run_experiment",
)


class Ended(NamedTuple):
    """End of a run.

    Attributes:
        code: Exit code; -9 if it was killed.
        points: Number of points passed; 0 if it was killed.
        err: Text on stderr.
    """

    code: int
    points: int
    err: str


class Disk:
    """Counts the writes to files below a folder, and intervenes at one of them."""

    def __init__(self, folder: str, at: int, how: str) -> None:
        """Sets the place of the intervention.

        Args:
            folder: Folder whose files count.
            at: Number of the point, from 1; 0 for no intervention.
            how: `"kill"`: SIGKILL before the point; `"torn"`: the same, but in the middle of a
                write; `"full"`: the disk is full from the point on; `"behind"`, `"ahead"`: the
                clock is a day behind or ahead from the point on.
        """
        self._folder = os.path.abspath(folder) + os.sep
        self._at, self._how = at, how
        self.points = 0

    def counts(self, path: Any) -> bool:
        return isinstance(path, (str, os.PathLike)) and os.path.abspath(path).startswith(
            self._folder
        )

    def point(self, half: Callable[[], object] = lambda: None, takes_room: bool = False) -> None:
        self.points += 1
        if self._how == "full" and takes_room and 0 < self._at <= self.points:
            raise OSError(errno.ENOSPC, "No space left on device")
        if self._how in ("behind", "ahead") and self.points == self._at:
            now, shift = time.time, 86400 if self._how == "ahead" else -86400
            time.time = lambda: now() + shift  # type: ignore[assignment]
        if self._how in ("kill", "torn") and self.points == self._at:
            if self._how == "torn":
                half()
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Replaces the Python functions that write files."""
        disk, opened, replace, fsync = self, io.open, os.replace, os.fsync
        unlink = os.unlink

        class File(io.FileIO):
            def write(self, data: Any) -> int:
                disk.point(lambda: io.FileIO.write(self, bytes(data)[: len(data) // 2]), True)
                return super().write(data)

        def counted_open(
            file: Any, mode: str = "r", buffering: int = -1, *text: Any, **by_name: Any
        ) -> IO[Any]:
            if not disk.counts(file) or not set(mode) & set("wax"):
                return opened(file, mode, buffering, *text, **by_name)
            buffer = io.BufferedWriter(File(file, mode.replace("b", "")))
            return buffer if "b" in mode else io.TextIOWrapper(buffer, *text, **by_name)

        def counted_replace(source: Any, target: Any) -> None:
            if disk.counts(target):
                disk.point()
            replace(source, target)

        def counted_fsync(number: int) -> None:
            disk.point(takes_room=True)
            fsync(number)

        def counted_unlink(path: Any) -> None:
            if disk.counts(path) and os.path.lexists(path):
                disk.point()
            unlink(path)

        builtins.open = io.open = counted_open  # type: ignore[assignment]
        os.replace, os.fsync = counted_replace, counted_fsync  # type: ignore[assignment]
        os.unlink = counted_unlink  # type: ignore[assignment]


class Forks:
    """A process that runs this module's program; `with Forks(engine) as forks:` ends it."""

    def __init__(self, engine: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.kill_points", engine],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, words: Sequence[str], at: int = 0, how: str = "kill") -> Ended:
        """Runs `f3ast-tff run`, or another command, with all its files below a folder."""
        given = [*words, f"--output_dir={folder}"]
        if words[0].startswith("-"):
            given = ["run", *given, "--run_name=run"]
        order = {"words": given, "folder": str(folder), "at": at, "how": how}
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)


def _use_fake_engine() -> None:
    from f3ast_tff.engines.components import FusedConfig
    from f3ast_tff.run import run_experiment
    from tests.fake_engine import FakeEngine

    def build(config: Any, parts: Any) -> FakeEngine:
        return FakeEngine(parts.data.train.num_clients, block_rounds=3)

    changed: Any = FusedConfig
    changed.build, changed.check_installed = build, lambda self: None
    changed.prepare_environment = lambda self, environment: None
    # `provenance` would start git twice.
    vars(run_experiment)["provenance"] = dict


def _run(order: dict[str, Any], answer: int) -> None:
    """Runs the command in the forked process."""
    from f3ast_tff.cli.main import main

    disk = Disk(order["folder"], order["at"], order["how"])
    disk.install()
    try:
        code = main(["f3ast-tff", *order["words"]])
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stderr.flush()
    os.write(answer, json.dumps([code, disk.points]).encode())
    os._exit(0)


def _serve(engine: str) -> None:
    modules = [
        *_MODULES,
        *({"fake": [], "tff": ["engines.tff.engine"]}.get(engine, ["engines.jax.engine"])),
    ]
    for name in modules:
        importlib.import_module(f"f3ast_tff.{name}")
    if engine == "fake":
        _use_fake_engine()
    for line in sys.stdin:
        order = json.loads(line)
        reader, writer = os.pipe()
        said = Path(order["folder"]).with_suffix(".err")
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            _run(order, writer)
        os.close(writer)
        _, status = os.waitpid(child, 0)
        found = os.read(reader, 100)
        os.close(reader)
        code, points = json.loads(found) if found else (os.waitstatus_to_exitcode(status), 0)
        print(json.dumps([code, points, said.read_text()]), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
