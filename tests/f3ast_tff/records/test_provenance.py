"""The origin of a result."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff import __version__
from f3ast_tff.records import provenance as module
from f3ast_tff.records.provenance import provenance


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    """The commit is asked for once per process."""
    module._commit.cache_clear()
    yield
    module._commit.cache_clear()


def test_versions_are_those_in_use() -> None:
    got = provenance()
    assert got["python"] == platform.python_version()
    assert got["packages"]["f3ast-tff"] == __version__
    assert got["packages"]["numpy"] == np.__version__
    assert json.loads(json.dumps(got)) == got


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    got = provenance()
    assert got["git_commit"] is None
    assert got["git_modified"] is False


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_another_projects_commit_is_not_this_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    installed = tmp_path / ".venv" / "provenance.py"
    installed.parent.mkdir()
    installed.touch()
    (tmp_path / "theirs.py").touch()
    git("init")
    git("add", "theirs.py")
    git("commit", "-m", "theirs")
    monkeypatch.setattr(module, "__file__", str(installed))
    assert provenance()["git_commit"] is None
    git("add", ".")
    git("commit", "-m", "ours")
    module._commit.cache_clear()
    assert len(provenance()["git_commit"]) == 40
