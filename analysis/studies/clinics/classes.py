"""Scores of the last models by class and site, with hours, from the runs; and their table.

python -m f3ast_tff.analysis.studies.clinics.classes --runs runs/clinics
    --out analysis/studies/clinics/classes.csv
python -m f3ast_tff.analysis.studies.clinics.classes --scores analysis/studies/clinics/classes.csv
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets.mnist import MNIST
from f3ast_tff.files.messages import show
from f3ast_tff.run.saved_run import load_run
from f3ast_tff.settings import parameter

CLASS = "class_5"
_KEY = ["algorithm", "delivery", "quorum", "device_jitter"]
_SCORES = ["sample", "class_3", "class_5", "class_8", "worst_site", "arriving_minus_all"]


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = parameter("", "folder of the campaign's runs, to write --out from")
    out: str = parameter("", "CSV to write")
    scores: str = parameter("", "CSV of an earlier call, to print its tables")


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the CSV or prints the tables."""
    if flags.scores:
        show(tables_of(pd.read_csv(flags.scores, keep_default_na=False)))
        return
    folders = sorted(path.parent for path in Path(flags.runs).glob("**/summary.json"))
    rows = pd.DataFrame([scores_of(folder) for folder in folders])
    rows.sort_values([*_KEY, "draw"]).to_csv(flags.out, index=False)


@lru_cache(maxsize=16)
def _data(draw: int, data_dir: str, label_counts: str, scale: float) -> FederatedData:
    task = MNIST(
        num_clients=8,
        data_seed=draw,
        data_dir=data_dir,
        partition="counts",
        label_counts=label_counts,
        scale=scale,
    )
    return task.drawn(task.build(), pooled=False)


def scores_of(folder: Path) -> Mapping[str, Any]:
    """Returns the row of a run."""
    run = load_run(folder)
    settings = run.settings
    draw, scale = settings["data_seed"], settings["scale"]
    data = _data(draw, settings["data_dir"], settings["label_counts"], scale)
    assert run.trained is not None
    right = np.asarray(run.trained.predict(data.test.features)) == data.test.labels
    sites = np.repeat(np.arange(data.test.num_clients), data.test.sizes)
    by_site = np.bincount(sites, right) / data.test.sizes
    chosen = run.selection
    arrived = np.where(chosen["delivered"], chosen["selected"], -1)
    came = np.array([(arrived == k).any(axis=1).mean() for k in range(data.test.num_clients)])
    usual = np.isin(sites, np.flatnonzero(came >= 0.5))
    hours = float(chosen["round_seconds"].sum()) / 3600
    successes = int((chosen["num_delivered"] > 0).sum())
    quorum = settings.get("quorum") if settings["delivery"] == "quorum" else None
    found = {
        "algorithm": settings["algorithm"],
        "delivery": settings["delivery"],
        "quorum": "" if quorum is None else quorum,
        "device_jitter": settings["device_jitter"],
        "draw": draw,
        "sample": right.mean(),
        **{f"class_{c}": right[data.test.labels == c].mean() for c in (3, 5, 8)},
        "worst_site": by_site.min(),
        "arriving_minus_all": right[usual].mean() - right.mean() if usual.any() else np.nan,
        "largest_arrives": came[0],
        "successes": successes,
        "hours_per_success": hours / max(successes, 1),
    }
    return {n: round(float(v), 6) if isinstance(v, float) else v for n, v in found.items()}


def tables_of(scores: pd.DataFrame) -> str:
    """Returns means over draws, and what the plan asked of class accuracies, as Markdown."""
    rows = []
    columns = [*_SCORES, "largest_arrives", "successes", "hours_per_success"]
    for key, group in scores.groupby(_KEY, sort=False):
        means = [f"{pd.to_numeric(group[column]).mean():.3f}" for column in columns]
        rows.append([*map(str, key), str(len(group)), *means])
    text = [markdown_table([*_KEY, "draws", *columns], rows), ""]
    for jitter in sorted({*scores["device_jitter"]}, reverse=True):
        for a, b in (
            (("fedavg", 5), ("fedavg", 8)),
            (("f3ast", 5), ("fedavg", 5)),
            (("f3ast", 5), ("fedavg", 8)),
        ):
            one, other = (_by_draw(scores, *each, jitter) for each in (a, b))
            found = Paired(one, other, higher_is_better=True).found
            if found is not None:
                ours, theirs = (float(np.mean(list(each.values()))) for each in (one, other))
                ends = f"[{found.low:+.3f}, {found.high:+.3f}]"
                text.append(
                    f"- sigma {jitter}, {CLASS}: {a[0]} {a[1]} {ours:.3f}, {b[0]} {b[1]} "
                    f"{theirs:.3f}, difference {found.mean:+.3f} {ends}, {found.num_draws} draws"
                )
    return "\n".join(text)


def _by_draw(scores: pd.DataFrame, algorithm: str, quorum: int, jitter: float) -> dict[Pair, float]:
    chosen = scores[
        (scores["algorithm"] == algorithm)
        & (scores["quorum"].astype(str).isin((str(quorum), f"{quorum}.0")))
        & (scores["device_jitter"] == jitter)
    ]
    return {Pair(d, d): float(v) for d, v in zip(chosen["draw"], chosen[CLASS])}


if __name__ == "__main__":
    sys.exit(main(sys.argv))
