"""What a campaign costs: estimates from short runs of each line, and a limit in minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns import budget, command, estimate
from f3ast_tff.campaigns.budget import Budget
from f3ast_tff.campaigns.estimate import Cost, campaign_seconds, measure, shard_seconds
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.signals import NeverStop
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.resolve import resolve
from tests.commands import Cli
from tests.f3ast_tff.campaigns.campaigns import SMALL, manifest

# Process 3 s, first run of a line 5 s, later runs 1 s, round 0.5 s, evaluation 2 s.
COST = Cost(4.0, 1.0, 0.5, 2.0, 3.0, 100.0, (2.0**20, 2048.0), (10.0, 100.0))


def planned(tmp_path: Path, *names: str, **given: Any) -> list[PlannedRun]:
    where = {"rounds": 10, "eval_every": 4, "output_dir": str(tmp_path), **given}
    return [PlannedRun(name, resolve({**where, "run_name": name})) for name in names]


def test_a_run_costs_its_rounds_and_evaluations(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, "a")
    # Rounds 4, 8 and 10 are evaluated.
    assert COST.seconds(run) == 1 + 10 * 0.5 + 3 * 2
    assert COST.disk(run, checkpoints=2) == 2 * (2**20 + 8 * 10) + 2048 + 8 * 100
    checkpoints = tmp_path / "a" / "checkpoints"
    checkpoints.mkdir(parents=True)
    (checkpoints / "round_00000005.npz").touch()
    assert COST.seconds(run) == 1 + 5 * 0.5 + 2 * 2


def test_processes_share_the_runs_and_start_once(tmp_path: Path) -> None:
    runs = planned(tmp_path, *"abc")
    costs = {run.line: COST for run in runs}
    one = 3 + (5 + 11) + (1 + 11) + (1 + 11)
    assert campaign_seconds(runs, costs, 1) == [one]
    assert campaign_seconds(runs, costs, 2) == [3 + (5 + 11) + (1 + 11), 3 + (5 + 11)]
    assert campaign_seconds(runs, costs, 5) == [3 + 5 + 11] * 3 + [0, 0]
    begun = tmp_path / "a" / "checkpoints"
    begun.mkdir(parents=True)
    (begun / "round_00000008.npz").touch()
    # The first run has two rounds and one evaluation left.
    assert campaign_seconds(runs, costs, 1) == [one - 8 * 0.5 - 2 * 2]


def test_another_line_starts_anew(tmp_path: Path) -> None:
    runs = [*planned(tmp_path, "a"), *planned(tmp_path, "b", batch_size=5)]
    costs = {run.line: COST for run in runs}
    assert campaign_seconds(runs, costs, 1) == [3 + 2 * (5 + 11)]


def test_the_longest_shard_is_said_where_each_process_has_a_run(tmp_path: Path) -> None:
    """Of 10 runs, 5 shards have 2 each, one per process; 10 shards of 2 processes are too many."""
    runs = planned(tmp_path, *"abcdefghij")
    assert shard_seconds(runs, {runs[0].line: COST}, 2) == {5: 3 + 5 + 11}
    # Processes one by one: 2 runs in each of 5 shards, 1 in each of 10.
    assert shard_seconds(runs, {runs[0].line: COST}, 1) == {5: 3 + 5 + 11 + 12, 10: 3 + 5 + 11}


@pytest.mark.long
@pytest.mark.parametrize("given", [{}, {"client_scores": True, "write_masks": "csv"}])
def test_a_finished_run_takes_about_the_disk_that_was_said(
    given: dict[str, Any], tmp_path: Path
) -> None:
    (run,) = planned(tmp_path, "a", **{**given, "rounds": 300, "eval_every": 10})
    run_experiment(run.configuration, run.configuration.folder)
    files = [path for path in (tmp_path / "a").rglob("*") if path.is_file()]
    held = sum(path.stat().st_size for path in files)
    cost, seconds = measure(run.order, share=1.0, folder=str(tmp_path))
    assert held / 1.5 <= cost.disk(run, checkpoints=1) <= 1.5 * held
    assert 0 < cost.round < 0.5 and 0 < cost.evaluation < 0.5 and cost.evaluation < seconds < 60
    assert cost.memory_mib > 100 and cost.bytes[0] > 1000


def test_an_estimate_leaves_out_and_names_what_has_no_data(
    write_grid: Callable[..., Path], tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names all missing files at once, and leaves the data folder alone."""
    monkeypatch.setattr(estimate, "_in_processes", lambda orders, *_: dict.fromkeys(orders, COST))
    grid = 'grid = {task = ["cifar100", "mnist", "synthetic"]}\n'
    place = tmp_path / "nothing"
    given = [f"--campaign={write_grid(grid)}", f"--output_dir={tmp_path}", f"--data_dir={place}"]
    out = cli.out(*given, "--estimate")
    assert "1 runs left, " in out
    assert "not estimated: 2 runs of cifar100, mnist." in out
    for name in ("cifar-100-python.tar.gz (161 MiB)", "t10k-labels-idx1-ubyte.gz"):
        assert f"  {name} into {place}" in out
    assert "  --where=task=synthetic needs no data that is missing\n" in out
    assert not place.exists()


