"""Compares the methods of a study: each in its objective, with the method it corrects and FedAvg.

python -m f3ast_tff.analysis.method_study --scores analysis/results/availability_methods.csv
    --objective own

With --out or --picture it writes these, and otherwise prints Markdown tables. The objective `own`
is that of each method's paper.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.method_differences import (
    OWN,
    guess_loss,
    method_means,
    regime_differences,
)
from f3ast_tff.analysis.method_picture import draw_differences
from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.analysis.study_runs import RATES, SCORES_OF, SHARE, at_tuned_rates, read_study
from f3ast_tff.analysis.texts import markdown_table, write_csv
from f3ast_tff.settings import REQUIRED, parameter

OBJECTIVES = (OWN, *SCORES_OF)
_TITLES = {
    OWN: "Each method in its paper's objective",
    "examples": "Objective p_k = n_k / n, the score is sample accuracy",
    "batches": "Objective p_k by batches, the score is sample accuracy",
    "equal": "Objective p_k = 1 / N, the score is user accuracy",
}
_SHARES = {"examples": "n_k / n", "batches": "batches", "equal": "1 / N"}
# By column of `method_means`; a table of one objective does not name it.
_HEADINGS = {
    "method": "method",
    SHARE: "p_k",
    "client_lr": "client rate",
    "server_lr": "server rate",
    "score": "score",
    "other_score": "other score",
    "corrects": "corrects",
    "difference": "minus that",
    "to_fedavg": "minus FedAvg",
    "above": "above 0",
    "below": "below 0",
    "lost": "lost",
    "runs": "runs",
}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    objective: str | None = parameter(
        None, "objective to show; default: own, then each of the file", choices=OBJECTIVES
    )
    regimes: str = parameter(
        "availability", "settings whose values are the regimes, separated by commas"
    )
    where: str | None = parameter(
        None, "runs to keep, as SETTING=VALUE; a setting given again allows another value"
    )
    rates: str | None = parameter(
        None, "CSV file of tuned_rates: keep the runs at the rates it chose", is_path=True
    )
    out: str | None = parameter(None, "CSV file to write or replace", is_path=True)
    picture: str | None = parameter(
        None, "picture to write or replace, .svg or .png: methods and regimes", is_path=True
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes or prints the comparison."""
    study = read_study(Path(flags.scores), flags.regimes.split(","), flags.where)
    if flags.rates is not None:
        study = at_tuned_rates(study, Path(flags.rates))
    found = by_objective(regime_differences(study), flags.objective)
    if flags.out is not None:
        tables = [method_means(part).assign(objective=name) for name, part in found.items()]
        write_csv(pd.concat(tables).round(6), flags.out)
        print(f"written: {flags.out}")
    if flags.picture is not None:
        titled = {_TITLES[name]: part for name, part in found.items()}
        draw_differences(titled, Path(flags.picture))
        print(f"written: {flags.picture}")
    if flags.out is None and flags.picture is None:
        task = str(study.runs["task"].iloc[0])
        print("\n\n".join([*(_table(name, part) for name, part in found.items()), _note(task)]))


def by_objective(differences: pd.DataFrame, objective: str | None) -> dict[str, pd.DataFrame]:
    """Returns the rows of `regime_differences` by objective, `own` first.

    Args:
        differences: Rows of all objectives of a study.
        objective: One of `OBJECTIVES`; `None` for all that have rows.

    Raises:
        RunsError: If the objective has no rows.
    """
    parts = {OWN: differences[differences[OWN]]}
    parts.update({name: differences[differences[SHARE] == name] for name in SCORES_OF})
    found = {n: part for n, part in parts.items() if len(part) and objective in (None, n)}
    if not found:
        raise RunsError(f"no run has the objective {objective}")
    return found


def _table(objective: str, differences: pd.DataFrame) -> str:
    means = method_means(differences)
    shown = [name for name in _HEADINGS if name in means and (objective == OWN or name != SHARE)]
    rows = [[_cell(name, row) for name in shown] for row in means.to_dict("records")]
    num_regimes = differences["regime"].nunique()
    title = f"{_TITLES[objective]}, means over {num_regimes} regime{'s' * (num_regimes > 1)}:"
    return f"{title}\n\n{markdown_table([_HEADINGS[name] for name in shown], rows)}"


def _cell(name: str, row: Mapping[Any, Any]) -> str:
    value = row[name]
    if name == SHARE:
        return _SHARES[value]
    if name in RATES:
        return f"{float(value):g}"
    if name in ("score", "other_score"):
        return "–" if math.isnan(value) else f"{value:.3f}"
    if name in ("difference", "to_fedavg"):
        return "–" if math.isnan(value) else f"{value:+.3f}"
    return str(value) or "–"


def _note(task: str) -> str:
    bound = guess_loss(task)
    guess = "" if math.isinf(bound) else f", or at least {bound:.4g}, that of a uniform guess"
    return (
        "`above 0` and `below 0` count the regimes whose 95% interval of the paired difference to "
        "the method corrected lies above or below 0, after Holm's correction; a family is all "
        "regimes of one method in one objective. The other score is user accuracy where the score "
        "is sample accuracy, and the reverse. A run whose accuracy or loss is not finite counts as "
        f"accuracy 0. `lost` counts runs whose loss is not finite{guess}."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
