"""Composition of cohorts: the sum of their weights over time, and the clients left out.

python -m f3ast_tff.analysis.studies.cohort_statistics --runs runs/NAME --out cohorts.csv

If the aggregation is a sum, the server moves by sum_k w_k v_k: if the weights sum to 2, the step is
twice as long as for a mean. An unbiased rule has E[sum_k w_k] = 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command, out_flag, read_finished, runs_flag
from f3ast_tff.analysis.compare.scored import varying
from f3ast_tff.analysis.run_groups import RunGroup, comparable_groups
from f3ast_tff.analysis.runs import Run, takes_mean
from f3ast_tff.analysis.texts import write_csv
from f3ast_tff.files.messages import show

# First rounds of the spans over which weights are averaged.
SPANS = (1, 11, 101, 301, 601)
# Share of all clients that count as largest.
LARGEST_SHARE = 0.1


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = out_flag("CSV")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file."""
    table = cohort_statistics(read_finished(flags.runs))
    write_csv(table, flags.out)
    show(f"{len(table)} rows: {flags.out}")


def cohort_statistics(runs: Sequence[Run]) -> pd.DataFrame:
    """Returns statistics of the cohorts of finished runs, a row for each group of runs.

    Returns:
        Columns `task`, `algorithm`, the further settings that differ between groups, `runs`, and
        means over runs of: `weight_sum_from_<t>`, sum_k w_k of a round as it enters the aggregate
        (1 for a mean), over the rounds from t to the next of `SPANS` (NaN where there are none);
        `largest_p`, max p_k; `largest_clients`, the share of picks that went to the tenth of the
        clients with the largest p_k; `never_picked`, the share of clients that were in no cohort.
        If updates may be late: `mean_staleness`, mean rounds from asking for an update to its
        entering; `not_taken`, the share of updates asked for that were lost or dropped;
        `rarest_half`, the share of entering updates from the half of the clients whose updates
        entered least often.

    Raises:
        RunsError: If a run's `selection.npz` is damaged, or its aggregation is a plug-in's.
    """
    groups, names = comparable_groups(runs)
    differing = varying(groups, names)
    return pd.DataFrame([_row(group, differing) for group in groups])


def _row(group: RunGroup, differing: Sequence[str]) -> dict[str, object]:
    settings = {**group.condition(["task"]), "algorithm": group.algorithm}
    settings.update(group.condition(differing))
    found = pd.DataFrame([_of_run(run) for run in group.runs.values()])
    return {**settings, "runs": len(group.runs), **found.mean().round(6)}


def _of_run(run: Run) -> dict[str, float]:
    arrays = run.selection()
    selected, sums, p = (arrays[name] for name in ("selected", "weight_sum", "p"))
    picks = np.bincount(selected[selected >= 0], minlength=len(p))
    largest = np.argsort(-p, kind="stable")[: max(1, round(LARGEST_SHARE * len(p)))]
    if takes_mean(run):
        sums = np.sign(sums)
    spans = zip(SPANS, (*SPANS[1:], len(sums) + 1))
    parts = {start: sums[start - 1 : end - 1] for start, end in spans}
    return {
        **{
            f"weight_sum_from_{t}": part.mean() if len(part) else math.nan
            for t, part in parts.items()
        },
        "largest_p": float(p.max()),
        "largest_clients": float(picks[largest].sum()) / max(int(picks.sum()), 1),
        "never_picked": float(np.mean(picks == 0)),
        **(_of_late(arrays) if "late_clients" in arrays else {}),
    }


def _of_late(arrays: Mapping[str, np.ndarray]) -> dict[str, float]:
    selected, delivered, late = (arrays[n] for n in ("selected", "delivered", "late_clients"))
    rows, _ = np.nonzero(late >= 0)
    waited = rows + 1 - arrays["late_asked_in"][late >= 0]
    entered = np.concatenate([selected[delivered], late[late >= 0]])
    counts = np.sort(np.bincount(entered, minlength=len(arrays["p"])))
    return {
        "mean_staleness": float(waited.sum()) / max(len(entered), 1),
        "not_taken": float(arrays["late_lost"].sum()) / max(int(np.sum(selected >= 0)), 1),
        "rarest_half": float(counts[: len(counts) // 2].sum()) / max(len(entered), 1),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv))
