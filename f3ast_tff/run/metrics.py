"""The rows of `metrics.csv`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.atomic import atomic_write, naming
from f3ast_tff.engines.engine import ClientScores, RoundOutcome
from f3ast_tff.run.delivering import Answers
from f3ast_tff.run.history import Totals

COLUMNS = (
    "round",
    "train_loss",
    "test_sample_accuracy",
    "test_sample_loss",
    "test_user_accuracy",
    "test_user_loss",
    "num_available",
    "num_selected",
    "num_delivered",
    "bytes_down",
    "bytes_up",
    "simulated_seconds",
    "update_norm",
    "wall_seconds",
)
# The round, and sums since round 1.
_NOT_AVERAGED = ("round", "bytes_down", "bytes_up", "simulated_seconds", "wall_seconds")
# Means over the clients of a round: NaN where nobody trained.
_OF_TRAINING = ("train_loss", "update_norm")

Row = dict[str, float]


def metrics_row(
    round_number: int,
    scores: ClientScores,
    outcome: RoundOutcome,
    answers: Answers,
    num_available: int,
    total: Totals,
    wall_seconds: float,
) -> Row:
    """Returns the row of an evaluated round.

    Training columns and counts describe this round; bytes and seconds are sums over all rounds so
    far.
    """
    return {
        "round": round_number,
        "train_loss": outcome.train_loss,
        "test_sample_accuracy": scores.sample_mean(scores.correct),
        "test_sample_loss": scores.sample_mean(scores.loss),
        "test_user_accuracy": scores.user_mean(scores.correct),
        "test_user_loss": scores.user_mean(scores.loss),
        "num_available": num_available,
        "num_selected": len(answers.asked),
        "num_delivered": len(answers.cohort),
        "bytes_down": total.bytes_down,
        "bytes_up": total.bytes_up,
        "simulated_seconds": total.seconds,
        "update_norm": outcome.update_norm,
        "wall_seconds": round(wall_seconds, 3),
    }


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Writes all rows, atomically."""
    with atomic_write(path, newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def append_csv(path: Path, row: Row) -> None:
    """Adds a row to a file made by `write_csv`."""
    with naming(path), open(path, "a", newline="") as file:
        csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)


def summarise(rows: list[Row]) -> dict[str, Any]:
    """Returns the final values and the mean of the last 10% of the evaluations.

    Means of training leave out rounds without training. A score that is not finite makes its mean
    NaN.
    """
    last = rows[-count_of_last_10_percent(len(rows)) :]
    averaged = [column for column in COLUMNS if column not in _NOT_AVERAGED]
    means = {column: _mean(column, [row[column] for row in last]) for column in averaged}
    return {"final": rows[-1], "mean_of_last_10_percent": means, "evaluations_averaged": len(last)}


def count_of_last_10_percent(num_evaluations: int) -> int:
    """Returns the number of evaluations in the last 10%, rounded; at least one."""
    return max(1, round(0.1 * num_evaluations))


def _mean(column: str, values: list[float]) -> float:
    if column in _OF_TRAINING:
        values = [value for value in values if not np.isnan(value)]
    elif not np.isfinite(values).all():
        return float("nan")
    return float(np.mean(values)) if values else float("nan")
