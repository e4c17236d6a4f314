"""Whether two runs of one experiment agree, for example on two engines.

python -m f3ast_tff.analysis.agreement RUN_FOLDER RUN_FOLDER
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from f3ast_tff.analysis.command_line import BAD_INPUT
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.runs import Run, load_runs
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say

DISAGREE = 1
TOLERANCE = 1e-4
_SCORES = ("train_loss", "test_sample_loss", "test_user_loss", "update_norm")


def main(argv: Sequence[str]) -> int:
    """Compares two run folders; the exit code is 0 only if they agree."""
    if any(word in ("--help", "-h") for word in argv[1:]):
        show((__doc__ or "").strip())
        return 0
    if len(argv) != 3:
        return _fail("give two run folders")
    try:
        first, second = (_only_run(Path(os.path.expanduser(folder))) for folder in argv[1:])
        worst, selections_equal = differences(first, second)
    except RunsError as error:
        return _fail(str(error))
    engines = " and ".join(str(run.settings.get("engine")) for run in (first, second))
    said = "the same clients" if selections_equal else "DIFFERENT clients"
    show(
        f"{engines}: {said} over {first.settings['rounds']} rounds, "
        f"losses differ by at most {worst:.1e} relatively (limit {TOLERANCE:.0e})"
    )
    return 0 if selections_equal and worst <= TOLERANCE else DISAGREE


def differences(first: Run, second: Run) -> tuple[float, bool]:
    """Compares two finished runs.

    Returns:
        The largest relative difference of losses and update norms over all evaluated rounds
        (infinite if a value of one run is not finite and differs), and whether both runs selected
        the same clients in every round.

    Raises:
        RunsError: If a run is unfinished or damaged, lacks a column, or evaluated other rounds.
    """
    for run in (first, second):
        if run.summary is None:
            raise RunsError(f"{run.path} is not finished")
    if not np.array_equal(first.metrics["round"], second.metrics["round"]):
        raise RunsError(f"{first.path} and {second.path} evaluated different rounds")
    a, b = _scores(first), _scores(second)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        relative = np.abs(a - b) / np.maximum(np.abs(a), 1e-12)
    found = np.where(np.isfinite(a) & np.isfinite(b), relative, np.where(same, 0.0, np.inf))
    worst = float(found.max(initial=0.0))
    return worst, bool(np.array_equal(_selected(first), _selected(second)))


def _scores(run: Run) -> np.ndarray:
    missing = [name for name in _SCORES if name not in run.metrics]
    if missing:
        raise RunsError(f"{run.path / 'metrics.csv'} has no column {', '.join(missing)}")
    return run.metrics[list(_SCORES)].to_numpy(np.float64)


def _selected(run: Run) -> np.ndarray:
    try:
        return run.selection()["selected"]
    except KeyError as error:
        raise RunsError(f"{run.path / 'selection.npz'} holds no {error}") from error


def _only_run(folder: Path) -> Run:
    runs = load_runs(folder)
    if len(runs) != 1:
        raise RunsError(f"{folder} holds {len(runs)} runs, not one")
    return runs[0]


def _fail(message: str) -> int:
    say(f"error: {message}")
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv))
