"""The papers' tables and figures as data: printed numbers and claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """A claim of a paper: A is better than B.

    Attributes:
        source: Figure or table of the claim, `""` for a comparison that no paper claims; claims of
            one source are corrected together.
        metric: The score.
        a: The algorithm said to be better.
        b: The other algorithm.
        task: The task.
        at: Column of the table; `None` for every column.
        relation: Relation claimed, of `judge.RELATIONS`.
        paper: The paper's a - b; `None` if it gives no number.
        seeds: Fewest common pairs of data draw and seed for a verdict, if the data are not
            generated.
        what: Quantity claimed, if it is not the score itself.
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
        """Source and quantity, such as `Fig. 4, gap widens`."""
        return ", ".join(filter(None, [self.source, self.what]))


def paper_values(file: str, across: str) -> dict[tuple[str, Any, str], float]:
    """Returns the printed numbers of a file by task, value of the column `across` and algorithm."""
    frame = pd.read_csv(_PRINTED / file, keep_default_na=False)
    keys = zip(frame["task"], frame[across].tolist(), frame["algorithm"])
    return dict(zip(keys, frame["value"].astype(float)))


def from_baselines(
    source: str,
    metric: str,
    values: Mapping[tuple[str, Any, str], float],
    baselines: Mapping[str, str],
) -> tuple[Claim, ...]:
    """Makes claims from a printed table: each algorithm better than its baseline in each cell.

    If the paper prints no gain, the claim is that both are the same (F3AST Sec. IV-A: "for all
    but the Uneven model where the accuracy remains the same").
    """
    sign = 1 if metric.endswith("accuracy") else -1
    claims = []
    for (task, at, a), value in values.items():
        if a in baselines:
            b = baselines[a]
            difference = round(value - values[task, at, b], 6)
            relation = "better" if sign * difference > 0 else "same"
            claims.append(
                Claim(source, metric, a, b=b, task=task, at=at, relation=relation, paper=difference)
            )
    return tuple(claims)


def _figure(source: str, metric: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(source, metric, a="f3ast", b=other, task=task, at="home_devices")
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
    Claim("Fig. 4", "sample_accuracy", "f3ast", b=other, task="synthetic", relation="not worse")
    for other in ("fedavg", "poc")
)


def of_cafed() -> tuple[Claim, ...]:
    """Returns "CA-Fed consistently outperforms the baselines" (Sec. V-B), with its lead."""
    gains = pd.read_csv(_PRINTED / "cafed_fig1_gain.csv")
    return tuple(
        Claim(
            source="CA-Fed, Fig. 1",
            metric="sample_accuracy",
            a="ca_fed",
            b=other,
            task=task,
            at="four_classes",
            paper=gain if other == "adafed" else None,
            seeds=CAFED_SEEDS,
        )
        for task, gain in zip(gains["task"], gains["value"].astype(float))
        for other in _CAFED_BASELINES
    )


FEDAWE_DYNAMICS = ("stationary", "staircase", "sine", "interleaved_sine")
AVAILABILITIES = ("always", "scarce", "home_devices", "uneven", "smartphones")
ALGORITHMS = ("fedavg", "f3ast", "fedadam", "f3ast_adam", "poc")
# F3AST's variants and their baselines.
BASELINES = {"f3ast": "fedavg", "f3ast_adam": "fedadam"}


@dataclass(frozen=True)
class PaperTable:
    """A published table.

    Attributes:
        name: Name of its files.
        title: Its heading.
        metric: Score, see `RunGroup.scores`.
        across: The setting whose values head the columns.
        columns: Values of that setting; empty for all values of the runs, at least 2. Further
            availability models follow if they were run.
        tasks: Tasks, each with a block of rows; some have no numbers in the paper.
        algorithms: Rows of a block; further algorithms follow if they were run.
        baselines: Baseline of each algorithm.
        fixed: Settings that a run must have.
        follows: Settings that must equal the column's value.
        rounds: Number of rounds in the paper, by task.
        values: The paper's numbers by task, column and algorithm.
        free: Further settings in which rows may differ, besides an algorithm's own settings.
        claims: The paper's claims.
        note: Note for the reader.
        further_tasks: Whether blocks of further tasks follow.
    """

    name: str
    title: str
    metric: str
    across: str
    columns: tuple[Any, ...]
    tasks: tuple[str, ...]
    algorithms: tuple[str, ...] = ALGORITHMS
    baselines: Mapping[str, str] = field(default_factory=lambda: BASELINES)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    follows: tuple[str, ...] = ()
    rounds: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[tuple[str, Any, str], float] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    note: str = ""
    further_tasks: bool = False

    def takes_task(self, task: str) -> bool:
        """Whether runs of a task belong into the table."""
        of_no_paper = task not in (*_F3AST_TASKS, *_CA_FED_TASKS, *_FEDLAAVG_TASKS)
        return task in self.tasks or (self.further_tasks and of_no_paper)


_PAPER_ROUNDS = {"cifar100": 1000, "shakespeare": 500}
# Settings of every run in F3AST's tables.
_F3AST = {"clients_per_round": 10, "constraint": None}
_F3AST_TASKS = ("cifar100", "shakespeare", "synthetic", "synthetic_linear")
_CA_FED_TASKS = ("leaf_synthetic", "mnist", "cifar10")
_FEDLAAVG_TASKS = ("cifar10_one_class",)


