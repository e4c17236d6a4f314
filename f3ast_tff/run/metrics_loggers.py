"""Receivers of a run's progress and metrics: its caller, TensorBoard, Weights & Biases, MLflow."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.run.metrics import Row

# Project in Weights & Biases and MLflow; environment variables set the addresses of both.
_PROJECT = "f3ast-tff"
_FOLDER_TAG = "f3ast_tff.folder"
# Package that each logger needs; `csv` is `metrics.csv`, which every run has.
NAMES = {"csv": "", "tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow"}
OPTIONAL = ("wandb", "mlflow")
_GROUPS = {
    "train_loss": "train/loss",
    "update_norm": "train/update_norm",
    "num_available": "selection/num_available",
    "num_selected": "selection/num_selected",
    "num_delivered": "selection/num_delivered",
    "mean_staleness": "delivery/mean_staleness",
    "max_staleness": "delivery/max_staleness",
    "num_in_flight": "delivery/num_in_flight",
    "bytes_down": "communication/bytes_down",
    "bytes_up": "communication/bytes_up",
    "simulated_seconds": "time/simulated_seconds",
    "wall_seconds": "time/wall_seconds",
}

Scalars = Mapping[str, float]


class Progress(Protocol):
    """Receives the loop's progress."""

    def start(self, first_round: int) -> None:
        """Reports the first round of this start, 1 for a new run."""
        ...

    def advance(self, rounds: int, row: Row | None) -> None:
        """Reports that many more rounds; `row` holds the metrics of the last if evaluated."""
        ...


class Callback(Protocol):
    """Called for the rounds that are executed now; in a resumed run, only the later rounds."""

    def on_round(self, round_number: int, cohort: Cohort, outcome: RoundOutcome) -> None:
        """Called once for every round, in order; several rounds may have been executed before.

        The cohort holds the clients whose update arrived.
        """
        ...

    def on_evaluation(self, row: Row) -> None:
        """Called for every evaluated round, after its `on_round`."""
        ...


class MetricsLogger(Protocol):
    """Receives the scalars of evaluated rounds; a resumed run begins with all rounds so far."""

    def begin(self) -> None:
        """Starts."""
        ...

    def add(self, round_number: int, scalars: Scalars) -> None:
        """Adds the scalars of an evaluated round."""
        ...

    def close(self) -> None:
        """Writes the rest; a second call does nothing."""
        ...


def scalars_of(row: Row, rates: np.ndarray | None) -> dict[str, float]:
    """Returns the finite scalars of an evaluated round, grouped by the part before the slash.

    `rates` are the participation rates r(t), `float [N]`; `None` if not recorded.

    Examples:
        >>> from f3ast_tff.run.metrics_loggers import scalars_of
        >>> scalars_of({"round": 10, "train_loss": 0.5, "test_user_loss": 2.0}, None)
        {'train/loss': 0.5, 'test/user_loss': 2.0}
    """
    found = {}
    for name, value in row.items():
        if name != "round" and math.isfinite(value):
            found[_GROUPS.get(name, name.replace("test_", "test/", 1))] = float(value)
    if rates is not None:
        found["rates/min"] = float(rates.min())
        found["rates/mean"] = float(rates.mean())
        found["rates/max"] = float(rates.max())
    return found


def logger_names(text: str) -> list[str]:
    """Returns the names in a comma list such as `"tensorboard,csv"`.

    Raises:
        ParameterError: If a name is unknown, or an optional package is not installed.
    """
    names = [part.strip().lower() for part in text.split(",") if part.strip()]
    for name in names:
        if name not in NAMES:
            allowed = f"must be a comma list of {', '.join(NAMES)}; {name!r} is none of them"
            raise ParameterError("logger", text, allowed)
        if name in OPTIONAL and importlib.util.find_spec(NAMES[name]) is None:
            allowed = f"{name} is not installed here: pip install 'f3ast-tff[{name}]'"
            raise ParameterError("logger", text, allowed)
    return list(dict.fromkeys(names))


def metrics_loggers(text: str, folder: Path, settings: Mapping[str, Any]) -> list[MetricsLogger]:
    """Returns the loggers of a run that the setting `logger` names.

    Raises:
        ParameterError: See `logger_names`.
    """
    found: list[MetricsLogger] = []
    for name in logger_names(text):
        if name == "tensorboard" and importlib.util.find_spec("tensorboard") is None:
            logging.warning("tensorboard is not installed: no event files are written")
        elif name == "tensorboard":
            from f3ast_tff.run.tensorboard_events import TensorBoardEvents

            found.append(TensorBoardEvents(folder, settings))
        elif name == "wandb":
            found.append(WandbRun(folder, settings))
        elif name == "mlflow":
            found.append(MlflowRun(folder, settings))
    return found


class WandbRun:
    """A run of Weights & Biases; `WANDB_MODE=offline` keeps it in the run's folder."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Takes the run's folder and its settings by name."""
        self._folder = folder.absolute()
        self._settings = settings
        self._run: Any = None

    def begin(self) -> None:
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

    def add(self, round_number: int, scalars: Scalars) -> None:
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
    """A run of MLflow; without `MLFLOW_TRACKING_URI`, a local run."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Takes the run's folder and its settings by name."""
        self._folder = folder.absolute()
        self._settings = settings
        self._client: Any = None
        self._id = ""
        self._last = 0

    def begin(self) -> None:
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

    def add(self, round_number: int, scalars: Scalars) -> None:
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
