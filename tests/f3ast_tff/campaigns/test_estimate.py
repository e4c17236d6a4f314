"""Estimated costs of a campaign, and the costs that are remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns import estimate
from f3ast_tff.campaigns.costs import (
    Cost,
    CostFile,
    DataShape,
    ReferenceCosts,
    Size,
    StepCost,
    key_of,
    step_kind,
)
from f3ast_tff.campaigns.estimate import campaign_seconds
from f3ast_tff.campaigns.measurement import MeasurementError
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.cli.main import main
from f3ast_tff.files.signals import NeverStop
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.campaigns.campaigns import SMALL

# Process 3 s, first run of a kind 5 s, later runs 1 s, round 0.5 s, evaluation 2 s.
COST = Cost(3.0, 5.0, 1.0, 0.5, 2.0, 100.0, Size(2**20, 0.0), Size(0.0, 1024.0, 100.0))
# Clients of 20, 40 and 60 examples; 0.01 s per step, 1 ms per scored example.
STEPS = StepCost(
    process_seconds=3.0,
    first_seconds=4.0,
    start_seconds=1.0,
    round_seconds=0.2,
    step_seconds=0.01,
    example_seconds=0.001,
    memory_mib=100.0,
    num_weights=610,
    state_bytes=2440,
    shape=DataShape((60,), "float32", (), 10, 12, (20, 40, 60), 500),
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def planned(tmp_path: Path, *names: str, **given: Any) -> list[PlannedRun]:
    where = {"rounds": 10, "eval_every": 4, "output_dir": str(tmp_path), **given}
    return [PlannedRun(name, resolve({**where, "run_name": name})) for name in names]


def test_a_run_costs_its_rounds_and_evaluations() -> None:
    # Rounds 4, 8 and 10 are evaluated.
    assert COST.seconds(10, 4) == 1 + 10 * 0.5 + 3 * 2
    assert COST.seconds(10, 4, first=True) == 5 + 10 * 0.5 + 3 * 2
    assert COST.seconds(10, 4, done=5) == 1 + 5 * 0.5 + 2 * 2
    assert COST.bytes(10, 4, checkpoints=2) == 2 * 2**20 + 10 * 1024 + 3 * 100


def test_processes_share_the_runs_and_start_once(tmp_path: Path) -> None:
    runs = planned(tmp_path, *"abc")
    costs = {run.name: COST for run in runs}
    one = 3 + (5 + 11) + (1 + 11) + (1 + 11)
    assert campaign_seconds(runs, costs, 1) == one
    assert campaign_seconds(runs, costs, 2) == 3 + (5 + 11) + (1 + 11)
    assert campaign_seconds(runs, costs, 5) == 3 + 5 + 11
    begun = tmp_path / "a" / "checkpoints"
    begun.mkdir(parents=True)
    (begun / "round_00000008.npz").touch()
    # The first run has two rounds and one evaluation left.
    assert campaign_seconds(runs, costs, 1) == one - 8 * 0.5 - 2 * 2


def test_another_kind_starts_anew(tmp_path: Path) -> None:
    runs = [*planned(tmp_path, "a"), *planned(tmp_path, "b", batch_size=5)]
    costs = {run.name: COST for run in runs}
    assert campaign_seconds(runs, costs, 1) == 3 + 2 * (5 + 11)


def test_a_round_costs_its_clients_and_their_steps(tmp_path: Path) -> None:
    """K = 10 clients of (1 + 2 + 3) / 3 batches of 20 take 20 steps."""
    (run,) = planned(tmp_path, "a", clients_per_round=10, batch_size=20)
    cost = STEPS.of_run(run)
    assert cost.round_seconds == pytest.approx(0.2 + 20 * 0.01)
    assert cost.evaluation_seconds == 0.5
    assert (cost.first_seconds, cost.start_seconds) == (5, 1)
    assert cost.checkpoint.start == 2440
    (run,) = planned(tmp_path, "a", clients_per_round=5, batch_size=20, local_steps=8)
    assert STEPS.of_run(run).round_seconds == pytest.approx(0.2 + 5 * 8 * 0.01)


def test_candidates_are_scored_and_what_is_remembered_is_kept(tmp_path: Path) -> None:
    """10 candidates of 40 examples on average; MIFA keeps one update for each of 12 clients."""
    (run,) = planned(
        tmp_path, "a", algorithm="poc", poc_candidates=10, clients_per_round=10, batch_size=20
    )
    assert STEPS.of_run(run).round_seconds == pytest.approx(0.2 + 20 * 0.01 + 400 * 0.001)
    (run,) = planned(tmp_path, "a", algorithm="mifa")
    assert STEPS.of_run(run).checkpoint.start >= 2440 + 4 * 12 * 610


def test_all_data_at_one_client_take_its_steps(tmp_path: Path) -> None:
    """12 clients of 40 examples on average are 24 batches of 20."""
    (run,) = planned(tmp_path, "a", algorithm="sequential_sgd", batch_size=20)
    assert STEPS.of_run(run).round_seconds == pytest.approx(0.2 + 24 * 0.01)


@pytest.mark.parametrize("given", [{}, {"client_scores": True, "write_masks": "csv"}])
def test_a_finished_run_takes_at_most_the_disk_that_was_said(
    given: dict[str, Any], tmp_path: Path
) -> None:
    (run,) = planned(tmp_path, "a", **{**given, "rounds": 300, "eval_every": 10})
    run_experiment(run.configuration, run.configuration.folder)
    files = [path for path in (tmp_path / "a").rglob("*") if path.is_file()]
    said = replace(STEPS, shape=replace(STEPS.shape, num_clients=100)).of_run(run)
    held = sum(path.stat().st_size for path in files)
    assert held <= said.bytes(300, 10, checkpoints=1) <= 1.5 * held


def test_a_slower_machine_takes_longer() -> None:
    slow = STEPS.scaled(2.0)
    assert (slow.step_seconds, slow.process_seconds) == (0.02, 6.0)
    assert (slow.memory_mib, slow.shape) == (STEPS.memory_mib, STEPS.shape)


def test_costs_are_kept_by_kind_of_step(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, "a")
    assert CostFile().find(run) is None
    CostFile().add(run, STEPS)
    assert CostFile().find(run) == STEPS
    (other,) = planned(tmp_path, "a", algorithm="fedavg", clients_per_round=3, seed=4)
    assert CostFile().find(other) == STEPS
    (other,) = planned(tmp_path, "a", batch_size=5)
    assert CostFile().find(other) is None
    CostFile().path.write_text("{")
    assert CostFile().find(run) is None


@pytest.mark.parametrize("task", ["mnist", "cifar10", "cifar10_one_class"])
def test_shapes_are_known_for_any_number_of_clients(task: str, tmp_path: Path) -> None:
    (run,) = planned(tmp_path, "a", task=task, num_clients=200)
    shape = ReferenceCosts().shape(run)
    assert shape is not None and shape.num_clients == 200
    assert shape.client_sizes == (240 if task == "mnist" else 250,)


def test_an_estimate_names_all_missing_files_at_once(
    write_grid: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It also names the tasks that need no missing file, and leaves the data folder alone."""

    def measure(runs: Any, processes: int, stop: Any, measured: Any) -> None:
        for run in runs:
            measured(run, STEPS)

    monkeypatch.setattr(estimate, "measure", measure)
    grid = 'grid = {task = ["cifar100", "mnist", "synthetic"]}\n'
    place = tmp_path / "nothing"
    given = [f"--campaign={write_grid(grid)}", f"--output_dir={tmp_path}", f"--data_dir={place}"]
    assert main(["f3ast-tff", *given, "--estimate"]) == 0
    out = capsys.readouterr().out
    for name in ("cifar-100-python.tar.gz (161 MiB)", "t10k-labels-idx1-ubyte.gz"):
        assert f"  {name} into {place}" in out
    assert "  --where=task=synthetic needs no data that is missing\n" in out
    assert not place.exists()


