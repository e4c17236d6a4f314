"""Groups of runs: variants of a table, and which curves share a panel."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.report.figures import curve_figures
from f3ast_tff.analysis.report.variants import told_apart, variants
from f3ast_tff.analysis.run_groups import collect
from tests.analysis.conftest import MakeRun, described

CELL = ("task", "availability")


def test_draws_and_seeds_alone_are_averaged_over(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", 0.4, seed=0, data_dir="/here", run_name="a")
    make_run("b", 0.6, seed=1, data_dir="/there", run_name="b")
    make_run("c", 0.9, seed=1, batch_size=10)
    make_run("d", 0.7, seed=1, data_seed=4)
    # Tasks without a data seed, and run folders without one, count as draw 0.
    make_run("e", 0.1, seed=1, batch_size=30, data_seed=None)
    groups = collect(tmp_path).groups
    scores = [group.at("sample_accuracy", "final") for group in groups]
    assert len(scores) == 3
    assert {Pair(0, 0): 0.4, Pair(0, 1): 0.6, Pair(4, 1): 0.7} in scores
    assert {Pair(0, 1): 0.9} in scores and {Pair(0, 1): 0.1} in scores
    (several,) = [group for group in groups if len(group.runs) == 3]
    assert several.draws == [0, 4]
    assert "data_seed" not in several.settings


def test_metrics_and_periods(make_run: MakeRun, tmp_path: Path) -> None:
    """Accuracy is 0.25, then 0.2, which is also the last 10% of two evaluations."""
    make_run("a", accuracy=0.2, loss=None)
    (group,) = collect(tmp_path).groups
    first = Pair(0, 0)
    assert group.at("sample_accuracy", "final") == {first: 0.2}
    assert group.at("sample_accuracy", "mean_of_last_10_percent") == {first: 0.2}
    assert group.at("best_sample_accuracy", "final") == {first: 0.25}
    assert group.at("converged_sample_accuracy", "final") == {first: 0.2}
    assert math.isnan(group.at("sample_loss", "final")[first])


def test_what_cannot_be_used_is_listed(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a")
    unfinished = make_run("b", unfinished=True, seed=1)
    damaged = make_run("c", seed=2)
    (damaged / "config.json").write_text("{")
    again = make_run("d")
    failed = unfinished.with_name("e")
    failed.mkdir()
    (failed / "error.txt").write_text("Traceback:\nDataError: no file\n\n")
    found = collect(tmp_path)
    assert found.num_finished == 1
    assert found.unfinished == [
        f"{failed}: failed before its first round; DataError: no file",
        f"{unfinished}: 4 of 4 rounds evaluated",
    ]
    assert len(found.damaged) == 1
    assert str(damaged / "config.json") in found.damaged[0]
    assert len(found.repeated) == 1
    assert found.repeated[0].startswith(str(again))


def test_a_variant_for_each_world(make_run: MakeRun, tmp_path: Path) -> None:
    for reading, short in (("paper", "available_only"), ("released", "fill_unavailable")):
        for algorithm in ("fedavg", "f3ast"):
            make_run(
                f"{reading}-{algorithm}", reading=reading, algorithm=algorithm, short_rounds=short
            )
    found = variants(collect(tmp_path).groups, CELL)
    assert [(v.label, len(v.groups)) for v in found] == [
        ("reading paper", 2),
        ("reading released", 2),
    ]


def test_settings_of_an_algorithm_split_it_alone(make_run: MakeRun, tmp_path: Path) -> None:
    """F3AST with two step sizes gives two sets of runs; FedAvg's run is in both."""
    make_run("a", algorithm="fedavg", rate_beta=0.001)
    make_run("b", algorithm="f3ast", rate_beta=0.001)
    make_run("c", algorithm="f3ast", rate_beta=0.01)
    make_run("d", algorithm="f3ast_adam", rate_beta=0.001, server_lr=0.03)
    found = variants(collect(tmp_path).groups, CELL)
    assert [v.settings for v in found] == [{"rate_beta": 0.001}, {"rate_beta": 0.01}]
    for variant in found:
        assert [g.algorithm for g in variant.groups] == ["fedavg", "f3ast", "f3ast_adam"]


def test_a_setting_of_one_availability_model_splits_it_alone(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Scarce has two values of q; always, which has none, is beside both."""
    make_run("a", availability="always")
    make_run("b", availability="scarce", scarce_q=0.2)
    make_run("c", availability="scarce", scarce_q=0.5)
    make_run("d", availability="uneven", local_steps=5)
    make_run("e", availability="uneven")
    found = variants(collect(tmp_path).groups, CELL)
    cells = [(v.settings, sorted(str(g.setting("availability")) for g in v.groups)) for v in found]
    assert cells == [
        ({"local_steps": 5}, ["uneven"]),
        ({"local_steps": None, "scarce_q": 0.2}, ["always", "scarce", "uneven"]),
        ({"local_steps": None, "scarce_q": 0.5}, ["always", "scarce", "uneven"]),
    ]


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
