"""Scores of the last models by class and site, with hours, from the runs; and their table.

python -m f3ast_tff.analysis.studies.clinics.classes --runs runs/clinics --goal=0.92
    --out analysis/studies/clinics/classes.csv
python -m f3ast_tff.analysis.studies.clinics.classes --scores analysis/studies/clinics/classes.csv
    --minus=fedavg/5:fedavg/8,f3ast/5:fedavg/5

`hours_to_goal` are the hours until the mean over images first has the score `--goal`, empty for a
run that never has it. The table gives the number of runs that have it, and the median over all
runs, one that never has it being the slowest.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare.paired_difference import difference_of_common
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets.cifar10 import CIFAR10
from f3ast_tff.datasets.mnist import MNIST
from f3ast_tff.files.messages import show
from f3ast_tff.run.saved_run import load_run
from f3ast_tff.settings import parameter

CLASS = "class_5"
_KEY = ["algorithm", "delivery", "quorum", "device_jitter"]
_TASKS = {"mnist": MNIST, "cifar10": CIFAR10}
_SCORES = ["sample", "class_3", "class_5", "class_8", "worst_site", "arriving_minus_all"]


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = parameter("", "folder of the campaign's runs, to write --out from")
    out: str = parameter("", "CSV to write")
    goal: float = parameter(0.92, "accuracy over images that hours are counted to", above=0)
    scores: str = parameter("", "CSV of an earlier call, to print its tables")
    minus: str = parameter(
        "", "differences of class accuracies, as algorithm/quorum:algorithm/quorum, by commas"
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the CSV or prints the tables."""
    if flags.scores:
        pairs = [tuple(pair.split(":")) for pair in flags.minus.split(",") if pair]
        show(tables_of(pd.read_csv(flags.scores, keep_default_na=False), pairs))
        return
    folders = sorted(path.parent for path in Path(flags.runs).glob("**/summary.json"))
    rows = pd.DataFrame([scores_of(folder, flags.goal) for folder in folders])
    rows.sort_values([*_KEY, "draw"]).to_csv(flags.out, index=False)


@lru_cache(maxsize=16)
def _data(name: str, draw: int, data_dir: str, label_counts: str, scale: float) -> FederatedData:
    task = _TASKS[name](
        num_clients=8,
        data_seed=draw,
        data_dir=data_dir,
        partition="counts",
        label_counts=label_counts,
        scale=scale,
    )
    return task.drawn(task.build(), pooled=False)


def scores_of(folder: Path, goal: float) -> Mapping[str, Any]:
    """Returns the row of a run, with hours until an accuracy over images."""
    run = load_run(folder)
    settings = run.settings
    draw, scale = settings["data_seed"], settings["scale"]
    data = _data(settings["task"], draw, settings["data_dir"], settings["label_counts"], scale)
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
    metrics = run.metrics
    there = metrics["simulated_seconds"][metrics["test_sample_accuracy"] >= goal]
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
        "hours_to_goal": there.iloc[0] / 3600 if len(there) else np.nan,
    }
    return {n: round(float(v), 6) if isinstance(v, float) else v for n, v in found.items()}


def tables_of(scores: pd.DataFrame, pairs: Sequence[tuple[str, ...]]) -> str:
    """Returns means over draws, and differences of class accuracies, as Markdown."""
    rows = []
    columns = [*_SCORES, "largest_arrives", "successes", "hours_per_success"]
    for key, group in scores.groupby(_KEY, sort=False):
        means = [f"{pd.to_numeric(group[column]).mean():.3f}" for column in columns]
        hours = pd.to_numeric(group["hours_to_goal"]).fillna(np.inf)
        median = float(np.median(hours))
        found = [str(np.isfinite(hours).sum()), f"{median:.2f}" if median < np.inf else "never"]
        rows.append([*map(str, key), str(len(group)), *means, *found])
    head = [*_KEY, "draws", *columns, "have_goal", "hours_to_goal"]
    text = [markdown_table(head, rows), ""]
    for jitter in sorted({*scores["device_jitter"]}, reverse=True):
        for a, b in pairs:
            one, other = (_by_draw(scores, each, jitter) for each in (a, b))
            found_pair = difference_of_common(one, other)
            if found_pair is not None:
                ours, theirs = (float(np.mean(list(each.values()))) for each in (one, other))
                ends = f"[{found_pair.low:+.3f}, {found_pair.high:+.3f}]"
                text.append(
                    f"- sigma {jitter}, {CLASS}: {a} {ours:.3f}, {b} {theirs:.3f}, "
                    f"difference {found_pair.mean:+.3f} {ends}, {found_pair.num_draws} draws"
                )
    return "\n".join(text)


def _by_draw(scores: pd.DataFrame, name: str, jitter: float) -> dict[Pair, float]:
    """Accuracy on the class by draw of `algorithm/quorum`, or of `algorithm` that waits."""
    algorithm, _, quorum = name.partition("/")
    quorums = scores["quorum"].map(lambda value: str(value).removesuffix(".0"))
    chosen = scores[
        (scores["algorithm"] == algorithm)
        & (scores["delivery"] == "quorum")
        & (quorums == quorum)
        & (scores["device_jitter"] == jitter)
    ]
    return {Pair(d, d): float(v) for d, v in zip(chosen["draw"], chosen[CLASS])}


if __name__ == "__main__":
    sys.exit(main(sys.argv))
