"""The loggers that a run asks for, each imported when it is asked for."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from f3ast_tff.training.metrics_loggers import MetricsLogger, logger_names


def metrics_loggers(text: str, folder: Path, settings: Mapping[str, Any]) -> list[MetricsLogger]:
    """Returns the loggers of a run.

    Args:
        text: As for `logger_names`.
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
            from f3ast_tff.training.tensorboard_events import TensorBoardEvents

            found.append(TensorBoardEvents(folder, settings))
        elif name == "wandb":
            from f3ast_tff.training.tracking_services import WandbRun

            found.append(WandbRun(folder, settings))
        elif name == "mlflow":
            from f3ast_tff.training.tracking_services import MlflowRun

            found.append(MlflowRun(folder, settings))
    return found
