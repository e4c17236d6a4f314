"""Cumulative importance, the mean weight over all rounds, by class of clients (CA-Fed, Fig. 1d).

python -m f3ast_tff.analysis.studies.cumulative_importance --runs runs/NAME --out importance.csv

The classes come from the availability `four_classes` and are grouped as in the figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, read_finished, runs_flag
from f3ast_tff.analysis.compare.scored import RunsError, varying
from f3ast_tff.analysis.run_groups import comparable_groups
from f3ast_tff.analysis.runs import Run, takes_mean
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.analysis.tidy_scores import labelled
from f3ast_tff.availability import FourClassesConfig
from f3ast_tff.files.messages import show

# Column with the group of clients, and the classes in each group, see `FourClassesConfig.draw`.
CLIENTS = "clients"
GROUPS = {
    "more_available": (0, 1),
    "less_available_weakly_correlated": (3,),
    "less_available_correlated": (2,),
}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = out_flag("CSV")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    table = cumulative_importance(read_finished(flags.runs))
    write_csv(table, flags.out)
    show(f"{len(table)} rows: {flags.out}")


def cumulative_importance(runs: Sequence[Run]) -> pd.DataFrame:
    """Returns the cumulative importance of finished runs, a row per run and group of clients.

    Returns:
        Columns `task`, `algorithm`, the further settings that differ between runs, `data_seed`,
        `seed`, `clients`, of `GROUPS`; `weight`, the sum over these clients of the mean weight
        (1 / T) sum_t q_k^(t), where an absent client has weight 0; `weight_share`, its share of the
        weight of all clients (NaN if that is 0); `p`, the sum of their p_k; `ratio`, weight / p
        (NaN if p is 0). Numbers have six decimals.

    Raises:
        RunsError: If a run has another availability, its aggregation is a plug-in's, or its
            `selection.npz` is damaged.
    """
    groups, names = comparable_groups(runs)
    differing = [name for name in varying(groups, names) if name != "task"]
    return labelled(groups, ["task", "algorithm", *differing], _of_run).round(6)


def _of_run(run: Run) -> pd.DataFrame:
    arrays = run.selection()
    p = arrays["p"]
    weights, classes = _mean_weights(run, arrays), _classes(run, len(p))
    total = float(weights.sum())
    rows = []
    for name, numbers in GROUPS.items():
        members = np.isin(classes, numbers)
        weight, share = float(weights[members].sum()), float(p[members].sum())
        rows.append(
            {
                CLIENTS: name,
                "weight": weight,
                "weight_share": weight / total if total else np.nan,
                "p": share,
                "ratio": weight / share if share else np.nan,
            }
        )
    return pd.DataFrame(rows)


def _mean_weights(run: Run, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Mean over the rounds of each client's weight in the aggregate, `float64 [N]`."""
    selected, weights, sums = (arrays[name] for name in ("selected", "weights", "weight_sum"))
    if "late_clients" in arrays:
        selected = np.hstack([selected, arrays["late_clients"]])
        weights = np.hstack([weights, arrays["late_weights"]])
    if takes_mean(run):
        weights = weights / np.where(sums > 0, sums, 1)[:, None]
    there = selected >= 0
    found = np.bincount(selected[there], weights[there], minlength=len(arrays["p"]))
    return found / max(len(selected), 1)


def _classes(run: Run, num_clients: int) -> np.ndarray:
    settings = run.settings
    if settings["availability"] != "four_classes":
        raise RunsError(f"{run.path} has availability {settings['availability']}, not four_classes")
    if settings.get("availability_draws") == "by_round_only":
        raise RunsError(f"{run.path} draws its classes by availability_draws=by_round_only")
    names = [each.name for each in fields(FourClassesConfig)]
    config = FourClassesConfig(**{name: settings[name] for name in names})
    return config.draw(num_clients, settings["seed"])[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv))
