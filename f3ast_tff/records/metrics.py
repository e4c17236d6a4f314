"""The rows of `metrics.csv`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.engines.engine import ClientScores, RoundOutcome
from f3ast_tff.files.atomic import atomic_write, naming
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import Totals

# Scores of classes; see `ClientScores.sums`.
SCORES = ("accuracy", "loss")
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
# Further columns of a run with late updates, before the last column.
LATE_COLUMNS = ("mean_staleness", "max_staleness", "num_in_flight")
# Members of a summary: clients that user scores are over, and that they should cover.
USERS = ("clients_scored", "clients_to_score")
# The round, and sums since round 1.
_NOT_AVERAGED = ("round", "bytes_down", "bytes_up", "simulated_seconds", "wall_seconds")
# Means over the clients of a round: NaN if no client trained, or no update entered.
_OF_TRAINING = ("train_loss", "update_norm", "mean_staleness", "max_staleness")

Row = dict[str, float]


def metrics_row(
    round_number: int,
    scores: ClientScores,
    outcome: RoundOutcome,
    delivered_round: RoundDelivery,
    num_available: int,
    total: Totals,
    wall_seconds: float,
) -> Row:
    """Returns the row of an evaluated round.

    Training columns and counts describe this round; bytes and seconds are sums over all rounds so
    far. If updates may be late, staleness is the staleness of the updates that enter in this round,
    in rounds; NaN without such updates.
    """
    late = {}
    if delivered_round.late is not None:
        staleness = delivered_round.late.staleness(round_number)
        found = (staleness.mean(), staleness.max()) if len(staleness) else (math.nan, math.nan)
        values = (float(found[0]), float(found[1]), delivered_round.late.in_flight)
        late = dict(zip(LATE_COLUMNS, values))
    return {
        "round": round_number,
        "train_loss": outcome.train_loss,
        **{f"test_sample_{name}": scores.sample_mean(each) for name, each in scores.sums.items()},
        **{f"test_user_{name}": scores.user_mean(each) for name, each in scores.sums.items()},
        "num_available": num_available,
        "num_selected": len(delivered_round.asked),
        "num_delivered": len(delivered_round.cohort),
        "bytes_down": total.bytes_down,
        "bytes_up": total.bytes_up,
        "simulated_seconds": total.seconds,
        "update_norm": outcome.update_norm,
        **late,
        "wall_seconds": round(wall_seconds, 3),
    }


def columns_of(scores: Sequence[str] = SCORES, late: bool = False) -> tuple[str, ...]:
    """Returns the columns of a run with these scores; `LATE_COLUMNS` if updates may be late."""
    scored = [f"test_{kind}_{name}" for kind in ("sample", "user") for name in scores]
    columns = (*COLUMNS[:2], *scored, *COLUMNS[2 + 2 * len(SCORES) :])
    return (*columns[:-1], *LATE_COLUMNS, *columns[-1:]) if late else columns


def write_csv(path: Path, rows: Sequence[Row], columns: Sequence[str] = COLUMNS) -> None:
    """Writes all rows, atomically; see `columns_of`."""
    with atomic_write(path, newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def append_csv(path: Path, row: Row) -> None:
    """Adds a row to a file made by `write_csv`."""
    with naming(path), open(path, "a", newline="") as file:
        csv.DictWriter(file, tuple(row), lineterminator="\n").writerow(row)


def shown_scores(row: Mapping[str, Any]) -> list[str]:
    """Returns the scores of a row, such as `sample_accuracy`: name by name, samples then users."""
    prefix = "test_sample_"
    names = [column.removeprefix(prefix) for column in row if column.startswith(prefix)]
    return [f"{kind}_{name}" for name in names for kind in ("sample", "user")]


def users_said(summaries: Iterable[Mapping[str, Any]]) -> str:
    """Returns whom the user scores of runs are over, such as `5 of 45 clients (...)`.

    Args:
        summaries: Contents of the runs' `summary.json`; those of older versions do not say it.

    Returns:
        The clients, from the fewest to the most over the runs; `""` if no run says it.
    """
    found: dict[int, list[int]] = {}
    unknown = 0
    for summary in summaries:
        scored, of = map(summary.get, USERS)
        if isinstance(scored, int) and isinstance(of, int):
            found.setdefault(of, []).append(scored)
        else:
            unknown += 1
    parts = []
    for of, scored in sorted(found.items()):
        fewest, most = min(scored), max(scored)
        some = f"{fewest} to {most}" if fewest < most else str(most)
        parts.append(str(of) if fewest == of else f"{some} of {of}")
    if not parts:
        return ""
    one = list(found) == [1]
    said = f"{' and '.join(parts)} client{'s' * (not one)}"
    said += " (the others have no test example)" if " of " in said else ""
    return said + (f", unknown for {unknown} runs" if unknown else "")


def summarise(rows: list[Row]) -> dict[str, Any]:
    """Returns the final values and the mean of the last 10% of the evaluations.

    Means of training leave out rounds without training. A score that is not finite makes its mean
    NaN.
    """
    last = rows[-count_of_last_10_percent(len(rows)) :]
    averaged = [column for column in rows[-1] if column not in _NOT_AVERAGED]
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
