"""What curves are drawn against: rounds, simulated time, or bytes sent both ways."""

from __future__ import annotations

import numpy as np
import pandas as pd

from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.analysis.runs import Run, RunsError

# By name, the label of the axis.
X_AXES = {
    "rounds": "round",
    "simulated_seconds": "simulated time in seconds",
    "bytes": "bytes sent both ways",
}


def positions(group: RunGroup, rounds: np.ndarray, x: str) -> np.ndarray:
    """Returns where the evaluations of a group are, the mean over its runs, `float64 [n]`.

    Args:
        group: The runs.
        rounds: Evaluated rounds, `int [n]`.
        x: One of `X_AXES`.

    Raises:
        RunsError: If a run does not have it; names the run.
    """
    if x == "rounds":
        return rounds
    found = []
    for run in group.runs.values():
        values = _values(run, x).reindex(rounds).to_numpy(np.float64)
        if not np.isfinite(values).all():
            raise RunsError(f"{run.path} has no {x} to draw against: no clock, see --delivery")
        found.append(values)
    return np.mean(found, axis=0)


def has_clock(group: RunGroup) -> bool:
    """Whether all runs of a group know how long their rounds take."""
    return all(np.isfinite(_values(run, "simulated_seconds")).all() for run in group.runs.values())


def _values(run: Run, x: str) -> pd.Series:
    metrics = run.metrics.set_index("round")
    missing = pd.Series(np.nan, metrics.index)
    if x == "bytes":
        return metrics.get("bytes_down", missing) + metrics.get("bytes_up", missing)
    return metrics.get(x, missing)