def _by_availability(
    name: str, title: str, file: str, figure: tuple[Claim, ...] = ()
) -> PaperTable:
    number, _, metric = title.partition(": ")
    metric, values = metric.replace(" ", "_"), paper_values(file, "availability")
    return PaperTable(
        name,
        title,
        metric,
        across="availability",
        columns=AVAILABILITIES,
        tasks=_F3AST_TASKS,
        fixed=_F3AST,
        rounds=_PAPER_ROUNDS,
        values=values,
        claims=(
            *from_baselines(number, metric=metric, values=values, baselines=BASELINES),
            *figure,
        ),
        note="Synthetic(1,1) has no numbers in the paper's table.",
        further_tasks=True,
    )


def published_tables() -> list[PaperTable]:
    """Returns the tables, in the order of the report."""
    heterogeneity = paper_values("f3ast_arxiv_table9_heterogeneity.csv", "alpha")
    fedlaavg = paper_values("fedlaavg_table2_accuracy.csv", "availability")
    fedawe = paper_values("fedawe_table2_accuracy.csv", "availability")
    by = _by_availability
    return [
        by("table3", "Table III: sample accuracy", "f3ast_table3_sample_accuracy.csv", FIG_2),
        by("table4", "Table IV: sample loss", "f3ast_table4_sample_loss.csv", FIG_3),
        by("table7", "Table VII: user accuracy", "f3ast_arxiv_table7_user_accuracy.csv"),
        by("table8", "Table VIII: user loss", "f3ast_arxiv_table8_user_loss.csv"),
        PaperTable(
            name="table9",
            title="Table IX: sample accuracy on Synthetic(alpha, alpha), smartphones",
            metric="sample_accuracy",
            across="synthetic_alpha",
            columns=(0, 0.5, 1),
            tasks=("synthetic",),
            algorithms=("fedavg", "f3ast"),
            baselines={"f3ast": "fedavg"},
            fixed={**_F3AST, "availability": "smartphones"},
            follows=("synthetic_beta",),
            values=heterogeneity,
            claims=from_baselines(
                source="Table IX",
                metric="sample_accuracy",
                values=heterogeneity,
                baselines={"f3ast": "fedavg"},
            ),
        ),
        PaperTable(
            name="fig4",
            title="Fig. 4: sample accuracy against K, clients a round",
            metric="sample_accuracy",
            across="clients_per_round",
            columns=(),
            tasks=("synthetic",),
            algorithms=("fedavg", "f3ast", "poc"),
            baselines={"f3ast": "fedavg"},
            fixed={"constraint": None},
            claims=FIG_4,
            note="The paper prints no numbers. Further claim: the gap widens as K grows.",
        ),
        PaperTable(
            name="cafed_fig1",
            title="CA-Fed, Fig. 1: sample accuracy under Markov availability",
            metric="sample_accuracy",
            across="availability",
            columns=("four_classes",),
            tasks=_CA_FED_TASKS,
            algorithms=("ca_fed", *_CAFED_BASELINES),
            baselines={"ca_fed": "adafed"},
            free=("clients_per_round", "reading"),
            rounds={"leaf_synthetic": 200},
            claims=of_cafed(),
            note="The paper draws curves; of numbers it prints CA-Fed's lead over AdaFed alone. "
            "Its F3AST takes fewer clients a round than the others; it is run as in its own paper "
            "and by CA-Fed's rule.",
        ),
        PaperTable(
            name="fedlaavg_table2",
            title="FedLaAvg, Table 2: best sample accuracy",
            metric="best_sample_accuracy",
            across="availability",
            columns=("always", "alternating", "none"),
            tasks=_FEDLAAVG_TASKS,
            algorithms=("fedavg", "fedlaavg", "fedavg_then_fedlaavg", "sequential_sgd"),
            baselines={"fedlaavg": "fedavg"},
            values=fedlaavg,
            # "FedLaAvg outperforms FedAvg in the two client availability models" (Sec. 5.2).
            claims=from_baselines(
                "FedLaAvg, Table 2",
                metric="best_sample_accuracy",
                values=fedlaavg,
                baselines={"fedlaavg": "fedavg"},
            ),
            note="Column none: sequential SGD, which has no clients; mean of its last 10%.",
        ),
        PaperTable(
            name="fedawe_table2",
            title="FedAWE, Table 2: sample accuracy on CIFAR-10",
            metric="sample_accuracy",
            across="availability",
            columns=FEDAWE_DYNAMICS,
            tasks=("cifar10",),
            algorithms=tuple(dict.fromkeys(algorithm for _, _, algorithm in fedawe)),
            baselines={"fedawe": "uniform", "f3ast": "uniform"},
            fixed={"dirichlet_draws": "classes_of_client"},
            free=("clients_per_round",),
            rounds={"cifar10": 2000},
            values=fedawe,
            claims=from_baselines(
                "FedAWE, Table 2",
                metric="sample_accuracy",
                values=fedawe,
                baselines={"fedawe": "uniform"},
            ),
            note="Uniform is FedAvg over active clients, Unbiased FedAvg with known p. Which "
            "implementation of F3AST the authors ran is not known.",
        ),
    ]