def test_an_estimate_measures_each_line_once(
    write_grid: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def in_processes(orders: Mapping[str, Mapping[str, Any]], *_: Any) -> dict[str, Cost]:
        asked.append([order["settings"]["run_name"] for order in orders.values()])
        return dict.fromkeys(orders, COST)

    monkeypatch.setattr(estimate, "_in_processes", in_processes)
    monkeypatch.setattr(estimate, "cores", lambda: 2)
    monkeypatch.setattr(estimate.os, "getloadavg", lambda: (2.0, 0.0, 0.0))
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--processes=2"]
    assert main(["f3ast-tff", *arguments, "--estimate"]) == 0
    (once,) = asked
    assert sorted(once) == ["f3ast-seed0", "fedavg-seed0"]
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 100 for line in lines)
    # Each process has a run of either line: 3 + 2 * (4 + 1 + 12 * 0.5 + 3 * 2) s; beside two other
    # programs on two cores twice that.
    assert lines[-4:-1] == [
        f"4 runs left, 48 rounds: {2 * 37 / 3600:.3g} core-hours",
        "2 at a time: 37 s if nothing else runs on 2 cores",
        "  1 min 14 s beside other programs as busy as now (load 2.0)",
    ]
    assert [line.split()[:4] for line in lines if line.startswith("synthetic")] == [
        ["synthetic", "softmax_regression", name, "2"] for name in ("fedavg", "f3ast")
    ]
    assert not (tmp_path / "mine").exists()


def test_what_is_not_measured_in_time_costs_what_a_like_line_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line of each method comes first."""
    given = [("fedavg", 20), ("fedavg", 5), ("f3ast", 20), ("f3ast", 5)]
    runs = [planned(tmp_path, f"{a}{b}", algorithm=a, batch_size=b)[0] for a, b in given]
    firsts = {run.line: run for run in runs}

    def in_processes(orders: Mapping[str, Any], *_: Any) -> dict[str, Cost]:
        first, second, *_rest = orders
        return {first: COST, second: replace(COST, round=7.0)}

    monkeypatch.setattr(estimate, "_in_processes", in_processes)
    found = estimate._measured(firsts, 2, NeverStop())
    assert [found[run.line].round for run in runs] == [0.5, 0.5, 7.0, 7.0]


@pytest.mark.slow
def test_a_line_that_fails_is_named(
    write_grid: Callable[..., Path], tmp_path: Path, cli: Cli
) -> None:
    """Processes are real."""
    plugin = tmp_path / "broken.py"
    plugin.write_text(
        "from f3ast_tff.settings import register\n"
        "from f3ast_tff.methods.fedavg import FedAvg\n"
        "from dataclasses import dataclass\n"
        "@register('algorithm', 'broken', about='fails')\n"
        "@dataclass(frozen=True)\n"
        "class Broken(FedAvg):\n"
        "    def build(self, world):\n"
        "        raise OSError('no such thing')\n"
    )
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--processes=1"]
    given = [f"--plugin={plugin}", "--algorithm=broken", "--seed=0", "--estimate"]
    assert "no such thing" in cli.said(main(["f3ast-tff", *arguments, *given]), 1).err


@pytest.mark.slow
def test_what_is_measured_is_what_steps_take(
    write_grid: Callable[..., Path], tmp_path: Path, cli: Cli
) -> None:
    """Processes are real."""
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--processes=2"]
    assert "2 at a time: " in cli.out(*arguments, "--seed=0", "--estimate")


SOME_RUN = PlannedRun("a", resolve({}))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds; tests change it."""
    time = [1000.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: time[0])
    return time


def test_no_run_starts_that_reaches_no_checkpoint(clock: list[float]) -> None:
    limit = Budget(2.0, NeverStop())
    clock[0] += 90
    assert limit.allows(SOME_RUN)
    clock[0] += 1
    assert not limit.allows(SOME_RUN) and not limit.requested()
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
    assert limit.allows(SOME_RUN) and not limit.requested()


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
