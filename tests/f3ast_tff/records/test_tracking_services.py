"""Weights & Biases and MLflow: values sent, with substitutes for their modules."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from f3ast_tff.core.errors import LoggerError
from f3ast_tff.records.metrics_loggers import metrics_loggers

SETTINGS = {"task": "synthetic", "rounds": 4}


class FakeWandb(ModuleType):
    """Behaves like `wandb`: a run knows its next step; init with the same id continues it."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.runs: dict[str, Any] = {}

    def Settings(self, **given: Any) -> Any:
        return given

    def init(self, **given: Any) -> Any:
        run = self.runs.setdefault(
            given["id"], SimpleNamespace(given=given, step=0, logged=[], codes=[])
        )

        def log(values: dict[str, float], step: int) -> None:
            run.logged.append((step, values))
            run.step = step + 1

        def finish(exit_code: int) -> None:
            run.codes.append(exit_code)

        run.log, run.finish = log, finish
        return run


class FakeClient:
    """Behaves like `mlflow.tracking.MlflowClient`, with at most one experiment."""

    experiment: Any = None
    runs: dict[str, Any] = {}

    def get_experiment_by_name(self, name: str) -> Any:
        return self.experiment

    def create_experiment(self, name: str) -> str:
        FakeClient.experiment = SimpleNamespace(experiment_id="7")
        return "7"

    def search_runs(self, ids: list[str], filter_string: str, max_results: int) -> list[Any]:
        return [
            SimpleNamespace(info=SimpleNamespace(run_id=name))
            for name, run in self.runs.items()
            if all(f"tags.`{key}` = '{value}'" == filter_string for key, value in run.tags.items())
        ]

    def create_run(self, experiment: str, run_name: str, tags: dict[str, str]) -> Any:
        run_id = f"run{len(self.runs)}"
        self.runs[run_id] = SimpleNamespace(tags=tags, logged=[], params={}, status="RUNNING")
        return SimpleNamespace(info=SimpleNamespace(run_id=run_id))

    def update_run(self, run_id: str, status: str) -> None:
        self.runs[run_id].status = status

    def log_param(self, run_id: str, name: str, value: Any) -> None:
        self.runs[run_id].params[name] = value

    def log_batch(self, run_id: str, metrics: list[tuple[str, float, int, int]]) -> None:
        found = [(step, name, value) for name, value, _, step in metrics]
        self.runs[run_id].logged.extend(found)

    def get_metric_history(self, run_id: str, name: str) -> list[Any]:
        logged = self.runs[run_id].logged
        return [SimpleNamespace(step=step) for step, key, _ in logged if key == name]

    def set_terminated(self, run_id: str, status: str) -> None:
        self.runs[run_id].status = status


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> FakeWandb:
    module = FakeWandb()
    module.__spec__ = SimpleNamespace(name="wandb")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    monkeypatch.setattr(FakeClient, "experiment", None)
    monkeypatch.setattr(FakeClient, "runs", {})
    package, tracking = ModuleType("mlflow"), ModuleType("mlflow.tracking")
    package.__spec__ = SimpleNamespace(name="mlflow")  # type: ignore[assignment]
    tracking.MlflowClient = FakeClient  # type: ignore[attr-defined]
    entities = ModuleType("mlflow.entities")
    entities.Metric = lambda *given: given  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    monkeypatch.setitem(sys.modules, "mlflow", package)
    monkeypatch.setitem(sys.modules, "mlflow.tracking", tracking)
    return FakeClient


def two_starts(name: str, folder: Path) -> None:
    """Rounds 2 and 4, killed with a checkpoint at 2, then 4 again and 6."""
    score = {"test/sample_accuracy": 0.5}
    (first,) = metrics_loggers(name, folder, SETTINGS)
    first.begin()
    first.add(2, score)
    first.add(4, score)
    (second,) = metrics_loggers(name, folder, SETTINGS)
    second.begin()
    for round_number in (2, 4, 6):
        second.add(round_number, score)
    second.close(finished=True)
    second.close(finished=True)


def test_wandb_gets_every_round_once(wandb: FakeWandb, tmp_path: Path) -> None:
    two_starts("wandb", tmp_path)
    (run,) = wandb.runs.values()
    assert [step for step, _ in run.logged] == [2, 4, 6] and run.codes == [0]
    assert run.given["config"] == SETTINGS and run.given["dir"] == str(tmp_path)


def test_mlflow_gets_every_round_once(mlflow: type[FakeClient], tmp_path: Path) -> None:
    two_starts("mlflow", tmp_path)
    (run,) = mlflow.runs.values()
    assert [step for step, *_ in run.logged] == [2, 4, 6]
    assert run.params == SETTINGS and run.status == "FINISHED"


def test_another_folder_is_another_run(mlflow: type[FakeClient], tmp_path: Path) -> None:
    for name in "ab":
        two_starts("mlflow", tmp_path / name)
    assert len(mlflow.runs) == 2


def test_a_run_that_is_started_over_is_another_run(wandb: FakeWandb, tmp_path: Path) -> None:
    for _ in range(2):
        two_starts("wandb", tmp_path / "run")
        shutil.rmtree(tmp_path / "run")
    assert [len(run.logged) for run in wandb.runs.values()] == [3, 3]


def test_a_service_that_fails_is_named(
    mlflow: type[FakeClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logger,) = metrics_loggers("mlflow", tmp_path, SETTINGS)
    logger.begin()

    def refuse(*given: Any, **more: Any) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(mlflow, "log_batch", refuse)
    with pytest.raises(LoggerError, match="^logger mlflow failed: ConnectionError: no route"):
        logger.add(2, {"test/sample_accuracy": 0.5})
    monkeypatch.setattr(mlflow, "search_runs", refuse)
    (another,) = metrics_loggers("mlflow", tmp_path, SETTINGS)
    with pytest.raises(LoggerError, match="no route to host"):
        another.begin()
    another.close(finished=False)


def test_a_stopped_run_is_not_finished(
    wandb: FakeWandb, mlflow: type[FakeClient], tmp_path: Path
) -> None:
    for logger in metrics_loggers("wandb,mlflow", tmp_path, SETTINGS):
        logger.begin()
        logger.close(finished=False)
    assert [run.codes for run in wandb.runs.values()] == [[1]]
    assert [run.status for run in mlflow.runs.values()] == ["KILLED"]
