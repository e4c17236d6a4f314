"""Campaigns with a limit in minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.campaigns import estimate
from f3ast_tff.campaigns.costs import CostFile, DataShape, StepCost
from f3ast_tff.campaigns.estimate import Budget
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.signals import NeverStop
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.campaigns.campaigns import SMALL, manifest


def steps(compiling: float) -> StepCost:
    """Costs of runs with rounds of 10 s, in processes that start within 20 s."""
    return StepCost(
        process_seconds=20.0,
        first_seconds=compiling,
        start_seconds=0.0,
        round_seconds=10.0,
        step_seconds=0.0,
        example_seconds=0.0,
        memory_mib=100.0,
        num_weights=1,
        state_bytes=1,
        shape=DataShape((60,), "float32", (), 10, 100, (20,), 500),
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """The time in seconds; tests change it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    time = [1000.0]
    monkeypatch.setattr(estimate.time, "monotonic", lambda: time[0])
    return time


def test_no_run_starts_that_reaches_no_checkpoint(clock: list[float]) -> None:
    measured = PlannedRun("a", resolve({}))
    unknown = PlannedRun("b", resolve({"batch_size": 5}))
    # 60 s to the first checkpoint.
    CostFile().add(measured, steps(compiling=30.0))
    limit = Budget(2.0, NeverStop())
    assert limit.allows(measured) and limit.allows(unknown)
    clock[0] += 61
    assert not limit.allows(measured) and limit.allows(unknown)
    clock[0] += 30
    assert not limit.allows(unknown) and not limit.requested()
    clock[0] += 29
    assert limit.requested()


def test_a_time_in_which_no_run_starts_is_refused(clock: list[float]) -> None:
    """Each call would end with `call again` and without progress."""
    quick, slow = (PlannedRun("a", resolve({"batch_size": size})) for size in (5, 20))
    for run, compiling in ((quick, 30.0), (slow, 90.0)):
        CostFile().add(run, steps(compiling))
    limit = Budget(1.0, NeverStop())
    limit.refuse_too_short([slow, quick])
    says = "minutes = 1.0: must be at least 2.1: no run would reach a checkpoint before"
    with pytest.raises(ParameterError) as error:
        limit.refuse_too_short([slow])
    assert str(error.value) == says
    Budget(2.1, NeverStop()).refuse_too_short([slow])
    # The limit includes start-up, which each call has, but no fetching of data.
    clock[0] += 7
    with pytest.raises(ParameterError, match=r"at least 1\.2: "):
        limit.refuse_too_short([quick])
    limit.refuse_too_short([quick], once=7)
    unknown = PlannedRun("b", resolve({"batch_size": 7}))
    limit.refuse_too_short([slow, unknown])
    short = Budget(0.1, NeverStop())
    clock[0] += 4
    with pytest.raises(ParameterError, match=r"minutes = 0\.1: must be at least 0\.6: "):
        short.refuse_too_short([unknown])
    Budget(None, NeverStop()).refuse_too_short([slow])


def test_a_campaign_that_would_never_go_on_says_how_many_minutes_it_needs(
    write_grid: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CostFile, "find", lambda self, run: steps(compiling=300.0))
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--minutes=5"]
    assert main(["f3ast-tff", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: --minutes=5.0: must be at least 5.")
    assert not (tmp_path / "mine/runs").exists()


def test_without_minutes_there_is_no_end(clock: list[float]) -> None:
    limit = Budget(None, NeverStop())
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
    arguments = [f"--campaign={grid}", f"--output_dir={tmp_path}", "--processes=1", "--seed=0"]
    long = ["--rounds=1000000", "--eval_every=1000"]
    assert main(["f3ast-tff", *arguments, *long, "--minutes=0.3"]) == 75
    assert "2 runs left, 1 of them begun" in capsys.readouterr().out
    entries = manifest(tmp_path / "mine")
    assert entries["fedavg-seed0"]["state"] == "interrupted"
    assert entries["f3ast-seed0"]["state"] == "waiting"
    assert list((tmp_path / "mine/runs/fedavg-seed0/checkpoints").glob("round_*.npz"))
