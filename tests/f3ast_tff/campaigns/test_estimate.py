"""What a campaign is said to cost, and what of it is remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns import estimate
from f3ast_tff.campaigns.costs import Cost, CostFile, kind_of
from f3ast_tff.campaigns.estimate import campaign_seconds
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.command_line.main import main
from f3ast_tff.configuration.resolve import resolve
from tests.f3ast_tff.campaigns.campaigns import SMALL

# Process 3 s, first run of a kind 5 s, later ones 1 s, a round 0.5 s, an evaluation 2 s.
COST = Cost(3.0, 5.0, 1.0, 0.5, 2.0, 100.0, (2**20, 0.0), (0.0, 1024.0))


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
    assert COST.bytes(10, 2) == 2 * 2**20 + 10 * 1024


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
    # Two rounds and one evaluation are left of the first.
    assert campaign_seconds(runs, costs, 1) == one - 8 * 0.5 - 2 * 2


def test_another_kind_starts_anew(tmp_path: Path) -> None:
    runs = [*planned(tmp_path, "a"), *planned(tmp_path, "b", batch_size=5)]
    costs = {run.name: COST for run in runs}
    assert campaign_seconds(runs, costs, 1) == 3 + 2 * (5 + 11)


def test_costs_are_kept_by_kind_and_processes(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, "a")
    kind = kind_of(run)
    assert CostFile().find(kind, 2) is None
    CostFile().add(kind, 2, COST)
    assert CostFile().find(kind, 2) == COST
    assert CostFile().find(kind, 1) is None
    assert CostFile().find({**kind, "batch_size": 5}, 2) is None
    CostFile().path.write_text("{")
    assert CostFile().find(kind, 2) is None


def test_an_estimate_measures_each_kind_once(
    write_grid: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def measure(runs: Any, processes: int, *rest: Any) -> None:
        asked.append([run.name for run in runs])
        for place in range(len(runs)):
            rest[-1](place, COST)

    monkeypatch.setattr(estimate, "measure", measure)
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--processes=2"]
    for _ in range(2):
        assert main(["f3ast-tff", *arguments, "--estimate"]) == 0
    assert asked == [["fedavg-seed0", "f3ast-seed0"]]
    lines = capsys.readouterr().out.splitlines()
    # 12 rounds and 3 evaluations a run; two first runs a process, of two kinds.
    assert lines[-2].startswith("4 runs left, 2 at a time: 37 s (0.0103 h); memory 200 MiB at most")
    assert [line.split()[:4] for line in lines[-4:-2]] == [
        ["synthetic", "softmax_regression", name, "2"] for name in ("fedavg", "f3ast")
    ]
    assert not (tmp_path / "mine").exists()


@pytest.mark.slow
def test_what_is_measured_is_what_runs_take(
    write_grid: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the processes of a campaign; the time itself depends on what else this machine does."""
    arguments = [f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}", "--processes=2"]
    assert main(["f3ast-tff", *arguments, "--seeds=0", "--estimate"]) == 0
    out = capsys.readouterr().out
    assert "2 runs left, 2 at a time: " in out
    (run,) = planned(tmp_path, "a", num_clients=12, clients_per_round=3, device="cpu")
    cost = CostFile().find(kind_of(run), 2)
    assert cost is not None
    assert 0 < cost.round_seconds < 1 < cost.process_seconds < 60
    assert cost.start_seconds < cost.first_seconds < 60
    assert 100 < cost.memory_mib < 2000 and cost.checkpoint[0] > 1000 < cost.results[0]
