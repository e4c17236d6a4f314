"""Weights & Biases and MLflow, both optional; addresses come from their environment variables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_PROJECT = "f3ast-tff"
_FOLDER_TAG = "f3ast_tff.folder"


class WandbRun:
    """A run of Weights & Biases; `WANDB_MODE=offline` keeps it in the run's folder."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Takes the run's folder and its settings by name."""
        self._folder = folder.absolute()
        self._settings = settings
        self._run: Any = None

    def begin(self, history: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        """See `MetricsLogger.begin`; goes on with the service's run of the same folder."""
        import wandb

        self._run = wandb.init(
            project=_PROJECT,
            name=self._folder.name,
            id=_key(self._folder),
            resume="allow",
            dir=str(self._folder),
            config=dict(self._settings),
            settings=wandb.Settings(silent=True),
        )
        for round_number, scalars in history:
            self.add(round_number, scalars)

    def add(self, round_number: int, scalars: Mapping[str, float]) -> None:
        """See `MetricsLogger.add`; leaves out rounds that the service has."""
        if round_number < self._run.step:
            return
        self._run.log(dict(scalars), step=round_number)

    def close(self) -> None:
        """See `MetricsLogger.close`."""
        if self._run is not None:
            self._run.finish()
            self._run = None


class MlflowRun:
    """A run of MLflow; without `MLFLOW_TRACKING_URI`, where MLflow puts local runs."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Takes the run's folder and its settings by name."""
        self._folder = folder.absolute()
        self._settings = settings
        self._client: Any = None
        self._id = ""
        self._last = 0

    def begin(self, history: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        """See `MetricsLogger.begin`; goes on with the service's run of the same folder."""
        from mlflow.tracking import MlflowClient

        self._client = MlflowClient()
        experiment = self._client.get_experiment_by_name(_PROJECT)
        number = (
            experiment.experiment_id if experiment else self._client.create_experiment(_PROJECT)
        )
        key = _key(self._folder)
        mine = f"tags.`{_FOLDER_TAG}` = '{key}'"
        found = self._client.search_runs([number], filter_string=mine, max_results=1)
        if found:
            self._id = found[0].info.run_id
            self._client.update_run(self._id, status="RUNNING")
        else:
            tags = {_FOLDER_TAG: key}
            made = self._client.create_run(number, run_name=self._folder.name, tags=tags)
            self._id = made.info.run_id
            for name, value in self._settings.items():
                self._client.log_param(self._id, name, value)
        logged = self._client.get_metric_history(self._id, "test/sample_accuracy")
        self._last = max((metric.step for metric in logged), default=0)
        for round_number, scalars in history:
            self.add(round_number, scalars)

    def add(self, round_number: int, scalars: Mapping[str, float]) -> None:
        """See `MetricsLogger.add`; leaves out rounds that the service has."""
        if round_number <= self._last:
            return
        for tag, value in scalars.items():
            self._client.log_metric(self._id, tag, value, step=round_number)

    def close(self) -> None:
        """See `MetricsLogger.close`."""
        if self._client is not None:
            self._client.set_terminated(self._id)
            self._client = None


def _key(folder: Path) -> str:
    """Key of a run in the service: a digest of its folder's path."""
    return hashlib.sha256(str(folder).encode()).hexdigest()[:16]
