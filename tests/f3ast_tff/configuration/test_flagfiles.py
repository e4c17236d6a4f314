"""The flag files of CA-Fed's figures: what is published stands in them, and each resolves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from absl import flags

from f3ast_tff.command_line import flags as experiment_flags
from f3ast_tff.configuration.resolve import resolve

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path("f3ast_tff/flagfiles")
BENCHMARKS = ("unbiased", "more_available", "adafed", "f3ast", "f3ast_ca_fed_rule")
ALL = (*BENCHMARKS, "ca_fed")
TRADE_OFF = ("unbiased", "more_available", "ca_fed")
# Figure: task, rounds, methods.
FIGURES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "1a": ("leaf_synthetic", 200, ALL),
    "1b": ("mnist", 100, ALL),
    "1c": ("cifar10", 200, ALL),
    "2": ("leaf_synthetic", 500, TRADE_OFF),
    "3": ("leaf_synthetic", 200, TRADE_OFF),
    "4b": ("mnist", 50, ALL),
    "5d": ("mnist", 100, ALL),
}
CELLS = [(figure, method) for figure, (_, _, methods) in FIGURES.items() for method in methods]
# Table II: client and server learning rate. Those of LEAF synthetic are replaced, see below.
TABLE_2: dict[str, dict[str, tuple[float, float]]] = {
    "mnist": {
        "unbiased": (0.03, 1.0),
        "more_available": (0.1, 4.0),
        "ca_fed": (0.1, 1.0),
        "adafed": (0.03, 1.0),
        "f3ast": (0.1, 0.3),
    },
    "cifar10": {
        "unbiased": (0.03, 1.0),
        "more_available": (0.03, 3.0),
        "ca_fed": (0.03, 1.0),
        "adafed": (0.03, 1.0),
        "f3ast": (0.03, 0.3),
    },
}


def given(name: str) -> dict[str, Any]:
    """Returns what a file says, read as `run_experiments.py` reads it."""
    values = flags.FlagValues()
    experiment_flags.define(values)
    path = FOLDER / f"{name}.flags"
    assert experiment_flags.parse(["run_experiments.py", f"--flagfile={path}"], values) == []
    return experiment_flags.given(values)


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files include one another by paths from there."""
    monkeypatch.chdir(ROOT)


def test_these_are_all_files() -> None:
    names = {path.stem for path in (ROOT / FOLDER).iterdir()}
    cells = {f"cafed_fig{figure}_{method}" for figure, method in CELLS}
    assert {name for name in names if name.startswith("cafed_")} == cells | {
        *(f"cafed_fig{figure}" for figure in FIGURES),
        *(f"cafed_fig5{panel}_ca_fed" for panel in "abc"),
    }


@pytest.mark.parametrize(("figure", "method"), CELLS)
def test_published_values(figure: str, method: str) -> None:
    """Sec. V-A, App. G1 and Table II."""
    task, rounds, _ = FIGURES[figure]
    settings = resolve(given(f"cafed_fig{figure}_{method}"))
    algorithm = "f3ast" if method.startswith("f3ast") else method
    assert (settings.task, settings.algorithm, settings.rounds) == (task, algorithm, rounds)
    assert (settings.num_clients, settings.batch_size) == (100, 32)
    assert settings.ridge == (0.0 if task == "cifar10" else 0.01)
    if task == "leaf_synthetic":
        assert (settings.synthetic_alpha, settings.synthetic_beta) == (0.5, 0.5)
        assert (settings.local_steps, settings.client_lr) == (1, 0.1)
    else:
        assert settings.dirichlet_s == 0.5
        assert (settings.client_lr, settings.server_lr) == TABLE_2[task][algorithm]
    if figure == "5d":
        assert settings.availability == "markov_clusters"
        assert settings.cluster_pi == ",".join(["0.9"] * 5 + ["0.1"] * 5)
        assert settings.cluster_eigenvalues == "0,0,0,0,0,0.5,0.6,0.7,0.8,0.9"
    else:
        assert settings.availability == "markov"
        found = (settings.markov_g, settings.markov_nu, settings.markov_epsilon)
        assert found == (0.4, 0.9, 0.01)
    assert settings.activity == ("estimated" if figure == "4b" else "oracle")


@pytest.mark.parametrize(("figure", "method"), CELLS)
def test_what_is_of_one_method(figure: str, method: str) -> None:
    """kappa2 = 1, beta = tau = 0 (our weight of a new loss is 1 - beta); F3AST's K and beta."""
    settings = resolve(given(f"cafed_fig{figure}_{method}"))
    if method == "ca_fed":
        assert (settings.kappa2, settings.tau, settings.loss_beta) == (1, 0, 1)
        assert (settings.loss_minima, settings.ca_fed_bias) == ("running", "paper")
    if method.startswith("f3ast"):
        assert settings.clients_per_round == 45
        assert settings.rate_beta == pytest.approx(1 / settings.rounds)
        rule = "ca_fed" if method == "f3ast_ca_fed_rule" else "f3ast"
        assert settings.f3ast_rule == rule
    else:
        assert settings.clients_per_round == settings.num_clients


@pytest.mark.parametrize(("figure", "method"), CELLS)
def test_methods_of_a_panel_differ_in_nothing_else(figure: str, method: str) -> None:
    """They see the same clients and data; what a method's file repeats is the panel's."""
    own = {
        *("algorithm", "client_lr", "server_lr", "clients_per_round", "rate_beta", "reading"),
        *("kappa2", "tau", "loss_beta", "loss_minima"),
    }
    panel, cell = given(f"cafed_fig{figure}"), given(f"cafed_fig{figure}_{method}")
    assert {name: value for name, value in cell.items() if name not in own} == {
        name: value for name, value in panel.items() if name not in own
    }


def test_learning_rates_of_leaf_synthetic() -> None:
    """On the authors' grid, the same in all figures of that task."""
    for method in ALL:
        rates = {
            given(f"cafed_fig{figure}_{method}")["server_lr"]
            for figure, (task, _, methods) in FIGURES.items()
            if task == "leaf_synthetic" and method in methods
        }
        assert len(rates) == 1
        assert rates <= {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}


def test_panels_of_figure_5_differ_in_the_data_alone() -> None:
    """Fig. 5a: all alike; 5b: alike within clusters; 5c: the clients of 5d."""
    base = resolve(given("cafed_fig5d_ca_fed")).as_dict()
    differing = {
        panel: {
            name: value
            for name, value in resolve(given(f"cafed_fig5{panel}_ca_fed")).as_dict().items()
            if value != base[name]
        }
        for panel in "abc"
    }
    assert differing == {"a": {"dirichlet_s": 1e6}, "b": {"dirichlet_groups": 10}, "c": {}}


def test_files_say_what_is_published_and_what_is_chosen() -> None:
    for path in sorted((ROOT / FOLDER).glob("cafed_*.flags")):
        lines = path.read_text().splitlines()
        assert lines[0].startswith("# CA-Fed, Fig. ")
        assert all(line.startswith(("#", "--")) and len(line) <= 100 for line in lines)
        if "_" not in path.stem.removeprefix("cafed_"):
            assert any(line.startswith("# Published") for line in lines)
            assert any(line.startswith("# Chosen here") for line in lines)