@pytest.mark.parametrize("task", ["cifar100", "shakespeare"])
def test_published_models_come_with_costs_and_shapes(task: str, tmp_path: Path) -> None:
    """This needs no data."""
    (run,) = planned(tmp_path, "a", task=task)
    shape, cost = ReferenceCosts().shape(run), ReferenceCosts().find(run)
    assert shape is not None and shape.num_clients == run.settings["num_clients"]
    assert cost is not None and cost.shape == shape and cost.step_seconds > 0


def test_an_estimate_measures_each_step_once(
    write_grid: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def measure(runs: Any, processes: int, stop: Any, measured: Any) -> None:
        asked.append([run.name for run in runs])
        for run in runs:
            measured(run, STEPS)

    monkeypatch.setattr(estimate, "measure", measure)
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--processes=2"]
    for _ in range(2):
        assert main(["f3ast-tff", *arguments, "--estimate"]) == 0
    assert asked == [["fedavg-seed0"]]
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 100 for line in lines if "kept in" not in line)
    # A round of 3 clients takes 0.2 s and at most 3 * (5 + 2 + 3) / 3 steps of 10 examples.
    assert any(line.startswith("4 runs left, 2 at a time: ") for line in lines)
    assert [line.split()[:4] for line in lines if line.startswith("synthetic")][:2] == [
        ["synthetic", "softmax_regression", name, "2"] for name in ("fedavg", "f3ast")
    ]
    assert not (tmp_path / "mine").exists()


def test_what_is_not_measured_in_time_goes_by_its_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here steps take three times as long as on the references' machine."""
    (known,) = planned(tmp_path, "a", task="cifar100")
    (late,) = planned(tmp_path, "b", task="shakespeare")
    (unknown,) = planned(tmp_path, "c")
    reference = ReferenceCosts().find(known)
    assert reference is not None

    def measure(runs: Any, processes: int, stop: Any, measured: Any) -> None:
        measured(known, reference.scaled(3.0))

    monkeypatch.setattr(estimate, "measure", measure)
    file, never = CostFile(), NeverStop()
    found = estimate._measured([known, late], file, 2, never)
    expected = ReferenceCosts().find(late)
    assert expected is not None
    assert found[key_of(step_kind(late))].step_seconds == pytest.approx(3 * expected.step_seconds)
    with pytest.raises(MeasurementError, match="synthetic softmax_regression fused: no step"):
        estimate._measured([known, unknown], file, 2, never)


@pytest.mark.slow
def test_what_is_measured_is_what_steps_take(
    write_grid: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Processes are real; measured times depend on the machine."""
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--processes=2"]
    assert main(["f3ast-tff", *arguments, "--seed=0", "--estimate"]) == 0
    assert "2 runs left, 2 at a time: " in capsys.readouterr().out
    (run,) = planned(tmp_path, "a", num_clients=12, device="cpu")
    cost = CostFile().find(run)
    assert cost is not None
    assert 0 < cost.step_seconds < 0.1 < cost.process_seconds < 60
    assert 100 < cost.memory_mib < 2000 and cost.state_bytes > 1000
