"""CA-Fed's figures as campaigns: published values, and methods that otherwise agree."""

from __future__ import annotations

import functools
from typing import Any

import pandas as pd
import pytest

import f3ast_tff.analysis
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.grid_file import built_in_campaigns, find_grid_file
from f3ast_tff.campaigns.planned import Campaign
from f3ast_tff.campaigns.runs import PlannedRun

DRAWS = 12
BENCHMARKS = ("unbiased", "more_available", "adafed", "f3ast", "f3ast_of_ca_fed")
ALL = (*BENCHMARKS, "ca_fed")
TRADE_OFF = ("unbiased", "more_available", "ca_fed")
# Campaign: task, rounds, local steps, methods, runs per draw.
FIGURES: dict[str, tuple[str, int, int, tuple[str, ...], int]] = {
    "cafed_fig1a": ("leaf_synthetic", 200, 2, ALL, 7),
    "cafed_fig1b": ("mnist", 100, 5, ALL, 7),
    "cafed_fig1c": ("cifar10", 200, 2, ALL, 6),
    "cafed_fig2": ("leaf_synthetic", 500, 2, TRADE_OFF, 2 + 5),
    "cafed_fig3": ("leaf_synthetic", 200, 2, TRADE_OFF, 5 * (2 + 4)),
    # F3AST with its own rule does not estimate availability.
    "cafed_fig4b": ("mnist", 50, 5, ALL, 5 * 7 + 1),
    "cafed_fig5": ("mnist", 100, 5, ALL, 2 + 6),
}
# The authors' grid of App. G1.
CLIENT_RATES = {2.0, 1.0, 0.3, 0.1, 0.03, 0.01}
SERVER_RATES = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}
# Settings that may differ between methods of a figure, besides settings of a single method.
OWN = {"algorithm", "aggregation", "client_lr", "server_lr", "clients_per_round", "run_name"}


@functools.cache
def built_in(name: str) -> Campaign:
    return plan(find_grid_file(name), {})


def published_rates() -> dict[tuple[str, str], tuple[float, float]]:
    """Returns Table II: client and server learning rate by task and algorithm."""
    table = pd.read_csv(f"{f3ast_tff.analysis.__path__[0]}/paper_tables/cafed_learning_rates.csv")
    return {(row.task, row.algorithm): (row.client_lr, row.server_lr) for row in table.itertuples()}


RUNS = [pytest.param(name, id=name) for name in FIGURES]


def test_these_are_all_campaigns() -> None:
    found = {name for name in built_in_campaigns() if name.startswith("cafed_")}
    assert found == {*FIGURES, "cafed_ablation"}


@pytest.mark.parametrize("name", RUNS)
def test_runs_and_draws(name: str) -> None:
    """Each method sees draws 0 to 11, each with its own data and randomness."""
    runs = built_in(name).runs
    _, _, _, methods, a_draw = FIGURES[name]
    assert len(runs) == DRAWS * a_draw
    assert {run.settings["algorithm"] for run in runs} == set(methods)
    assert all(run.settings["data_seed"] == run.settings["seed"] for run in runs)
    for method in methods:
        seeds = {run.settings["seed"] for run in runs if run.settings["algorithm"] == method}
        assert seeds == set(range(DRAWS))


@pytest.mark.parametrize("name", RUNS)
def test_published_values(name: str) -> None:
    """Sec. V-A and App. G1; classes and the spread of features are the public code's."""
    task, rounds, steps, _, _ = FIGURES[name]
    expected: dict[str, Any] = {"task": task, "rounds": rounds, "local_steps": steps}
    expected.update(num_clients=100, batch_size=32)
    if task == "leaf_synthetic":
        expected.update(feature_spread="variance", synthetic_alpha=0.5)
    if name == "cafed_fig5":
        expected.update(
            availability="markov_clusters",
            cluster_pi=",".join(["0.9"] * 5 + ["0.1"] * 5),
            cluster_eigenvalues="0,0,0,0,0,0.5,0.6,0.7,0.8,0.9",
        )
    else:
        expected.update(availability="four_classes", markov_g=0.4, markov_nu=0.9)
        expected.update(markov_epsilon=0.01, markov_order="shuffled", markov_classes="three")
    if task != "leaf_synthetic" and name != "cafed_fig5":
        expected.update(dirichlet_s=0.5)
    if task == "leaf_synthetic" and name != "cafed_fig3":
        expected.update(synthetic_beta=0.5)
    for run in built_in(name).runs:
        assert {key: run.settings[key] for key in expected} == expected
        assert run.settings.get("ridge") == (None if task == "cifar10" else 0.01)


@pytest.mark.parametrize("name", RUNS)
def test_learning_rates(name: str) -> None:
    """Table II; on LEAF synthetic, one pair per method from the authors' grid."""
    table = published_rates()
    for run in built_in(name).runs:
        settings = run.settings
        rates = settings["client_lr"], settings["server_lr"]
        if settings["task"] == "leaf_synthetic":
            assert rates[0] in CLIENT_RATES and rates[1] in SERVER_RATES
        else:
            method = settings["algorithm"].removesuffix("_of_ca_fed")
            assert rates == table[settings["task"], method]


