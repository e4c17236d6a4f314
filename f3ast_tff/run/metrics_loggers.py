"""Where a run's scalars go besides `metrics.csv`: TensorBoard, Weights & Biases, MLflow."""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.run.metrics import Row

# Package that each needs; `csv` is `metrics.csv`, which every run has.
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


class MetricsLogger(Protocol):
    """Receives the scalars of evaluated rounds."""

    def begin(self, history: Sequence[tuple[int, Scalars]]) -> None:
        """Starts; `history` holds rounds and scalars from before a resumption."""
        ...

    def add(self, round_number: int, scalars: Scalars) -> None:
        """Adds the scalars of an evaluated round."""
        ...

    def close(self) -> None:
        """Writes the rest; a second call does nothing."""
        ...


def scalars_of(row: Row, rates: np.ndarray | None) -> dict[str, float]:
    """Returns the finite scalars of an evaluated round, grouped by the part before the slash.

    Args:
        row: Its row of `metrics.csv`.
        rates: Participation rates r(t), `float [N]`; `None` where none are recorded.

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
        ParameterError: If one is unknown, or an optional package is not installed.
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
    """Returns the loggers of a run.

    Args:
        text: Value of the setting `logger`.
        folder: The run's folder.
        settings: Its settings by name.

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
            from f3ast_tff.run.tracking_services import WandbRun

            found.append(WandbRun(folder, settings))
        elif name == "mlflow":
            from f3ast_tff.run.tracking_services import MlflowRun

            found.append(MlflowRun(folder, settings))
    return found
