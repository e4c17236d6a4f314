"""The tables to regenerate, as data: what stands in a cell, and what the papers claim of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from f3ast_tff.analysis.report.claims import (
    FIG_2,
    FIG_3,
    FIG_4,
    Claim,
    from_baselines,
    of_cafed,
    of_fedlaavg,
    paper_values,
)

FEDAWE_DYNAMICS = ("stationary", "staircase", "sine", "interleaved_sine")
AVAILABILITIES = ("always", "scarce", "home_devices", "uneven", "smartphones")
ALGORITHMS = ("fedavg", "f3ast", "fedadam", "f3ast_adam", "poc")
# F3AST and what it is measured against.
BASELINES = {"f3ast": "fedavg", "f3ast_adam": "fedadam"}


@dataclass(frozen=True)
class PaperTable:
    """One table.

    Attributes:
        name: Of its files.
        title: Its heading.
        metric: As `RunGroup.scores` takes it.
        across: The setting whose values head the columns.
        columns: Those values; empty for all that runs have, at least 2. Further availability
            models follow if they were run.
        tasks: A block of rows each; some have no numbers in the paper.
        algorithms: Rows of a block; further ones follow if they were run.
        baselines: Algorithm -> the one it is compared with.
        fixed: Settings that a run must have.
        follows: Settings that must equal the column's value.
        rounds: Number of rounds in the paper, by task.
        values: The paper's numbers by task, column and algorithm.
        free: Settings that rows may differ in, beside those of an algorithm.
        claims: The paper's claims.
        note: What to know when reading it.
        further_tasks: Whether blocks of tasks of no paper follow.
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
        """Whether runs of a task belong into it."""
        of_no_paper = task not in (*_F3AST_TASKS, *_CA_FED_TASKS, *_FEDLAAVG_TASKS)
        return task in self.tasks or (self.further_tasks and of_no_paper)


_PAPER_ROUNDS = {"cifar100": 1000, "shakespeare": 500}
# Synthetic(1, 1): the tasks without these settings have other values, or none.
_F3AST = {"clients_per_round": 10, "communication": None}
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
        "availability",
        AVAILABILITIES,
        _F3AST_TASKS,
        fixed=_F3AST,
        rounds=_PAPER_ROUNDS,
        values=values,
        claims=(*from_baselines(number, metric, values, BASELINES), *figure),
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
            "table9",
            "Table IX: sample accuracy on Synthetic(alpha, alpha), smartphones",
            "sample_accuracy",
            "synthetic_alpha",
            (0, 0.5, 1),
            ("synthetic",),
            ("fedavg", "f3ast"),
            {"f3ast": "fedavg"},
            {**_F3AST, "availability": "smartphones"},
            ("synthetic_beta",),
            values=heterogeneity,
            claims=from_baselines(
                "Table IX", "sample_accuracy", heterogeneity, {"f3ast": "fedavg"}, "synthetic_alpha"
            ),
        ),
        PaperTable(
            "fig4",
            "Fig. 4: sample accuracy against K, clients a round",
            "sample_accuracy",
            "clients_per_round",
            (),
            ("synthetic",),
            ("fedavg", "f3ast", "poc"),
            {"f3ast": "fedavg"},
            {"communication": None},
            claims=FIG_4,
            note="The paper prints no numbers. Further claim: the gap widens as K grows.",
        ),
        PaperTable(
            "cafed_fig1",
            "CA-Fed, Fig. 1: sample accuracy under Markov availability",
            "sample_accuracy",
            "availability",
            ("four_classes",),
            _CA_FED_TASKS,
            ("ca_fed", "adafed", "unbiased", "more_available", "f3ast", "f3ast_of_ca_fed"),
            {"ca_fed": "adafed"},
            {},
            free=("clients_per_round", "reading"),
            rounds={"leaf_synthetic": 200},
            claims=of_cafed(),
            note="The paper draws curves; of numbers it prints CA-Fed's lead over AdaFed alone. "
            "Its F3AST takes fewer clients a round than the others; it is run as in its own paper "
            "and by CA-Fed's rule.",
        ),
        PaperTable(
            "fedlaavg_table2",
            "FedLaAvg, Table 2: best sample accuracy",
            "best_sample_accuracy",
            "availability",
            ("always", "alternating", "none"),
            _FEDLAAVG_TASKS,
            ("fedavg", "fedlaavg", "fedavg_then_fedlaavg", "sequential_sgd"),
            {"fedlaavg": "fedavg"},
            {},
            values=fedlaavg,
            claims=of_fedlaavg(fedlaavg),
            note="Column none: sequential SGD, which has no clients; mean of its last 10%.",
        ),
        PaperTable(
            "fedawe_table2",
            "FedAWE, Table 2: sample accuracy on CIFAR-10",
            "sample_accuracy",
            "availability",
            FEDAWE_DYNAMICS,
            ("cifar10",),
            tuple(dict.fromkeys(algorithm for _, _, algorithm in fedawe)),
            {"fedawe": "uniform", "f3ast": "uniform"},
            {"dirichlet_draws": "classes_of_client"},
            free=("clients_per_round",),
            rounds={"cifar10": 2000},
            values=fedawe,
            claims=from_baselines(
                "FedAWE, Table 2", "sample_accuracy", fedawe, {"fedawe": "uniform"}
            ),
            note="Uniform is FedAvg over active clients, Unbiased FedAvg with known p. Which "
            "implementation of F3AST the authors ran is not known.",
        ),
    ]