def test_figures_of_leaf_synthetic_share_learning_rates() -> None:
    rates: dict[tuple[str, str], set[tuple[float, float]]] = {}
    for name in ("cafed_fig1a", "cafed_fig2", "cafed_fig3"):
        for run in built_in(name).runs:
            key = run.settings["algorithm"], run.settings.get("ca_fed_bias", "")
            rates.setdefault(key, set()).add((run.settings["client_lr"], run.settings["server_lr"]))
    assert {len(found) for found in rates.values()} == {1}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_of_one_method(name: str) -> None:
    """All available clients take part, except for F3AST's K = 45; beta = 1 / T, tau = 0."""
    activity = "estimated" if name == "cafed_fig4b" else "oracle"
    for run in built_in(name).runs:
        settings = run.settings
        assert settings.get("availability_knowledge") == (
            None if settings["algorithm"] == "f3ast" else activity
        )
        if settings["algorithm"].startswith("f3ast"):
            assert settings["clients_per_round"] == 45
            assert settings["rate_beta"] == pytest.approx(1 / settings["rounds"])
        else:
            assert settings["clients_per_round"] == settings["num_clients"]
        if settings["algorithm"] == "ca_fed":
            assert (settings["tau"], settings["loss_beta"]) == (0, 1)
            # The printed rule with running minima, or the public code's with trained ones.
            forms = {("paper", "running"), ("released", "trained")}
            assert (settings["ca_fed_bias"], settings["loss_minima"]) in forms


@pytest.mark.parametrize("name", [n for n in FIGURES if n not in ("cafed_fig3", "cafed_fig5")])
def test_methods_of_a_figure_differ_in_nothing_else(name: str) -> None:
    """Within a draw, shared settings are equal, apart from the methods' own."""
    runs = [run for run in built_in(name).runs if run.settings["seed"] == 0]
    first = runs[0].settings
    of_one_kind = {"kappa2", "ca_fed_bias", "loss_minima", "availability_history"}
    for run in runs[1:]:
        shared = (first.keys() & run.settings.keys()) - OWN - of_one_kind
        assert {k for k in shared if first[k] != run.settings[k]} == set()


def test_figures_2_and_3_move_what_they_show() -> None:
    two, three = ([_moved(run) for run in built_in(n).runs] for n in ("cafed_fig2", "cafed_fig3"))
    assert {k for k, _ in two} == {None, 0.01, 0.1, 1.0, 10.0, 100.0}
    kappas, levels = (None, 0.01, 1.0, 10.0, 100.0), (0.0, 0.25, 0.5, 0.75, 1.0)
    assert set(three) == {(k, level) for k in kappas for level in levels}


def _moved(run: PlannedRun) -> tuple[Any, Any]:
    return run.settings.get("kappa2"), run.settings["synthetic_beta"]


def test_panels_of_figure_5_differ_in_the_data_alone() -> None:
    """Fig. 5a: all clients alike; 5b: alike within clusters; 5c has the clients of 5d."""
    runs = {run.name: run.settings for run in built_in("cafed_fig5").runs}
    base = runs["5d_ca_fed-draw0"]
    for panel, moved in (("5a", {"dirichlet_s": 1e6}), ("5b", {"dirichlet_groups": 10})):
        settings = runs[f"{panel}_ca_fed-draw0"]
        differing = {k: v for k, v in settings.items() if v != base[k] and k != "run_name"}
        assert differing == moved


def test_campaigns_say_what_is_published_and_what_is_chosen() -> None:
    for name in ("cafed_fig1a", "cafed_fig1b", "cafed_fig1c", "cafed_fig5"):
        about = built_in(name).about
        assert "Published:" in about and "public code" in about and "Chosen here:" in about


def test_the_ablation_moves_one_cause_at_a_time() -> None:
    """Compared with the runs of Fig. 1a and 1b of the same method on the same draw."""
    base = {
        (run.settings["task"], run.settings["algorithm"]): run.settings
        for name in ("cafed_fig1a", "cafed_fig1b")
        for run in built_in(name).runs
        if run.settings["seed"] == 0 and run.settings.get("ca_fed_bias", "paper") == "paper"
    }
    moved: dict[str, dict[str, Any]] = {
        "even": {"client_sizes": "even"},
        "augmented": {"client_sizes": "augmented", "markov_order": "blocks"},
        "four_classes": {"markov_classes": "four"},
        "deviation": {"feature_spread": "deviation"},
        "equal_rates": {"client_lr": 0.1, "server_lr": 1.0},
    }
    for run in built_in("cafed_ablation").runs:
        if run.settings["seed"] != 0:
            continue
        before = base[run.settings["task"], run.settings["algorithm"]]
        assert before.keys() == run.settings.keys()
        differing = {k: v for k, v in run.settings.items() if before[k] != v}
        for name in ("run_name", "output_dir", "reading"):
            differing.pop(name, None)
        expected = moved[run.name.partition("-")[0]]
        assert differing == {k: v for k, v in expected.items() if before[k] != v}
