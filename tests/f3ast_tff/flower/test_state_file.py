"""Two servers on one state file: the second is refused while the first holds it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ArrayRecord

from f3ast_tff import F3AST
from f3ast_tff.core.errors import CheckpointError
from f3ast_tff.flower import AvailabilityStrategy
from f3ast_tff.flower.saved import only_server
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid
from tests.f3ast_tff.flower.test_availability_strategy import app_of, run, unit

ROOT = Path(__file__).resolve().parents[3]
HOLD = """
import sys
from pathlib import Path
from f3ast_tff.flower.saved import only_server
with only_server(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def server(file: Path) -> AvailabilityStrategy:
    return AvailabilityStrategy(F3AST.start(np.full(4, 0.25), 4), 4, 4, state_file=file)


def saved_round(file: Path) -> int:
    with np.load(file) as saved:
        return int(saved["round"])


def test_a_second_server_is_refused_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by another name of the folder, and from another process; a killed one holds nothing."""
    file, grid = tmp_path / "a" / "server.npz", InProcessGrid(app_of(unit), 4, {})
    run(grid, server(file), 3)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    other_names = (file, tmp_path / "b" / "server.npz", Path("a/server.npz"))
    command = [sys.executable, "-c", HOLD, str(file)]
    given = {"cwd": ROOT, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **given) as first:  # type: ignore[call-overload]
        assert first.stdout.readline() == "held\n"
        for name in other_names:
            with pytest.raises(CheckpointError, match="server.npz is in use by another server"):
                run(grid, server(name), 6)
        assert saved_round(file) == 3
        os.kill(first.pid, signal.SIGKILL)
    for rounds, name in zip((4, 5, 6), other_names):
        run(grid, server(name), rounds)
        assert saved_round(file) == rounds


def test_the_lock_ends_with_start_however_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "server.npz"

    def fails(k: int, t: int) -> np.ndarray:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(InProcessGrid(app_of(fails), 4, {}), server(file))
    with only_server(file), only_server(tmp_path / "other.npz"), only_server(None):
        pass


def test_a_place_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    """A file in place of the folder; a link, through which another file would be cut."""
    (tmp_path / "file").write_text("content")
    (tmp_path / ".server.npz.lock").symlink_to(tmp_path / "file")
    for path in (tmp_path / "file" / "server.npz", tmp_path / "server.npz"):
        with pytest.raises(CheckpointError, match=f"cannot write beside {path}: "):
            server(path).start(None, ArrayRecord([np.zeros(4)]))  # type: ignore[arg-type]
    assert (tmp_path / "file").read_text() == "content"


def test_a_state_file_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's code in this process changes the folder in each round."""

    def wanders(k: int, t: int) -> np.ndarray:
        os.chdir(other)
        return unit(k, t)

    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(tmp_path)
    run(InProcessGrid(app_of(wanders), 4, {}), server(Path("server.npz")), 2)
    assert saved_round(tmp_path / "server.npz") == 2 and list(other.iterdir()) == []
