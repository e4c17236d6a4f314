"""What `selection.npz` tells: who was picked how often, F3AST's rates over time, and p_k.

F3AST weighs an update by p_k / r_k(t) (by that over K where `aggregate` is `sum_over_k`), and its
rates follow from who was selected, eq. (5). So a run's selections and last rates give back r(0),
r(t) and the p_k of every client that was ever selected.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass

import numpy as np

from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.analysis.runs import Run, RunsError

RATE_ALGORITHMS = ("f3ast", "f3ast_adam")
_POINTS = 200
# Below this what is left of r(0) is lost in rounding.
_LEAST_DECAY = 1e-6


@dataclass(frozen=True, eq=False)
class Rates:
    """F3AST's rates in one run.

    Attributes:
        rounds: Rounds t, `int [n]`, from 0.
        values: r(t), `float64 [n, N]`.
        shares: p_k, `float64 [N]`; NaN for a client never selected.
    """

    rounds: np.ndarray
    values: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True, eq=False)
class Selections:
    """Selections of a group of runs.

    Attributes:
        picked: Share of the rounds in which a client was selected, mean over runs, `float64 [N]`.
        rates: Those of the run with the lowest seed; `None` where they are not tracked.
    """

    picked: np.ndarray
    rates: Rates | None


def selections_of(group: RunGroup) -> Selections:
    """Reads the selections of a group's runs.

    Raises:
        RunsError: If the file of one is missing or damaged.
    """
    picked, rates = [], None
    for seed in sorted(group.runs):
        run = group.runs[seed]
        arrays = _read(run)
        selected = arrays["selected"]
        n = int(run.settings.get("num_clients") or selected.max(initial=0) + 1)
        counts = np.bincount(selected[selected >= 0], minlength=n)
        picked.append(counts / max(len(selected), 1))
        if run is group.first:
            rates = _rates(run, arrays, n)
    return Selections(np.mean(picked, axis=0), rates)


def _read(run: Run) -> dict[str, np.ndarray]:
    file = run.path / "selection.npz"
    try:
        with np.load(file) as archive:
            names = ["selected", "weights", *(n for n in archive.files if n == "final_rates")]
            return {name: archive[name] for name in names}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RunsError(f"damaged run: {file}: {' '.join(str(error).split())}") from error


def _rates(run: Run, arrays: dict[str, np.ndarray], n: int) -> Rates | None:
    final = arrays.get("final_rates")
    settings = run.settings
    beta = settings.get("rate_beta")
    num_rounds = len(arrays["selected"])
    tracked = run.settings["algorithm"] in RATE_ALGORITHMS
    k = settings.get("clients_per_round")
    if not tracked or not isinstance(beta, float) or final is None or len(final) != n:
        return None
    if k is None and settings.get("aggregate") == "sum_over_k":
        return None
    if not num_rounds or (1 - beta) ** num_rounds < _LEAST_DECAY:
        return None
    # r(t) = since(t) + (1 - beta)^t r(0), where `since` starts at 0.
    since = np.zeros(n)
    kept = np.unique(np.linspace(0, num_rounds, min(_POINTS, num_rounds) + 1).astype(int))
    values = np.zeros((len(kept), n))
    of_selected = np.zeros(arrays["selected"].shape)
    place = 1
    for t, ids in enumerate(arrays["selected"], start=1):
        since *= 1 - beta
        since[ids[ids >= 0]] += beta
        of_selected[t - 1] = since[ids]
        if place < len(kept) and t == kept[place]:
            values[place] = since
            place += 1
    initial = (final - since) / (1 - beta) ** num_rounds
    values += (1 - beta) ** kept[:, None] * initial
    shares = np.full(n, np.nan)
    decay = (1 - beta) ** np.arange(1, num_rounds + 1)
    ids = arrays["selected"]
    rate = of_selected + decay[:, None] * initial[ids]
    divisor = k if settings.get("aggregate") == "sum_over_k" else 1
    filled = ids >= 0
    shares[ids[filled]] = (arrays["weights"] * rate * divisor)[filled]
    return Rates(kept, values, shares)
