"""Tables of the papers beside our runs, and their form in LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.analysis.compare.render import grounds
from f3ast_tff.analysis.report.claims import FilledTable, fill
from f3ast_tff.analysis.report.document import Grid
from f3ast_tff.analysis.report.layout import table_grids
from f3ast_tff.analysis.report.published_tables import PaperTable, published_tables
from f3ast_tff.analysis.report.render import to_latex
from f3ast_tff.analysis.run_groups import collect
from tests.analysis.conftest import MakeRun, described


def table(name: str) -> PaperTable:
    return next(each for each in published_tables() if each.name == name)


def filled(name: str, folder: Path) -> list[FilledTable]:
    return fill(table(name), collect(folder).groups, "final")


def make_seeds(
    make_run: MakeRun, algorithm: str, accuracies: Sequence[float], **settings: Any
) -> None:
    """Makes a run on CIFAR-100 per accuracy, each with its own seed and 10 clients a round."""
    common = {"task": "cifar100", "clients_per_round": 10, "algorithm": algorithm, **settings}
    for seed, accuracy in enumerate(accuracies):
        make_run(f"{'-'.join(map(str, common.values()))}-{seed}", accuracy, seed=seed, **common)


def test_claims_follow_from_the_printed_numbers() -> None:
    sources = Counter(claim.source for each in published_tables() for claim in each.claims)
    assert sources == {
        **{"Table III": 20, "Table IV": 20, "Table VII": 10, "Table VIII": 10, "Table IX": 3},
        **{"Fig. 2": 6, "Fig. 3": 6, "Fig. 4": 2, "CA-Fed, Fig. 1": 15, "FedLaAvg, Table 2": 2},
        "FedAWE, Table 2": 4,
    }
    same = [
        (claim.source, claim.task, claim.at)
        for each in published_tables()
        for claim in each.claims
        if claim.relation == "same"
    ]
    assert same == [
        ("Table III", "cifar100", "uneven"),
        ("Table III", "shakespeare", "uneven"),
        ("Table VII", "shakespeare", "uneven"),
    ]


def test_a_cell_beside_the_papers(make_run: MakeRun, tmp_path: Path) -> None:
    """F3AST 0.4, 0.6, 0.5 over FedAvg 0.2, 0.3, 0.25: means 0.5 and 0.25, +100%.

    Differences are 0.2, 0.3, 0.25: mean 0.25, standard error 0.05 / sqrt 3, t(0.975; 2) = 4.3027,
    no skewness. The whole interval [0.126, 0.374] is above the paper's 0.105.
    """
    make_seeds(make_run, "f3ast", [0.4, 0.6, 0.5], availability="scarce", rounds=1000)
    make_seeds(make_run, "fedavg", [0.2, 0.3, 0.25], availability="scarce", rounds=1000)
    ran, not_run = filled("table3", tmp_path)
    cell = ran.cells["cifar100", "f3ast", "scarce"]
    assert cell.ours is not None
    assert (cell.ours.mean, cell.ours.deviation) == pytest.approx((0.5, 0.1))
    assert (cell.relative, cell.paper) == (pytest.approx(1.0), 0.201)
    assert cell.paper_relative == pytest.approx(0.201 / 0.096 - 1)
    always = ran.cells["cifar100", "f3ast", "always"]
    assert (always.ours, always.relative, always.paper) == (None, None, 0.198)
    (judged,) = [c for c in ran.comparisons if c.claim.source == "Table III" and c.found]
    assert judged.found is not None
    assert judged.verdict is not None
    assert (judged.found.mean, judged.found.low) == pytest.approx(
        (0.25, 0.25 - 4.3026527 * 0.05 / 3**0.5)
    )
    assert (judged.verdict.word, judged.verdict.size) == ("better", "larger")
    assert (judged.at, judged.claim.paper) == ("scarce", pytest.approx(0.105))
    others = [c.verdict.reason for c in ran.comparisons if c.verdict and not c.found]
    assert set(others) == {"not run"}
    assert not_run.variant is None
    assert not_run.tasks == ["shakespeare", "synthetic"]


def test_other_rounds_than_the_papers_judge_nothing(make_run: MakeRun, tmp_path: Path) -> None:
    make_seeds(make_run, "f3ast", [0.5, 0.51, 0.52])
    make_seeds(make_run, "fedavg", [0.2] * 3)
    ran = filled("table3", tmp_path)[0]
    (judged,) = [c for c in ran.comparisons if c.found]
    assert judged.verdict is not None
    assert (judged.verdict.word, judged.verdict.size) == ("not judged", "open")
    assert judged.verdict.reason == "4 rounds, 1000 are needed"


def test_table_nine_needs_alpha_in_both_places(make_run: MakeRun, tmp_path: Path) -> None:
    common = {"availability": "smartphones", "clients_per_round": 10}
    make_run("a", 0.5, synthetic_alpha=0.5, synthetic_beta=0.5, **common)
    make_run("b", 0.6, synthetic_alpha=0.0, synthetic_beta=1.0, **common)
    (ran,) = filled("table9", tmp_path)
    means = {at: ran.cells["synthetic", "f3ast", at].ours for at in ran.columns}
    assert means[0] is None
    assert means[0.5] is not None
    assert means[0.5].mean == 0.5
    # Neither run is on Synthetic(1, 1).
    assert all(each.variant is None for each in filled("table3", tmp_path))


def test_the_gap_over_k(make_run: MakeRun, tmp_path: Path) -> None:
    """F3AST's lead is 0.1 at K = 5 and 0.3, 0.31, ..., 0.34 at K = 20, on five draws."""
    for draw in range(5):
        for k, lead in ((5, 0.1), (20, 0.3 + draw / 100)):
            for algorithm, accuracy in (("fedavg", 0.2), ("f3ast", 0.2 + lead)):
                make_run(
                    f"{k}{algorithm}{draw}",
                    accuracy,
                    algorithm=algorithm,
                    clients_per_round=k,
                    rounds=1000,
                    data_seed=draw,
                )
    (ran,) = filled("fig4", tmp_path)
    assert ran.columns == (5, 20)
    (wider,) = [c for c in ran.comparisons if "widens" in c.claim.title]
    assert wider.found is not None
    assert wider.verdict is not None
    assert (wider.found.mean, wider.at) == (pytest.approx(0.22), "5 to 20")
    assert (wider.verdict.word, wider.verdict.size) == ("better", None)
    assert wider.claim.source == "Fig. 4"


