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
)
from f3ast_tff.analysis.report.paper_values import paper_values
from f3ast_tff.analysis.report.samples import AS_IN_CA_FED

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
        metric: As `Sample.scores` takes it.
        across: The setting whose values head the columns.
        columns: Those values; empty for all that runs have, at least 2.
        tasks: A block of rows each; the others have no numbers in the paper.
        algorithms: Rows of a block; further ones follow if they were run.
        baselines: Algorithm -> the one it is compared with.
        fixed: Settings that a run must have.
        follows: Settings that must equal the column's value.
        rounds: Number of rounds in the paper, by task.
        values: The paper's numbers by task, column and algorithm.
        free: Settings that rows may differ in, beside those of an algorithm.
        claims: The paper's claims.
        note: What to know when reading it.
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


_PAPER_ROUNDS = {"cifar100": 1000, "shakespeare": 500}
# Synthetic(1, 1): the tasks without these settings have other values, or none.
_F3AST = {"clients_per_round": 10, "communication": None}
_F3AST_TASKS = ("cifar100", "shakespeare", "synthetic", "synthetic_linear")


def _by_availability(
    name: str, title: str, metric: str, file: str, figure: tuple[Claim, ...]
) -> PaperTable:
    values = paper_values(file, "availability")
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
        claims=(*from_baselines(title.split(":")[0], metric, values, BASELINES), *figure),
        note="Synthetic(1,1) has no numbers in the paper's table.",
    )


def published_tables() -> list[PaperTable]:
    """Returns the tables, in the order of the report."""
    heterogeneity = paper_values("f3ast_arxiv_table9_heterogeneity.csv", "alpha")
    fedlaavg = paper_values("fedlaavg_table2_accuracy.csv", "availability")
    return [
        _by_availability(
            "table3",
            "Table III: sample accuracy",
            "sample_accuracy",
            "f3ast_table3_sample_accuracy.csv",
            FIG_2,
        ),
        _by_availability(
            "table4",
            "Table IV: sample loss",
            "sample_loss",
            "f3ast_table4_sample_loss.csv",
            FIG_3,
        ),
        _by_availability(
            "table7",
            "Table VII: user accuracy",
            "user_accuracy",
            "f3ast_arxiv_table7_user_accuracy.csv",
            (),
        ),
        _by_availability(
            "table8",
            "Table VIII: user loss",
            "user_loss",
            "f3ast_arxiv_table8_user_loss.csv",
            (),
        ),
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
            ("markov",),
            ("leaf_synthetic", "mnist", "cifar10"),
            ("ca_fed", "adafed", "unbiased", "more_available", "f3ast", AS_IN_CA_FED),
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
            ("cifar10_one_class",),
            ("fedavg", "fedlaavg", "fedavg_then_fedlaavg", "sequential_sgd"),
            {"fedlaavg": "fedavg"},
            {},
            values=fedlaavg,
            claims=of_fedlaavg(fedlaavg),
            note="Column none: sequential SGD, which has no clients; mean of its last 10%.",
        ),
    ]
