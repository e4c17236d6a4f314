"""Damaged run folders: continued to the same results, or refused; reported without a traceback."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import note

from f3ast_tff.analysis.report import render
from f3ast_tff.cli.main import main
from tests.f3ast_tff.run.small_run import assert_same_rounds
from tests.fake_engine import use_fake_engine
from tests.fuzz.generate import DAMAGES, try_cases

pytestmark = pytest.mark.slow
_FLAGS = (
    "--rounds=6 --num_clients=8 --clients_per_round=3 --eval_every=2 --checkpoint_every=2"
    " --run_name=run"
)
_RUNS = (("f3ast", "scarce"), ("fedavg", "uneven"), ("f3ast", "home_devices"))


@pytest.fixture
def good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[Path]:
    """Undamaged runs, on an engine without a framework."""
    use_fake_engine(monkeypatch)
    for i, which in enumerate(_RUNS):
        assert run(tmp_path / f"good{i}", *which) == 0
    capsys.readouterr()
    return [tmp_path / f"good{i}" / "run" for i in range(len(_RUNS))]


def run(folder: Path, algorithm: str, availability: str) -> int:
    of_run = (f"--algorithm={algorithm}", f"--availability={availability}")
    return main(["f3ast-tff", "run", *_FLAGS.split(), *of_run, f"--output_dir={folder}"])


def damage(folder: Path, rng: random.Random) -> None:
    """Damages one to three files of a run folder."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
        kept = [p for p in files if p.name != ".lock"]
        if not kept:
            break
        path, kind = rng.choice(kept), rng.choice(sorted(DAMAGES))
        DAMAGES[kind](path, rng)
        note(f"{kind} {path.relative_to(folder)}")


def test_resumed(good: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 means the results of an undamaged run; exit code 2 comes with one error line."""
    codes, folder = Counter[int](), tmp_path / "bad"

    def check(rng: random.Random) -> None:
        i = rng.randrange(len(_RUNS))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good[i], folder / "run")
        damage(folder / "run", rng)
        code = run(folder, *_RUNS[i])
        out, err = capsys.readouterr()
        assert code in (0, 2), err
        assert "Traceback" not in out + err
        errors = [line for line in err.splitlines() if line.startswith("error: ")]
        assert len(errors) == (code != 0), err
        if code == 0:
            assert_same_rounds(folder / "run", good[i])
        codes[code] += 1

    try_cases(check, 1000)
    print(codes)
    assert {0, 2} <= codes.keys()


@pytest.mark.parametrize(("drawn", "number"), [(False, 1000), (True, 40)])
def test_reported(
    drawn: bool,
    number: int,
    good: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A report succeeds beside a damaged run; a comparison succeeds or ends in one error line."""
    folder = tmp_path / "runs"
    if not drawn:
        monkeypatch.setattr(render, "drawn", lambda picture, kind: b"<svg/>")

    def check(rng: random.Random) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good[0].parent, folder / "good")
        shutil.copytree(rng.choice(good), folder / "bad")
        damage(folder / "bad", rng)
        code = main(["f3ast-tff", "report", f"--runs={folder}", f"--out={folder}/out"])
        assert (code, *capsys.readouterr()[1:]) == (0, "")
        if drawn:
            code = main(["f3ast-tff", "compare", f"--runs={folder}", f"--out={folder}/x.png"])
            out, err = capsys.readouterr()
            errors = [line for line in err.splitlines() if not line.startswith("left out: ")]
            assert code in (0, 2) and len(errors) == (code == 2), err
            assert "Traceback" not in out + err

    try_cases(check, number)
