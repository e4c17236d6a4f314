"""One experiment from its settings, on an engine that needs no framework."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.command_line import run as main
from f3ast_tff.components.registry import builtin_registry
from f3ast_tff.engines import ClientScores
from f3ast_tff.engines.components import FusedConfig
from f3ast_tff.errors import EngineError
from f3ast_tff.training.run_folder import RunFolder, lock_folder
from tests.fake_engine import FakeEngine

Run = Callable[..., int]


class DivergedEngine(FakeEngine):
    """Its losses are no numbers."""

    def evaluate(self) -> ClientScores:
        return ClientScores(np.array([np.nan]), np.array([1.0]), np.array([2.0]))


class LostEngine(FakeEngine):
    """Its worker has died."""

    def run_rounds(self, first_round: int, cohorts: Any, by_client: bool = False) -> Any:
        if first_round > 4:
            raise EngineError("the worker is gone; see its log")
        return super().run_rounds(first_round, cohorts)


class InterruptedEngine(FakeEngine):
    """Meets Ctrl-C."""

    def run_rounds(self, first_round: int, cohorts: Any, by_client: bool = False) -> Any:
        raise KeyboardInterrupt


@pytest.fixture
def engines() -> list[FakeEngine]:
    """Engines made so far."""
    return []


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engines: list[FakeEngine]
) -> Iterator[Run]:
    """Runs six rounds of eight clients in `tmp_path/x`."""
    handler, environment = signal.getsignal(signal.SIGTERM), dict(os.environ)

    def run(engine: type[FakeEngine] = FakeEngine, **given: Any) -> int:
        def make(self: FusedConfig, parts: Any) -> FakeEngine:
            engines.append(engine(parts.data.train.num_clients))
            return engines[-1]

        monkeypatch.setattr(FusedConfig, "build", make)
        monkeypatch.setattr(FusedConfig, "check_installed", lambda self: None)
        small = {"num_clients": 8, "clients_per_round": 3, "rounds": 6, "eval_every": 2}
        where = {"output_dir": str(tmp_path), "run_name": "x", "checkpoint_every": 2}
        return main.run({**small, **where, **given}, builtin_registry())

    yield run
    signal.signal(signal.SIGTERM, handler)
    os.environ.clear()
    os.environ.update(environment)


def test_a_run_leaves_all_its_files(
    run: Run, engines: list[FakeEngine], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(rate_beta=0.01) == 0
    folder = tmp_path / "x"
    assert {path.name for path in folder.iterdir() if "tfevents" not in path.name} == {
        ".lock",
        "checkpoints",
        "config.json",
        "metrics.csv",
        "selection.npz",
        "summary.json",
    }
    config = json.loads((folder / "config.json").read_text())
    assert config["settings"]["rate_beta"] == 0.01
    assert config["settings"]["batch_size"] == 20
    assert config["packages"]["numpy"] == np.__version__
    assert engines[0].closed
    out, err = capsys.readouterr()
    assert out.startswith(f"{folder} finished: round 6, sample accuracy 0.")
    assert len(out.splitlines()) == 1
    assert [line.split(",")[0] for line in err.splitlines()] == [
        f"x: round {t}/6" for t in (2, 4, 6)
    ]


def test_a_finished_run_is_not_repeated(
    run: Run, engines: list[FakeEngine], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    first = capsys.readouterr().out
    assert run(checkpoint_every=1) == 0
    again = capsys.readouterr()
    assert again.out == first.replace(" finished", " already finished")
    assert again.err == ""
    assert len(engines) == 1


def test_a_diverged_run_is_reported_like_any_other(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """`summary.json` holds null for NaN; the second report comes from it."""
    assert run(DivergedEngine) == 0
    assert "sample loss nan" in capsys.readouterr().out
    assert run(DivergedEngine) == 0
    assert "sample loss nan" in capsys.readouterr().out


def test_other_settings_are_refused(
    run: Run, engines: list[FakeEngine], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    capsys.readouterr()
    assert run(rounds=7, seed=1) == 2
    out, err = capsys.readouterr()
    assert "rounds 6, now 7; seed 0, now 1" in err
    assert (out, len(err.splitlines()), len(engines)) == ("", 1, 1)


def test_a_run_in_use_is_refused(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path / "x", {})
    assert run() == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'x'} is in use by another process\n"
    folder.close()
    assert run() == 0


def test_a_lost_engine_is_one_line_and_the_run_goes_on_later(
    run: Run, engines: list[FakeEngine], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(LostEngine) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "error: the worker is gone; see its log"
    assert engines[0].closed
    assert not (tmp_path / "x" / "summary.json").exists()
    assert run() == 0
    assert engines[1].blocks[0][0] == 5
    assert "resuming from round 5" in capsys.readouterr().err


def test_ctrl_c_is_said_in_one_line(
    run: Run, engines: list[FakeEngine], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(InterruptedEngine) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert engines[0].closed


def test_checkpoints_that_are_all_damaged_are_named(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(LostEngine) == 1
    paths = list((tmp_path / "x" / "checkpoints").iterdir())
    for path in paths:
        path.write_bytes(b"")
    capsys.readouterr()
    assert run() == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ")
    assert all(str(path) in last for path in paths)
    assert len(paths) == 2


def test_running_out_of_disk_or_any_other_failure_gives_the_folder_back(
    run: Run, engines: list[FakeEngine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "evaluate", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run()
    assert engines[0].closed
    lock_folder(tmp_path / "x").release()
