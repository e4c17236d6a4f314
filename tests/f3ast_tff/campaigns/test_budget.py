"""Campaigns with a limit in minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.campaigns import budget, command
from f3ast_tff.campaigns.budget import Budget
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.signals import NeverStop
from f3ast_tff.settings.resolve import resolve
from tests.commands import Cli
from tests.f3ast_tff.campaigns.campaigns import SMALL, manifest

RUN = PlannedRun("a", resolve({}))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds; tests change it."""
    time = [1000.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: time[0])
    return time


def test_no_run_starts_that_reaches_no_checkpoint(clock: list[float]) -> None:
    limit = Budget(2.0, NeverStop())
    clock[0] += 90
    assert limit.allows(RUN)
    clock[0] += 1
    assert not limit.allows(RUN) and not limit.requested()
    clock[0] += 29
    assert limit.requested()


def test_a_time_in_which_no_run_starts_is_refused(clock: list[float]) -> None:
    """Each call would end with `call again` and without progress."""
    limit = Budget(1.0, NeverStop())
    limit.refuse_too_short()
    # The limit includes start-up, which each call has, but no fetching of data.
    clock[0] += 37
    with pytest.raises(ParameterError, match=r"minutes = 1\.0: must be at least 1\.2: "):
        limit.refuse_too_short()
    limit.refuse_too_short(once=37)
    short = Budget(0.1, NeverStop())
    clock[0] += 4
    with pytest.raises(ParameterError, match=r"minutes = 0\.1: must be at least 0\.6: "):
        short.refuse_too_short()
    Budget(None, NeverStop()).refuse_too_short()


def test_a_campaign_that_would_never_go_on_says_so(
    write_grid: Callable[..., Path], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run starts and has no checkpoint when the time is over."""

    def too_slow(runs: list[PlannedRun], workers: object, watcher: command.Watch, **_: object):
        watcher.started(runs[0], "process 1")

    monkeypatch.setattr(command, "execute_all", too_slow)
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--minutes=5"]
    last = cli.err(*arguments).splitlines()[-1]
    assert last == (
        "error: --minutes=5.0: must be longer: no run has reached a checkpoint in this time"
    )


def test_without_minutes_there_is_no_end(clock: list[float]) -> None:
    limit = Budget(None, NeverStop())
    clock[0] += 1e9
    assert limit.allows(RUN) and not limit.requested()


def test_a_campaign_says_what_is_left(
    write_grid: Callable[..., Path], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Budget, "allows", lambda self, run: False)
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--minutes=5"]
    printed = cli.said(main(["f3ast-tff", *arguments]), 75).out
    assert "4 runs left, 0 of them begun, 48 rounds: the same command" in printed
    assert {entry["state"] for entry in manifest(tmp_path / "mine").values()} == {"waiting"}


@pytest.mark.slow
def test_running_runs_end_with_a_checkpoint_and_go_on(
    write_grid: Callable[..., Path], tmp_path: Path, cli: Cli
) -> None:
    grid = write_grid(SMALL)
    arguments = [f"--campaign={grid}", f"--output_dir={tmp_path}", "--processes=1", "--seed=0"]
    long = ["--rounds=1000000", "--eval_every=1000"]
    printed = cli.said(main(["f3ast-tff", *arguments, *long, "--minutes=0.3"]), 75).out
    assert "2 runs left, 1 of them begun" in printed
    entries = manifest(tmp_path / "mine")
    assert entries["fedavg-seed0"]["state"] == "interrupted"
    assert entries["f3ast-seed0"]["state"] == "waiting"
    assert list((tmp_path / "mine/runs/fedavg-seed0/checkpoints").glob("round_*.npz"))
