"""The folder of a run: its settings, its lock, its files, and where results are from."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import __version__
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import RunFolderError
from f3ast_tff.records import provenance as module
from f3ast_tff.records.provenance import provenance
from f3ast_tff.records.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[3]
IDENTITY = {"algorithm": "f3ast", "rounds": 10, "local_steps": None, "rate_beta": 0.001}


def finished(path: Path, **identity: Any) -> None:
    """Saves a folder with its settings, and with some that do not affect results."""
    folder = RunFolder(path, {**IDENTITY, **identity})
    now = {**IDENTITY, **identity}
    settings = {**now, "output_dir": "runs"}
    folder.write_json("config.json", {"settings": settings, "identity": now})
    folder.write_json("summary.json", {})
    folder.close()


def test_a_run_without_a_checkpoint_does_not_block_its_folder(tmp_path: Path) -> None:
    """It may have failed by a fault in a plug-in, which is then mended: another run."""
    finished(tmp_path)
    (tmp_path / "metrics.csv").write_text("round\n")
    for name in ("notes.txt", "masks.csv"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(RunFolderError, match="holds a run with other settings"):
        RunFolder(tmp_path, {**IDENTITY, "rounds": 20})
    (tmp_path / "summary.json").unlink()
    RunFolder(tmp_path, IDENTITY).close()
    assert (tmp_path / "metrics.csv").exists()
    RunFolder(tmp_path, {**IDENTITY, "rounds": 20}).close()
    assert {path.name for path in tmp_path.iterdir()} <= {"notes.txt", "masks.csv", ".lock"}


def test_same_settings_are_the_same_run(tmp_path: Path) -> None:
    def run_id(name: str, identity: dict[str, Any]) -> str:
        folder = RunFolder(tmp_path / "a" / name, identity)
        folder.close()
        assert folder.path == tmp_path / "a" / name
        return folder.run_id

    finished(tmp_path / "a" / "run")
    same = run_id("run", dict(reversed(IDENTITY.items())))
    assert same == run_id("b", IDENTITY) != run_id("c", {**IDENTITY, "rounds": 11})


@pytest.mark.parametrize(
    ("now", "says"),
    [
        ({**IDENTITY, "rounds": 20, "algorithm": "fedavg"}, "'f3ast', now 'fedavg'; rounds 10, "),
        ({**IDENTITY, "new_setting": 3}, "new_setting None, now 3"),
        ({k: v for k, v in IDENTITY.items() if k != "rounds"}, "rounds 10, now None"),
        ({"algorithm": "poc", "rounds": 10, "poc_candidates": 30}, r": algorithm .*'poc'\. Give"),
        ({**IDENTITY, "plugins": {"mine": "bb"}}, "a plug-in in use is another"),
    ],
)
def test_other_settings_are_refused_saying_what_differs(
    now: dict[str, Any], says: str, tmp_path: Path
) -> None:
    """Settings that another component adds are not listed."""
    finished(tmp_path / "run", **({"plugins": {"mine": "aa"}} if "plugins" in now else {}))
    with pytest.raises(RunFolderError, match=f"{tmp_path}/run holds .*{says}"):
        RunFolder(tmp_path / "run", now)


def test_a_refused_folder_can_be_opened_by_its_owner(tmp_path: Path) -> None:
    """The refusal releases the lock at once, without garbage collection."""
    finished(tmp_path / "run")
    with pytest.raises(RunFolderError) as caught:
        RunFolder(tmp_path / "run", {**IDENTITY, "rounds": 20})
    RunFolder(tmp_path / "run", IDENTITY).close()
    del caught


DEEP = '{"a":' * 10**5 + "1" + "}" * 10**5


OTHERS: list[tuple[str, str, str]] = [
    # A new run would write its own masks under the name of those that it may read.
    ("masks.npy", "mine", r"masks.npy would be overwritten .*: move it"),
    (
        "config.json",
        json.dumps({"settings": IDENTITY}),
        r"config\.json is of a run .* by an older version",
    ),
    (
        "config.json",
        json.dumps({"settings": {**IDENTITY, "rounds": 11}, "identity": IDENTITY}),
        r"config\.json is damaged: rounds is 11 in its settings, 10 in its identity",
    ),
    ("config.json", '{"settings": {"logger": 3}}', r"config\.json"),
    ("config.json", '{"settings": 3}', r"config\.json"),
    *[("config.json", text, r"config\.json") for text in ("{", "{}", "[]", "null", DEEP, "\x00")],
]


@pytest.mark.parametrize(("name", "content", "says"), OTHERS, ids=lambda part: part[:20])
def test_a_folder_with_something_else_is_refused(
    name: str, content: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(RunFolderError, match=says):
        RunFolder(tmp_path, IDENTITY)
    assert (tmp_path / name).read_text() == content


@pytest.mark.parametrize("below", ["file/run", "file"])
def test_a_file_in_the_way_is_said(below: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RunFolderError, match=f"cannot write to .*{below}: "):
        RunFolder(tmp_path / below, IDENTITY)
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_second_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    opening = (
        "import sys; from pathlib import Path; from f3ast_tff.core.errors import RunFolderError\n"
        "from f3ast_tff.records.run_folder import RunFolder\n"
        "try:\n    RunFolder(Path(sys.argv[1]), {}).close(); print('opened')\n"
        "except RunFolderError as error:\n    print(error)\n"
    )

    def second() -> str:
        command = [sys.executable, "-c", opening, str(tmp_path / "run")]
        return subprocess.run(
            command, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()

    folder = RunFolder(tmp_path / "run", {})
    assert second() == f"{tmp_path / 'run'} is in use by another process"
    folder.close()
    folder.close()
    assert second() == "opened"


def test_a_killed_process_gives_the_lock_back(tmp_path: Path) -> None:
    holding = (
        "import sys, time; from pathlib import Path\n"
        "from f3ast_tff.records.run_folder import RunFolder\n"
        "folder = RunFolder(Path(sys.argv[1]), {}); print('held', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", holding, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with pytest.raises(RunFolderError, match="is in use by another process"):
            RunFolder(tmp_path, {})
        process.kill()
        process.wait(timeout=10)
    RunFolder(tmp_path, {}).close()


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, {})
    folder.write_json(
        "x.json", {"a": math.nan, "b": [math.inf, 1.5, {"c": -math.inf}], "d": (2, "nan", None)}
    )
    content = folder.file("x.json").read_text()
    assert json.loads(content, parse_constant=pytest.fail) == {
        "a": None,
        "b": [None, 1.5, {"c": None}],
        "d": [2, "nan", None],
    }
    assert folder.config() is None
    folder.close()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, ": it is not a regular file"),
        (os.mkdir, ": it is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), " is a link to /dev/zero: remove it"),
    ],
)
def test_what_is_no_file_is_refused_in_one_line(
    make: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Opening a pipe without a reader would wait for ever."""
    log = tmp_path / "run" / "run.log"
    log.parent.mkdir()
    make(log)  # type: ignore[operator]
    words = ["--rounds=1", "--num_clients=10", "--clients_per_round=2", f"--output_dir={tmp_path}"]
    assert main(["f3ast-tff", "run", *words, "--run_name=run"]) == 2
    assert capsys.readouterr().err == f"error: {log}{said}\n"
    assert log.exists()


@pytest.mark.parametrize("name", ["run.log", "checkpoints", "client_scores", ".lock"])
def test_a_folder_with_a_link_is_refused_before_anything_is_written(
    name: str, tmp_path: Path
) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    if "." in name:
        elsewhere.write_text("mine")
    else:
        elsewhere.mkdir()
        (elsewhere / "round_1.npz").write_text("mine")
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(RunFolderError, match=f"{name} is a link to .*elsewhere: remove it"):
        RunFolder(folder, {})
    file = elsewhere if elsewhere.is_file() else elsewhere / "round_1.npz"
    assert file.read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.fixture
def asked_anew() -> Iterator[None]:
    """The commit is asked for once per process."""
    module._commit.cache_clear()
    yield
    module._commit.cache_clear()


anew = pytest.mark.usefixtures("asked_anew")


@anew
def test_versions_are_those_in_use() -> None:
    got = provenance()
    assert got["python"] == platform.python_version()
    assert got["packages"]["f3ast-tff"] == __version__
    assert got["packages"]["numpy"] == np.__version__
    assert json.loads(json.dumps(got)) == got


@anew
def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    got = provenance()
    assert got["git_commit"] is None
    assert got["git_modified"] is False


@anew
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
