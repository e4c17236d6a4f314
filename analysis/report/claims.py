"""What the papers print and claim, as data: A better than B, where, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

# Runs that the papers average over: F3AST, Fig. 2; CA-Fed, Sec. V-B.
F3AST_SEEDS = 3
CAFED_SEEDS = 10
_CAFED_BASELINES = ("adafed", "unbiased", "more_available", "f3ast", "f3ast_of_ca_fed")
_PRINTED = Path(__file__).resolve().parent.parent / "paper_tables"


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        source: The figure or table in which the paper makes it, `""` for no paper's; the claims of
            one are corrected together.
        metric: The score it is about.
        a: The algorithm said to be better.
        b: Than which.
        task: On which task.
        at: In which column of the table; `None` for each one.
        relation: One of `verdicts.RELATIONS`.
        paper: The paper's a - b; `None` where it gives no number.
        seeds: Fewest common pairs of data draw and seed to judge by, where the data are not
            generated.
        what: What is claimed, where it is not the score itself.
    """

    source: str
    metric: str
    a: str
    b: str
    task: str
    at: Any = None
    relation: str = "better"
    paper: float | None = None
    seeds: int = F3AST_SEEDS
    what: str = ""

    @property
    def title(self) -> str:
        """Where and what, such as `Fig. 4, gap widens`."""
        return ", ".join(filter(None, [self.source, self.what]))


def paper_values(file: str, across: str) -> dict[tuple[str, Any, str], float]:
    """Reads one table.

    Args:
        file: Name of the file.
        across: The column whose values head the table's columns.

    Returns:
        The printed number by task, value of `across` and algorithm.
    """
    frame = pd.read_csv(_PRINTED / file, keep_default_na=False)
    keys = zip(frame["task"], frame[across].tolist(), frame["algorithm"])
    return dict(zip(keys, frame["value"].astype(float)))


def from_baselines(
    source: str,
    metric: str,
    values: Mapping[tuple[str, Any, str], float],
    baselines: Mapping[str, str],
    across: str = "availability",
) -> tuple[Claim, ...]:
    """Reads claims off a printed table: each algorithm better than its baseline in each cell.

    Where the paper prints no gain the claim is that both are the same (F3AST Sec. IV-A: "for all
    but the Uneven model where the accuracy remains the same").
    """
    sign = 1 if metric.endswith("accuracy") else -1
    claims = []
    for (task, at, algorithm), value in values.items():
        if algorithm in baselines:
            difference = round(value - values[task, at, baselines[algorithm]], 6)
            relation = "better" if sign * difference > 0 else "same"
            claims.append(
                Claim(
                    source, metric, algorithm, baselines[algorithm], task, at, relation, difference
                )
            )
    return tuple(claims)


def _figure(source: str, metric: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(source, metric, "f3ast", other, task, "home_devices")
        for task in ("synthetic", "cifar100", "shakespeare")
        for other in ("fedavg", "poc")
    )


# "F3AST achieves higher accuracy than FEDAVG and PoC on all datasets" (home devices).
FIG_2 = _figure("Fig. 2", "sample_accuracy")
# "In all cases F3AST converges to a model with smaller objective value."
FIG_3 = _figure("Fig. 3", "sample_loss")
# "F3AST achieves equal or higher performance than competing methods across all communication
# levels."
FIG_4 = tuple(
    Claim("Fig. 4", "sample_accuracy", "f3ast", other, "synthetic", relation="not worse")
    for other in ("fedavg", "poc")
)


def of_cafed() -> tuple[Claim, ...]:
    """Returns "CA-Fed consistently outperforms the baselines" (Sec. V-B), with its lead."""
    gains = pd.read_csv(_PRINTED / "cafed_fig1_gain.csv")
    return tuple(
        Claim(
            "CA-Fed, Fig. 1",
            "sample_accuracy",
            "ca_fed",
            other,
            task,
            "four_classes",
            paper=gain if other == "adafed" else None,
            seeds=CAFED_SEEDS,
        )
        for task, gain in zip(gains["task"], gains["value"].astype(float))
        for other in _CAFED_BASELINES
    )


def of_fedlaavg(values: Mapping[tuple[str, Any, str], float]) -> tuple[Claim, ...]:
    """Returns "FedLaAvg outperforms FedAvg in the two client availability models" (Sec. 5.2)."""
    return from_baselines(
        "FedLaAvg, Table 2", "best_sample_accuracy", values, {"fedlaavg": "fedavg"}
    )
