from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.command_line.compare import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*args: object) -> tuple[int, str, str]:
        code = main(["compare", *map(str, args)])
        return (code, *capsys.readouterr())

    return call


def test_table_then_curves(
    make_run: Callable[..., Path], compare: Callable[..., tuple[int, str, str]], tmp_path: Path
):
    make_run("a", algorithm="fedavg")
    unfinished = make_run("b", unfinished=True)
    out = tmp_path / "out.PNG"
    code, stdout, stderr = compare("--runs", tmp_path / "runs", "--out", out)
    assert (code, stderr) == (0, "")
    lines = stdout.splitlines()
    assert lines[0] == f"unfinished, left out: {unfinished}"
    assert any(line.split()[:3] == ["FedAvg", "1", "0.5000"] for line in lines)
    assert lines[-1] == f"curves: {out}"
    assert out.stat().st_size > 10_000


def assert_refused(result: tuple[int, str, str], says: str) -> None:
    code, _, stderr = result
    assert code == 2
    assert stderr.startswith("error: ")
    assert stderr.count("\n") == 1
    assert says in stderr


def test_bad_command_lines(compare: Callable[..., tuple[int, str, str]]):
    assert_refused(compare(), "--runs and --out must be given")
    assert_refused(compare("--runs=x"), "--out must be given")
    assert_refused(compare("--runs=x", "--out=x.png", "--colour=red"), "colour")
    assert_refused(compare("--runs=x", "--out=x.png", "rest"), "'rest' is not a flag")
    assert_refused(compare("--runs"), "runs")


def test_bad_input(
    make_run: Callable[..., Path], compare: Callable[..., tuple[int, str, str]], tmp_path: Path
):
    out = tmp_path / "out.png"
    assert_refused(compare(f"--runs={tmp_path}", f"--out={out}"), "config.json")
    assert_refused(compare(f"--runs={tmp_path}/no", f"--out={out}"), "is not a folder")
    folder = make_run("a", unfinished=True)
    assert_refused(compare(f"--runs={tmp_path}", f"--out={out}"), "no finished run")
    (folder / "config.json").write_text("{")
    assert_refused(compare(f"--runs={tmp_path}", f"--out={out}"), f"{folder}/config.json")
    assert not out.exists()


def test_an_out_that_cannot_be_written(
    make_run: Callable[..., Path], compare: Callable[..., tuple[int, str, str]], tmp_path: Path
):
    runs = make_run("a")
    for name in ("out.pdf", "out", ""):
        assert_refused(compare(f"--runs={runs}", f"--out={tmp_path / name}"), "must end in .png")
    (tmp_path / "folder.png").mkdir()
    for name in ("folder.png", "no/out.png"):
        out = tmp_path / name
        assert_refused(compare(f"--runs={runs}", f"--out={out}"), f"--out={out}: cannot write")
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "folder.png"}


def test_a_home_folder_is_expanded(
    make_run: Callable[..., Path],
    compare: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    make_run("a")
    monkeypatch.setenv("HOME", str(tmp_path))
    code, stdout, _ = compare("--runs=~/runs", "--out=~/out.png")
    assert (code, stdout.splitlines()[-1]) == (0, f"curves: {tmp_path / 'out.png'}")
    assert (tmp_path / "out.png").exists()


def test_help(compare: Callable[..., tuple[int, str, str]]):
    code, stdout, _ = compare("--help")
    assert code == 0
    assert "--runs" in stdout
    assert "--out" in stdout


def test_as_a_module_without_a_display(make_run: Callable[..., Path], tmp_path: Path):
    runs, out = make_run("a"), tmp_path / "out.png"
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    command = [sys.executable, "-m", "f3ast_tff.command_line.main", "compare"]
    command += [f"--runs={runs}", f"--out={out}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"curves: {out}\n")
