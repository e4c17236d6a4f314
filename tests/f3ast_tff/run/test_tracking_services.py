"""Weights & Biases and MLflow: values sent, with substitutes for their modules."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.run.metrics_loggers import logger_names, metrics_loggers

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
            given["id"], SimpleNamespace(given=given, step=0, logged=[], finished=0)
        )

        def log(values: dict[str, float], step: int) -> None:
            run.logged.append((step, values))
            run.step = step + 1

        def finish() -> None:
            run.finished += 1

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

    def log_metric(self, run_id: str, name: str, value: float, step: int) -> None:
        self.runs[run_id].logged.append((step, name, value))

    def get_metric_history(self, run_id: str, name: str) -> list[Any]:
        logged = self.runs[run_id].logged
        return [SimpleNamespace(step=step) for step, key, _ in logged if key == name]

    def set_terminated(self, run_id: str) -> None:
        self.runs[run_id].status = "FINISHED"


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
    second.close()
    second.close()


def test_wandb_gets_every_round_once(wandb: FakeWandb, tmp_path: Path) -> None:
    two_starts("wandb", tmp_path)
    (run,) = wandb.runs.values()
    assert [step for step, _ in run.logged] == [2, 4, 6] and run.finished == 1
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


def test_names_are_checked() -> None:
    assert logger_names("CSV, tensorboard,csv") == ["csv", "tensorboard"]
    with pytest.raises(ParameterError, match="'comet' is none of them"):
        logger_names("csv,comet")


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"pip install 'f3ast-tff\[wandb\]'"):
        logger_names("wandb")
