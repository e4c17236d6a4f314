"""Damaged run folders: continued to the same results, or refused; reported without a traceback."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.analysis.report import render
from f3ast_tff.cli.main import main
from tests.f3ast_tff.run.small_run import assert_same_rounds
from tests.fake_engine import use_fake_engine
from tests.fuzz.generate import DAMAGES, Failures, cases

pytestmark = pytest.mark.slow
_FLAGS = (
    "--rounds=6",
    "--num_clients=8",
    "--clients_per_round=3",
    "--eval_every=2",
    "--checkpoint_every=2",
    "--run_name=run",
)
_RUNS = (("f3ast", "scarce"), ("fedavg", "uneven"), ("f3ast", "home_devices"))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine without a framework."""
    use_fake_engine(monkeypatch)


def run(folder: Path, algorithm: str, availability: str) -> int:
    of_run = (f"--algorithm={algorithm}", f"--availability={availability}")
    return main(["f3ast-tff", "run", *_FLAGS, *of_run, f"--output_dir={folder}"])


def damaged(original: Path, folder: Path, rng: Any) -> list[str]:
    """Copies a run folder, damages one to three of its files, and returns the list of damages."""
    shutil.copytree(original, folder)
    done = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
        kept = [p for p in files if p.name != ".lock"]
        if not kept:
            break
        path = rng.choice(kept)
        kind = rng.choice(sorted(DAMAGES))
        DAMAGES[kind](path, rng)
        done.append(f"{kind} {path.relative_to(folder)}")
    return done


@pytest.mark.usefixtures("engine")
def test_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 means the results of an undamaged run; exit code 2 comes with one error line."""
    for i, which in enumerate(_RUNS):
        assert run(tmp_path / f"good{i}", *which) == 0
    capsys.readouterr()
    codes: dict[int, int] = {}
    failures = Failures()
    for number, rng in cases("resumed", 1000):
        i = rng.randrange(len(_RUNS))
        good, folder = tmp_path / f"good{i}" / "run", tmp_path / f"bad{number}"
        done = damaged(good, folder / "run", rng)
        with failures.case(number, done):
            code = run(folder, *_RUNS[i])
            out, err = capsys.readouterr()
            assert code in (0, 2), err
            assert "Traceback" not in out + err
            errors = [line for line in err.splitlines() if line.startswith("error: ")]
            assert len(errors) == (code != 0), err
            if code == 0:
                assert_same_rounds(folder / "run", good)
            codes[code] = codes.get(code, 0) + 1
        shutil.rmtree(folder)
    print(codes)
    failures.check()
    assert {0, 2} <= codes.keys()


@pytest.mark.usefixtures("engine")
def test_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report succeeds beside a damaged run; a comparison succeeds or ends in one error line."""
    for i, which in enumerate(_RUNS):
        assert run(tmp_path / f"good{i}", *which) == 0
    capsys.readouterr()
    codes: dict[str, int] = {}
    failures = Failures()
    for number, rng in cases("reported", 1000):
        folder = tmp_path / f"runs{number}"
        shutil.copytree(tmp_path / "good0", folder / "good")
        done = damaged(tmp_path / f"good{rng.randrange(len(_RUNS))}" / "run", folder / "bad", rng)
        with failures.case(number, done):
            if number % 25:
                with monkeypatch.context() as patched:
                    patched.setattr(render, "drawn", lambda picture, kind: b"<svg/>")
                    code = main(["f3ast-tff", "report", f"--runs={folder}", f"--out={folder}/out"])
            else:
                code = main(["f3ast-tff", "report", f"--runs={folder}", f"--out={folder}/out"])
            out, err = capsys.readouterr()
            assert (code, err) == (0, ""), err
            compared = 0
            if number % 25 == 0:
                words = [f"--runs={folder}", f"--out={folder}/x.png"]
                compared = main(["f3ast-tff", "compare", *words])
                out, err = capsys.readouterr()
                errors = [line for line in err.splitlines() if not line.startswith("left out: ")]
                assert compared in (0, 2) and len(errors) == (compared == 2), err
            assert "Traceback" not in out + err
            key = f"report {code}, compare {compared}" if number % 25 == 0 else f"report {code}"
            codes[key] = codes.get(key, 0) + 1
        shutil.rmtree(folder)
    print(codes)
    failures.check()
