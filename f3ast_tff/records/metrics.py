"""The rows of `metrics.csv`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from f3ast_tff.engines.engine import ClientScores, RoundOutcome
from f3ast_tff.files.atomic import atomic_write, naming
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import Totals

# Scores of classes; see `ClientScores.sums`.
SCORES = ("accuracy", "loss")
# Members of a summary: clients that user scores are over, and that they should cover.
USERS = ("clients_scored", "clients_to_score")


class Column(NamedTuple):
    """A column of `metrics.csv`.

    Attributes:
        name: Its name there.
        logged: Its name for loggers, grouped by the part before the slash; `""` for none.
        over: `"rounds"` for a sum since round 1, which has no mean; `"clients"` for a mean over
            the clients of a round, NaN if no client trained, or no update entered.
        late: Whether it is there only if updates may be late.
    """

    name: str
    logged: str
    over: Literal["rounds", "clients", ""] = ""
    late: bool = False


# The scores follow the second.
_SCHEMA = (
    Column("round", "", over="rounds"),
    Column("train_loss", "train/loss", over="clients"),
    Column("num_available", "selection/num_available"),
    Column("num_selected", "selection/num_selected"),
    Column("num_delivered", "selection/num_delivered"),
    Column("bytes_down", "communication/bytes_down", over="rounds"),
    Column("bytes_up", "communication/bytes_up", over="rounds"),
    Column("simulated_seconds", "time/simulated_seconds", over="rounds"),
    Column("update_norm", "train/update_norm", over="clients"),
    Column("mean_staleness", "delivery/mean_staleness", over="clients", late=True),
    Column("max_staleness", "delivery/max_staleness", over="clients", late=True),
    Column("num_in_flight", "delivery/num_in_flight", late=True),
    Column("wall_seconds", "time/wall_seconds", over="rounds"),
)
_BY_NAME = {column.name: column for column in _SCHEMA}


def column(name: str) -> Column:
    """Returns a column by its name, such as that of a score."""
    return _BY_NAME.get(name) or Column(name, name.replace("test_", "test/", 1))


def columns_of(
    scores: Sequence[str] = SCORES, late: bool = False, further: str | None = None
) -> tuple[str, ...]:
    """Returns the columns of a run with these scores and, if any, further ones of this word."""
    kinds = ("sample", "user", *([further] if further else []))
    scored = [f"test_{kind}_{name}" for kind in kinds for name in scores]
    names = [each.name for each in _SCHEMA if late or not each.late]
    return (*names[:2], *scored, *names[2:])


COLUMNS = columns_of()
Row = dict[str, float]


def metrics_row(
    round_number: int,
    scores: ClientScores,
    outcome: RoundOutcome,
    delivered_round: RoundDelivery,
    total: Totals,
    wall_seconds: float,
    further: Mapping[str, float] = MappingProxyType({}),
) -> Row:
    """Returns the row of an evaluated round; `further` has further scores by column.

    Training columns and counts describe this round; bytes and seconds are sums over all rounds so
    far. If updates may be late, staleness is the staleness of the updates that enter in this round,
    in rounds; NaN without such updates.
    """
    late = {}
    if delivered_round.late is not None:
        staleness = delivered_round.late.staleness(round_number)
        late = {
            "mean_staleness": float(staleness.mean()) if len(staleness) else math.nan,
            "max_staleness": float(staleness.max()) if len(staleness) else math.nan,
            "num_in_flight": delivered_round.late.in_flight,
        }
    return {
        "round": round_number,
        "train_loss": outcome.train_loss,
        **{f"test_sample_{name}": scores.sample_mean(each) for name, each in scores.sums.items()},
        **{f"test_user_{name}": scores.user_mean(each) for name, each in scores.sums.items()},
        **further,
        "num_available": delivered_round.num_available,
        "num_selected": len(delivered_round.asked),
        "num_delivered": len(delivered_round.cohort),
        "bytes_down": total.bytes_down,
        "bytes_up": total.bytes_up,
        "simulated_seconds": total.seconds,
        "update_norm": outcome.update_norm,
        **late,
        "wall_seconds": round(wall_seconds, 3),
    }


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
    columns = [name.removeprefix("test_") for name in row if name.startswith("test_")]
    names = dict.fromkeys(column.partition("_")[2] for column in columns)
    return [each for name in names for each in columns if each.partition("_")[2] == name]


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
    averaged = [column(name) for name in rows[-1] if column(name).over != "rounds"]
    means = {each.name: _mean(each, [row[each.name] for row in last]) for each in averaged}
    return {"final": rows[-1], "mean_of_last_10_percent": means, "evaluations_averaged": len(last)}


def count_of_last_10_percent(num_evaluations: int) -> int:
    """Returns the number of evaluations in the last 10%, rounded; at least one."""
    return max(1, round(0.1 * num_evaluations))


def _mean(column: Column, values: list[float]) -> float:
    if column.over == "clients":
        values = [value for value in values if not np.isnan(value)]
    elif not np.isfinite(values).all():
        return float("nan")
    return float(np.mean(values)) if values else float("nan")
