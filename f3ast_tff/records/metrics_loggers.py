"""Receivers of a run's progress and metrics: its caller, TensorBoard, Weights & Biases, MLflow."""

from __future__ import annotations

import importlib.util
import logging
import math
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from f3ast_tff.core.errors import LoggerError
from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.messages import one_line_of
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.metrics import Row
from f3ast_tff.records.results import LOGGER_ID
from f3ast_tff.settings.logger_names import logger_names

# Project in Weights & Biases and MLflow; environment variables set the addresses of both.
_PROJECT = "f3ast-tff"
_ID_TAG = "f3ast_tff.id"
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
    """Receives the scalars of evaluated rounds; a resumed run begins with all rounds so far.

    A service that fails raises `LoggerError`.
    """

    def begin(self) -> None:
        """Starts."""
        ...

    def add(self, round_number: int, scalars: Scalars) -> None:
        """Adds the scalars of an evaluated round."""
        ...

    def close(self, finished: bool) -> None:
        """Writes the rest; a second call does nothing. An unfinished run may be resumed."""
        ...


def scalars_of(row: Row, rates: np.ndarray | None) -> dict[str, float]:
    """Returns the finite scalars of an evaluated round, grouped by the part before the slash.

    `rates` are the participation rates r(t), `float [N]`; `None` if not recorded.

    Examples:
        >>> from f3ast_tff.records.metrics_loggers import scalars_of
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
            from f3ast_tff.records.tensorboard_events import TensorBoardEvents

            found.append(TensorBoardEvents(folder, settings))
        elif name == "wandb":
            found.append(WandbRun(folder, settings))
        elif name == "mlflow":
            found.append(MlflowRun(folder, settings))
    return found


@contextmanager
def _named(service: str) -> Iterator[None]:
    """Raises `LoggerError` for any error of a service's package."""
    try:
        yield
    except Exception as error:
        raise LoggerError(f"logger {service} failed: {one_line_of(error)}") from error


@contextmanager
def closed_on_error(loggers: Sequence[MetricsLogger]) -> Iterator[None]:
    """Closes loggers after an error, which an error of theirs does not replace."""
    try:
        yield
    except BaseException:
        for logger in loggers:
            try:
                logger.close(finished=False)
            except LoggerError as error:
                logging.getLogger(__name__).warning("%s", error)
        raise


class WandbRun:
    """A run of Weights & Biases; `WANDB_MODE=offline` keeps it in the run's folder."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Takes the run's folder and its settings by name."""
        self._folder = folder.absolute()
        self._settings = settings
        self._run: Any = None

    def begin(self) -> None:
        """Goes on with the service's run of the same folder."""
        key = _key(self._folder)
        with _named("wandb"):
            import wandb

            self._run = wandb.init(
                project=_PROJECT,
                name=self._folder.name,
                id=key,
                resume="allow",
                dir=str(self._folder),
                config=dict(self._settings),
                settings=wandb.Settings(silent=True),
            )

    def add(self, round_number: int, scalars: Scalars) -> None:
        """Leaves out rounds that the service has."""
        if round_number < self._run.step:
            return
        with _named("wandb"):
            self._run.log(dict(scalars), step=round_number)

    def close(self, finished: bool) -> None:
        run, self._run = self._run, None
        if run is not None:
            with _named("wandb"):
                run.finish(exit_code=0 if finished else 1)


class MlflowRun:
    """A run of MLflow, whose package reads the address from `MLFLOW_TRACKING_URI`."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Takes the run's folder and its settings by name."""
        self._folder = folder.absolute()
        self._settings = settings
        self._client: Any = None
        self._id = ""
        self._last = 0

    def begin(self) -> None:
        """Goes on with the service's run of the same folder."""
        key = _key(self._folder)
        with _named("mlflow"):
            from mlflow.tracking import MlflowClient

            client = MlflowClient()
            experiment = client.get_experiment_by_name(_PROJECT)
            number = experiment.experiment_id if experiment else client.create_experiment(_PROJECT)
            mine = f"tags.`{_ID_TAG}` = '{key}'"
            found = client.search_runs([number], filter_string=mine, max_results=1)
            if found:
                self._id = found[0].info.run_id
                client.update_run(self._id, status="RUNNING")
            else:
                made = client.create_run(number, run_name=self._folder.name, tags={_ID_TAG: key})
                self._id = made.info.run_id
                for name, value in self._settings.items():
                    client.log_param(self._id, name, value)
            logged = client.get_metric_history(self._id, "test/sample_accuracy")
            self._last = max((metric.step for metric in logged), default=0)
        self._client = client

    def add(self, round_number: int, scalars: Scalars) -> None:
        """Leaves out rounds that the service has."""
        if round_number <= self._last:
            return
        with _named("mlflow"):
            from mlflow.entities import Metric

            now = int(1000 * time.time())
            metrics = [Metric(tag, value, now, round_number) for tag, value in scalars.items()]
            # At once, so that a killed run has all scalars of a round or none.
            self._client.log_batch(self._id, metrics=metrics)

    def close(self, finished: bool) -> None:
        client, self._client = self._client, None
        if client is not None:
            with _named("mlflow"):
                client.set_terminated(self._id, status="FINISHED" if finished else "KILLED")


def _key(folder: Path) -> str:
    """Id of a run in the service, made at its first start."""
    path = folder / LOGGER_ID
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(f"{uuid.uuid4().hex}\n")
    return path.read_text().strip()
