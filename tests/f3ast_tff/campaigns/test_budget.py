"""Campaigns that have a number of minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.campaigns import budget
from f3ast_tff.campaigns.budget import Budget
from f3ast_tff.campaigns.costs import Cost, CostFile
from f3ast_tff.campaigns.kinds import kind_of
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.command_line.main import main
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.training.stopping import NeverStop
from tests.f3ast_tff.campaigns.campaigns import SMALL, manifest


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """The time, in seconds, to be changed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    time = [1000.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: time[0])
    return time


def test_no_run_starts_that_reaches_no_checkpoint(clock: list[float]) -> None:
    measured = PlannedRun("a", resolve({}))
    unknown = PlannedRun("b", resolve({"batch_size": 5}))
    # 60 s to the first checkpoint.
    cost = Cost(20.0, 30.0, 1.0, 10.0, 2.0, 100.0, (1.0, 0.0), (1.0, 0.0))
    CostFile().add(kind_of(measured), 2, cost)
    limit = Budget(2.0, 2, NeverStop())
    assert limit.allows(measured) and limit.allows(unknown)
    clock[0] += 61
    assert not limit.allows(measured) and limit.allows(unknown)
    clock[0] += 30
    assert not limit.allows(unknown) and not limit.requested()
    clock[0] += 29
    assert limit.requested()


def test_without_minutes_there_is_no_end(clock: list[float]) -> None:
    limit = Budget(None, 2, NeverStop())
    clock[0] += 1e9
    assert limit.allows(PlannedRun("a", resolve({}))) and not limit.requested()


def test_a_campaign_says_what_is_left(
    write_grid: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Budget, "allows", lambda self, run: False)
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--minutes=5"]
    assert main(["f3ast-tff", *arguments]) == 75
    assert "4 runs left, 0 of them begun, 48 rounds: the same command" in capsys.readouterr().out
    assert {entry["state"] for entry in manifest(tmp_path / "mine").values()} == {"waiting"}


@pytest.mark.slow
def test_running_runs_end_with_a_checkpoint_and_go_on(
    write_grid: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = write_grid(SMALL)
    arguments = [f"--campaign={grid}", f"--output_dir={tmp_path}", "--processes=1", "--seeds=0"]
    long = ["--rounds=1000000", "--eval_every=1000"]
    assert main(["f3ast-tff", *arguments, *long, "--minutes=0.3"]) == 75
    assert "2 runs left, 1 of them begun" in capsys.readouterr().out
    entries = manifest(tmp_path / "mine")
    assert entries["fedavg-seed0"]["state"] == "interrupted"
    assert entries["f3ast-seed0"]["state"] == "waiting"
    assert list((tmp_path / "mine/runs/fedavg-seed0/checkpoints").glob("round_*.npz"))
