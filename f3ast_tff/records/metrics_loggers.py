"""Receivers of a run's progress and metrics: its caller and TensorBoard."""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.metrics import Row, column
from f3ast_tff.settings.logger_names import logger_names

_LOG = logging.getLogger(__name__)

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

    def on_evaluation(self, row: Row, trained: Any) -> None:
        """Called for every evaluated round, after its `on_round`.

        `trained` is the model that the row scores, a `TrainedModel`.
        """
        ...


class MetricsLogger(Protocol):
    """Receives the scalars of evaluated rounds; a resumed run begins with all rounds so far."""

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
        if (logged := column(name).logged) and math.isfinite(value):
            found[logged] = float(value)
    if rates is not None:
        of_rates = {"min": rates.min(), "mean": rates.mean(), "max": rates.max()}
        found |= {f"rates/{name}": float(value) for name, value in of_rates.items()}
    return found


def metrics_loggers(text: str, folder: Path, settings: Mapping[str, Any]) -> list[MetricsLogger]:
    """Returns the loggers of a run that the setting `logger` names.

    Raises:
        ParameterError: See `logger_names`.
    """
    found: list[MetricsLogger] = []
    for name in logger_names(text):
        if name == "tensorboard" and importlib.util.find_spec("tensorboard") is None:
            _LOG.warning("tensorboard is not installed: no event files are written")
        elif name == "tensorboard":
            from f3ast_tff.records.tensorboard_events import TensorBoardEvents

            found.append(TensorBoardEvents(folder, settings))
    return found


@contextmanager
def closed_on_error(loggers: Sequence[MetricsLogger]) -> Iterator[None]:
    """Closes loggers after an error, which an error of theirs does not replace."""
    try:
        yield
    except BaseException:
        for logger in loggers:
            try:
                logger.close(finished=False)
            except OSError as error:
                logging.getLogger(__name__).warning("%s", error)
        raise
