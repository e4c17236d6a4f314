"""What methods do to phones that are seldom available, from the selections of finished runs.

python -m f3ast_tff.analysis.studies.real_phones.rare_phones --runs runs/real_phones
    --out analysis/studies/real_phones/rare_phones.csv
python -m f3ast_tff.analysis.studies.real_phones.rare_phones
    --kept analysis/studies/real_phones/rare_phones.csv

The first command writes the file, and needs the traces; the second prints it as a table. Only runs
on Synthetic with p_k = 1 / N count. The phones of a trace are grouped by the number of rounds of a
run in which they were available.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.real_phones import phones
from f3ast_tff.analysis.study_runs import method_name
from f3ast_tff.analysis.texts import markdown_table, write_csv
from f3ast_tff.files.messages import show
from f3ast_tff.settings import parameter

REGIMES = {
    "flash_ready_1000": phones.FlashReady,
    "flash300_6d": phones.Flash300,
    "fedscale300": phones.FedScale300,
}
# Algorithm and aggregation.
METHODS = ("f3ast/sum", "unbiased/sum", "fedau/sum", "fedavg_all/mean")
# Methods whose largest weights are shown.
WEIGHTED = METHODS[:2]
_METHOD, _KEYS = ("algorithm", "aggregation"), ["availability", "rounds_available"]
# Upper ends of the groups, rounds available of 1000.
GROUPS = (0, 2, 20, 100, 1000)


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str | None = parameter(None, "folder of the campaign", is_path=True)
    out: str | None = parameter(None, "CSV file to write or replace", is_path=True)
    kept: str | None = parameter(None, "the file, to be printed", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the file, or prints it."""
    if flags.kept is not None:
        show(_table(pd.read_csv(flags.kept)))
        return
    if flags.runs is None or flags.out is None:
        raise RunsError("give --runs and --out, or --kept")
    rows = [row for folder in sorted(Path(flags.runs).glob("runs/*")) for row in _of_run(folder)]
    if not rows:
        raise RunsError(f"{flags.runs} has no finished run of these methods")
    of = {"phones": "mean", "selected": "mean", "influence": "mean", "largest_weight": "max"}
    found = pd.DataFrame(rows).groupby([*_KEYS, "method"], sort=False).agg(of).reset_index()
    write_csv(found.round(4), flags.out)
    show(f"{len(found)} rows: {flags.out}")


def _table(kept: pd.DataFrame) -> str:
    """A row per group of phones."""
    wide = kept.pivot(index=_KEYS, columns="method")
    rows = []
    for regime in REGIMES:
        part = wide.loc[regime]
        for group in sorted(part.index, key=lambda text: int(str(text).split("-")[0])):
            one = part.loc[group]
            cells = [f"{one['phones', METHODS[0]]:.0f}", f"{one['selected', METHODS[0]]:.2f}"]
            cells += [f"{one['influence', method]:.2f}" for method in METHODS]
            cells += [f"{one['largest_weight', method]:.2f}" for method in WEIGHTED]
            rows.append([regime, str(group), *cells])
    names = [method_name("synthetic", dict(zip(_METHOD, each.split("/")))) for each in METHODS]
    head = ["regime", "rounds there", "phones", f"chosen by {names[0]}"]
    head += [f"influence, {name}" for name in names]
    head += [f"largest weight, {name}" for name in names[: len(WEIGHTED)]]
    return markdown_table(head, rows)


def _of_run(folder: Path) -> Iterator[dict[str, object]]:
    config = folder / "config.json"
    if not (folder / "summary.json").exists() or not config.exists():
        return
    settings = json.loads(config.read_text(encoding="utf-8"))["settings"]
    method = "/".join(settings[name] for name in _METHOD)
    objective = settings["task"], settings["client_share"]
    if method not in METHODS or objective != ("synthetic", "equal"):
        return
    with np.load(folder / "selection.npz", allow_pickle=False) as file:
        selected, weights, p = file["selected"], file["weights"], file["p"]
    if settings["aggregation"] == "mean":
        weights = weights / np.nansum(weights, axis=1, keepdims=True)
    process = REGIMES[settings["availability"]]().build(p, settings["seed"])
    available = np.sum([process.mask(t) for t in range(1, len(selected) + 1)], axis=0)
    yield from (
        {"availability": settings["availability"], "method": method, **row}
        for row in influences(available, selected, weights, p)
    )


def influences(
    available: np.ndarray, selected: np.ndarray, weights: np.ndarray, p: np.ndarray
) -> Iterator[dict[str, object]]:
    """Yields a row per group of phones.

    Weights count as they are in a sum; weights of a mean must be divided by their sum before.

    Args:
        available: Rounds in which each phone was available, `int [N]`.
        selected: Phones of each round's cohort, -1 for none, `int [T, K]`.
        weights: Their weights, `float [T, K]`.
        p: Shares of the objective, `float [N]`.

    Yields:
        `rounds_available`, such as `3-20`; `phones`; `selected`, rounds in which a phone was
        selected per round in which it was available; `influence`, the share of a phone in all
        weights of the run over p_k, so that 1 is what the objective asks; `largest_weight`.
    """
    there = selected >= 0
    ids, of_id = selected[there], weights[there]
    times = np.bincount(ids, minlength=len(p))
    influence = np.bincount(ids, of_id, len(p)) / of_id.sum() / p
    largest = np.zeros(len(p))
    np.maximum.at(largest, ids, of_id)
    for low, high in zip((-1, *GROUPS), GROUPS):
        group = (low < available) & (available <= high)
        if group.any():
            rounds = max(int(available[group].sum()), 1)
            yield {
                "rounds_available": str(high) if high == low + 1 else f"{low + 1}-{high}",
                "phones": int(group.sum()),
                "selected": times[group].sum() / rounds,
                "influence": float(influence[group].mean()),
                "largest_weight": float(largest[group].max()),
            }


if __name__ == "__main__":
    sys.exit(main(sys.argv))