def test_sequential_sgd_has_a_column_of_its_own(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", 0.5, task="cifar10_one_class", algorithm="sequential_sgd")
    make_run("b", 0.2, task="cifar10_one_class", algorithm="fedlaavg")
    (ran,) = filled("fedlaavg_table2", tmp_path)
    sequential = ran.cells["cifar10_one_class", "sequential_sgd", "none"]
    assert sequential.ours is not None
    assert (sequential.ours.mean, sequential.paper) == (pytest.approx(0.5), 0.6159)
    best = ran.cells["cifar10_one_class", "fedlaavg", "always"]
    assert best.ours is not None
    assert (best.ours.mean, best.paper) == (0.25, 0.647)
    assert ("cifar10_one_class", "fedavg", "none") not in ran.cells


def test_cafeds_f3ast_has_a_k_and_a_reading_of_its_own(make_run: MakeRun, tmp_path: Path) -> None:
    common = {"task": "leaf_synthetic", "availability": "four_classes"}
    make_run("a", 0.8, algorithm="ca_fed", clients_per_round=100, **common)
    make_run("b", 0.7, algorithm="f3ast", clients_per_round=45, **common)
    given = {"clients_per_round": 45, "reading": "ca_fed"}
    make_run("c", 0.6, algorithm="f3ast_of_ca_fed", **given, **common)
    ran = filled("cafed_fig1", tmp_path)[0]
    means = {
        name: cell.ours.mean for (_, name, _), cell in ran.cells.items() if cell.ours is not None
    }
    assert means == {"ca_fed": 0.8, "f3ast": 0.7, "f3ast_of_ca_fed": 0.6}


def test_components_of_plug_ins_come_after_the_papers(make_run: MakeRun, tmp_path: Path) -> None:
    """A plug-in's algorithm, availability model and task have their own row, column and block."""
    lucky = {"algorithm": ("Lucky Draw", 1), "task": ("Coins", 1)}
    k = {"clients_per_round": 10}
    for task in ("synthetic", "coins"):
        for availability in ("always", "rainy", "mix"):
            given = {"task": task, "availability": availability, **k}
            rainy = {"availability": ("Rainy", 1)} if availability == "rainy" else {}
            base, says = (
                described(**rainy, task=("Coins", 1)),
                described(("luck",), **lucky, **rainy),
            )
            make_run(f"a{given}", algorithm="fedavg", described=base, **given)
            make_run(f"b{given}", 0.7, algorithm="lucky", luck=0.5, described=says, **given)
    ran = filled("table3", tmp_path)[0]
    assert ran.columns[:5] == ("always", "scarce", "home_devices", "uneven", "smartphones")
    assert ran.columns[5:] == ("rainy", "mix")
    assert ran.tasks == ["synthetic", "coins"]
    assert ran.algorithms("coins")[-1] == "lucky"
    assert ran.display("lucky") == "Lucky Draw"
    grids = table_grids("x", ran)
    # Only columns with runs or with numbers of the paper.
    assert [grid.head[1:] for grid in grids] == [("Always", "Rainy", "Mix")]
    assert "Coins" in grids[0].groups
    ours = ran.cells["coins", "lucky", "rainy"].ours
    assert ours is not None and ours.mean == 0.7
    assert ran.cells["coins", "lucky", "scarce"].ours is None
    # Tasks of other papers stay in their own tables.
    make_run("c", task="mnist", availability="rainy", **k)
    assert "mnist" not in filled("table3", tmp_path)[0].tasks
    assert filled("cafed_fig1", tmp_path)[0].columns == ("four_classes", "rainy")


SMALL: dict[str, dict[str, Any]] = {
    "cifar100": {"model": "small_cnn", "rounds": 500},
    "shakespeare": {"model": "character_lstm", "lstm_units": 32, "rounds": 300},
}


def small_runs(make_run: MakeRun, leads: list[float]) -> None:
    """Makes F3AST lead FedAvg by `leads`, one per seed, on both tasks under `uneven`."""
    for task, settings in SMALL.items():
        given = {"task": task, "availability": "uneven", **settings}
        make_seeds(make_run, "fedavg", [0.2] * len(leads), **given)
        make_seeds(make_run, "f3ast", [0.2 + lead for lead in leads], **given)


def test_small_networks_are_a_variant_with_verdicts_of_its_own(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """A lead of 0.02 is far below the paper's 0.134, but better: only the direction is judged.

    Differences are 0.0199, 0.02, 0.0201: t = 0.02 / (0.0001 / sqrt 3) = 346, p = 8e-6.
    """
    small_runs(make_run, [0.0199, 0.02, 0.0201])
    ran, not_run = filled("table3", tmp_path)
    assert ran.label == "small networks, reading paper"
    assert ran.tasks == ["cifar100", "shakespeare"]
    cell = ran.cells["cifar100", "f3ast", "uneven"]
    assert cell.ours is not None and cell.paper == 0.206
    judged = [c for c in ran.comparisons if c.verdict and c.found]
    assert [c.verdict.word for c in judged if c.verdict] == ["better", "better"]
    assert [c.verdict.size for c in judged if c.verdict] == [None, None]
    assert judged[0].claim.paper == pytest.approx(0.134)
    assert judged[0].verdict is not None and grounds(judged[0].verdict) == "better"
    # The published networks are not run.
    assert not_run.variant is None
    assert not_run.tasks == ["cifar100", "shakespeare", "synthetic"]
    assert all(cell.ours is None for cell in not_run.cells.values())


def test_small_networks_stand_apart_from_the_published_ones(
    make_run: MakeRun, tmp_path: Path
) -> None:
    small_runs(make_run, [0.1])
    common = {"task": "cifar100", "availability": "uneven", "clients_per_round": 10}
    make_run("big", 0.9, algorithm="f3ast", model="resnet18", rounds=1000, **common)
    make_run("cnn", 0.8, algorithm="f3ast", model="cafed_cnn", rounds=1000, **common)
    found = {each.label: each for each in filled("table3", tmp_path)}
    assert list(found) == [
        "reading paper",
        "other networks, reading paper",
        "small networks, reading paper",
        "not run",
    ]
    means = []
    for each in found.values():
        ours = each.cells.get(("cifar100", "f3ast", "uneven"))
        means.append(ours.ours.mean if ours and ours.ours else None)
    assert means == [0.9, 0.8, pytest.approx(0.3), None]
    assert found["not run"].tasks == ["shakespeare", "synthetic"]


def test_fewer_rounds_than_the_small_networks_need(make_run: MakeRun, tmp_path: Path) -> None:
    make_seeds(make_run, "fedavg", [0.1] * 3, model="small_cnn", rounds=400)
    make_seeds(make_run, "f3ast", [0.3, 0.31, 0.32], model="small_cnn", rounds=400)
    (judged,) = [c for c in filled("table3", tmp_path)[0].comparisons if c.found]
    assert judged.verdict is not None
    assert judged.verdict.reason == "400 rounds, 500 are needed"


def two_methods(
    make_run: MakeRun, base: list[float | None], ours: list[float | None], loss: bool = False
) -> None:
    """Makes FedAvg and F3AST on CIFAR-100 under `scarce`, one seed per value; `None` diverged."""
    given = {"task": "cifar100", "availability": "scarce", "clients_per_round": 10, "rounds": 1000}
    for algorithm, values in (("fedavg", base), ("f3ast", ours)):
        for seed, value in enumerate(values):
            score = {"accuracy": 0.1, "loss": value} if loss else {"accuracy": value, "loss": value}
            make_run(f"{algorithm}{seed}", algorithm=algorithm, seed=seed, **score, **given)


def judged_of(name: str, folder: Path) -> Any:
    (judged,) = [c for c in filled(name, folder)[0].comparisons if c.found and c.claim.source]
    return judged.verdict


@pytest.mark.parametrize("loss", [True, False])
def test_a_method_that_diverges_in_most_runs_loses(
    make_run: MakeRun, tmp_path: Path, loss: bool
) -> None:
    name = "table4" if loss else "table3"
    two_methods(make_run, [0.2, 0.3, 0.4], [None, 0.2, None], loss)
    verdict = judged_of(name, tmp_path)
    assert (verdict.word, verdict.size) == ("worse", "open")
    assert verdict.reason == "A diverged in 2 of 3 runs"
    assert verdict.level is None


def test_few_diverged_runs_are_the_worst_of_a_sign_test(make_run: MakeRun, tmp_path: Path) -> None:
    """Ten seeds, one of them diverged for FedAvg: 10 of 10 better, p = 2 / 1024."""
    base: list[float | None] = [None, *([0.9] * 9)]
    two_methods(make_run, base, [0.5] * 10, loss=True)
    verdict = judged_of("table4", tmp_path)
    assert (verdict.word, verdict.size) == ("better", "open")
    assert grounds(verdict) == (
        "better in 10 and worse in 0 of 10 seeds (sign test); B diverged in 1 of 10 runs"
    )


def test_the_claims_of_a_figure_are_a_family_of_their_own(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Under home devices, F3AST against FedAvg is a claim of both Table III and Fig. 2.

    Table III has two more claims here. So levels are corrected for 3 tests there, and for 1 in the
    figure.
    """
    for availability in ("home_devices", "scarce", "always"):
        given = {"availability": availability, "rounds": 1000}
        make_seeds(make_run, "fedavg", [0.1] * 3, **given)
        make_seeds(make_run, "f3ast", [0.2, 0.201, 0.202], **given)
    found = [c for c in filled("table3", tmp_path)[0].comparisons if c.found and c.verdict]
    levels: dict[str, list[float]] = {}
    for each in found:
        assert each.verdict is not None and each.verdict.level is not None
        levels.setdefault(each.claim.source, []).append(each.verdict.level)
    assert levels["Fig. 2"] == [0.95]
    assert sorted(levels["Table III"]) == pytest.approx([0.95, 0.975, 1 - 0.05 / 3])


def test_a_table_in_latex() -> None:
    """Lines of a cell become rows, a group's heading spans the table, and signs are escaped."""
    rows = (("A_1", "0.5 ± 0.1\npaper 40%"), ("B", "−"), ("C-1", "-0.5 [-.1, +2]"))
    grid = Grid("t1", "A & B", ("method", "K = 5"), rows, groups=("one", "one", "two"))
    assert to_latex(grid).splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{A \& B}",
        r"\label{tab:t1}",
        r"\begin{tabular}{ll}",
        r"\toprule",
        r"method & K = 5 \\",
        r"\midrule",
        r"\multicolumn{2}{l}{\emph{one}} \\",
        r"A\_1 & 0.5 $\pm$ 0.1 \\",
        r" & paper 40\% \\",
        r"B & $-$ \\",
        r"\midrule",
        r"\multicolumn{2}{l}{\emph{two}} \\",
        r"C-1 & $-$0.5 [$-$.1, $+$2] \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
