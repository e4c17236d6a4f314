"""Which curves share a panel, and their labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.report.figures import curve_figures
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.run_groups import collect
from tests.analysis.conftest import MakeRun, described


def test_a_sweep_is_in_one_panel(make_run: MakeRun, tmp_path: Path) -> None:
    """Lines, values and deviations are available to the pointer, at their pixels."""
    for beta, accuracy in ((0.001, 0.5), (0.01, 0.6), (0.1, 0.7)):
        for seed in range(2):
            name = f"a{beta}-{seed}"
            make_run(name, accuracy + seed / 10, algorithm="f3ast", rate_beta=beta, seed=seed)
    make_run("only", 0.3, algorithm="fedavg")
    groups = collect(tmp_path).groups
    picture, of_loss = curve_figures("synthetic", groups)
    (accuracy_panel,) = picture.panels
    assert of_loss.name == f"{picture.name}_loss"
    assert [trace.label for trace in accuracy_panel.traces] == [
        "FedAvg",
        "F3AST, rate_beta 0.001",
        "F3AST, rate_beta 0.01",
        "F3AST, rate_beta 0.1",
    ]
    fedavg, *_, last = accuracy_panel.traces
    assert (fedavg.runs, fedavg.spread) == ("only", None)
    assert last.runs == "mean of 2 seeds of one draw of the data"
    np.testing.assert_allclose(last.y, [0.25, 0.75])
    assert last.spread is not None
    np.testing.assert_allclose(last.spread, [0, 0.1 / 2**0.5], atol=1e-12)
    # The upper left and lower right corners of the axes, as matplotlib places them.
    axes = picture.figure.axes[0]
    left, top, right, bottom = accuracy_panel.box
    shares = axes.transAxes.transform([[0, 1], [1, 0]]) / picture.figure.bbox.size
    np.testing.assert_allclose([[left, 1 - top], [right, 1 - bottom]], shares)
    assert accuracy_panel.y == axes.get_ylim()


def test_many_lines_are_split_into_sweeps_and_sets(make_run: MakeRun, tmp_path: Path) -> None:
    """F3AST and FedAvg at seven K: 14 lines.

    Each method has its sweep, and one K has a third method.
    """
    for k in range(1, 8):
        for algorithm in ("fedavg", "f3ast"):
            make_run(f"{algorithm}{k}", algorithm=algorithm, clients_per_round=k)
    make_run("poc", algorithm="poc", clients_per_round=3)
    names = [each.name for each in curve_figures("synthetic", collect(tmp_path).groups)]
    assert names == [
        f"curves_synthetic_{name}{score}"
        for name in ("clients_per_round_fedavg", "clients_per_round_f3ast", "3")
        for score in ("", "_loss")
    ]


def test_networks_have_figures_of_their_own(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", task="cifar100", model="resnet18")
    make_run("b", task="cifar100", model="small_cnn")
    pictures = curve_figures("cifar100", collect(tmp_path).groups)
    assert [each.caption.partition(":")[0] for each in pictures[::2]] == [
        "CIFAR-100",
        "CIFAR-100, small networks",
    ]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({"local_steps": 5}, {}, [{"local_steps": 5}, {"local_steps": None}]),
        # Readings that the preset decides are not named beside the preset.
        (
            {"reading": "released", "short_rounds": "fill_unavailable"},
            {"short_rounds": "available_only"},
            [{"reading": "released"}, {"reading": "paper"}],
        ),
        # A setting that a run lacks, as in an older version, is named if nothing else differs.
        ({"luck": 0.5}, {}, [{"luck": 0.5}, {}]),
    ],
)
def test_what_tells_groups_apart(
    first: dict[str, object],
    second: dict[str, object],
    told: list[dict[str, object]],
    make_run: MakeRun,
    tmp_path: Path,
) -> None:
    make_run("a", described=described(("luck",)), **first)
    make_run("b", described=described(("luck",)), **second)
    make_run("c", algorithm="poc")
    found = told_apart(collect(tmp_path).groups)
    by_run = {group.first.path.name: each for group, each in found.items()}
    assert [by_run["a"], by_run["b"], by_run["c"]] == [*told, {}]
