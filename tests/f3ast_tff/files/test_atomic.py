"""A file is the old one or the new one."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from f3ast_tff.files.atomic import atomic_write, remove_temporaries, write_all


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("existed", [False, True])
def test_replaces_or_makes_the_file(existed: bool, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    if existed:
        path.write_text("old and longer")
    with atomic_write(path) as file:
        file.write("new")
        file.flush()
        assert not existed or path.read_text() == "old and longer"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_crash_half_way_leaves_what_was_there(
    existed: bool, error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "file.bin"
    if existed:
        path.write_bytes(b"old")
    before = names(tmp_path)
    with pytest.raises(error), atomic_write(path, "wb") as file:
        file.write(b"half of the n")
        file.flush()
        raise error
    assert names(tmp_path) == before
    assert not existed or path.read_bytes() == b"old"


def test_a_crash_while_replacing_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def no_space(*_: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    says = re.escape(f"no space left on device: '{path}'")
    with pytest.raises(OSError, match=says), atomic_write(path) as file:
        file.write("new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


def test_a_device_is_left_alone(tmp_path: Path) -> None:
    device = tmp_path / "full"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("only root makes devices")
    with pytest.raises(OSError, match="it is a device"), atomic_write(device) as file:
        file.write("new")
    assert stat.S_ISCHR(device.lstat().st_mode) and names(tmp_path) == ["full"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    for name in (".metrics.csv.123.tmp", ".hidden", "metrics.csv", "x.tmp"):
        (tmp_path / name).touch()
    remove_temporaries(tmp_path)
    remove_temporaries(tmp_path / "not_there")
    assert {path.name for path in tmp_path.iterdir()} == {".hidden", "metrics.csv", "x.tmp"}


def test_the_new_content_follows_no_link_and_two_writers_do_not_meet(tmp_path: Path) -> None:
    """The names of unfinished files differ, though path and process are the same."""
    path, kept = tmp_path / "file.txt", tmp_path / "kept.txt"
    kept.write_text("mine")
    with atomic_write(path) as one, atomic_write(path) as two:
        first, second = (Path(file.name) for file in (one, two))
        assert first != second
        one.write("one")
        two.write("two")
    assert path.read_text() == "one"
    path.unlink()
    path.symlink_to(kept)
    with atomic_write(path) as file:
        file.write("new")
    assert not path.is_symlink() and kept.read_text() == "mine"


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


_WRITER = """
import sys, time
from pathlib import Path
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.signals import Signals
if "signals" in sys.argv:
    Signals().install()
with atomic_write(Path(sys.argv[1])) as file:
    file.write("half of the n")
    file.flush()
    print("ready", flush=True)
    time.sleep(30)
"""


def ended_writer(path: Path, signum: int, *words: str) -> int:
    command = [sys.executable, "-c", _WRITER, str(path), *words]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
        writer.send_signal(signum)
        return writer.wait(timeout=10)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_unfinished(signum: signal.Signals, tmp_path: Path) -> None:
    """A command ends without Python's own end, under which no `finally` is executed."""
    path = tmp_path / "file.txt"
    path.write_text("old")
    assert ended_writer(path, signum, "signals") == 128 + signum
    assert names(tmp_path) == ["file.txt"] and path.read_text() == "old"


def test_what_was_killed_an_hour_ago_is_removed_by_the_next_write(tmp_path: Path) -> None:
    path, other = tmp_path / "file.txt", tmp_path / ".other.txt.0123456789abcdef.tmp"
    assert ended_writer(path, signal.SIGKILL) == -signal.SIGKILL
    (left,) = names(tmp_path)
    other.touch()
    for seconds, stays in ((0, True), (3700, False)):
        for each in (tmp_path / left, other):
            os.utime(each, (time.time() - seconds,) * 2) if each.exists() else None
        with atomic_write(path) as file:
            file.write("new")
        assert ((tmp_path / left).exists(), other.exists()) == (stays, True)
    assert path.read_text() == "new"


@pytest.mark.parametrize("at", range(1, 4))
def test_of_several_files_all_are_replaced_or_none(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old")
    left, fsync = [at], os.fsync

    def full(number: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise OSError(28, "no space left on device")
        fsync(number)

    files = dict.fromkeys("abc", b"new")
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        says = re.escape(f"no space left on device: '{tmp_path / 'abc'[at - 1]}'")
        with pytest.raises(OSError, match=says):
            write_all(tmp_path, files)
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"
    write_all(tmp_path, files)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == dict.fromkeys(
        "abc", "new"
    )
