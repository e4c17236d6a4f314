"""The flag files of CA-Fed's figures: what is published stands in them, and each resolves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.command_line.flags import parse
from f3ast_tff.configuration.resolve import resolve

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "f3ast_tff/flagfiles"
BENCHMARKS = ("unbiased", "more_available", "adafed", "f3ast", "f3ast_of_ca_fed")
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
    """Returns what a file says, read as the command line reads it."""
    return parse([f"--flagfile={FOLDER / name}.flags"]).settings


def resolved(name: str) -> Mapping[str, Any]:
    return resolve(given(name)).settings


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files include those beside them, from wherever the command is given."""
    monkeypatch.chdir(tmp_path)


def test_these_are_all_files() -> None:
    names = {path.stem for path in FOLDER.iterdir()}
    cells = {f"cafed_fig{figure}_{method}" for figure, method in CELLS}
    assert {name for name in names if name.startswith("cafed_")} == cells | {
        *(f"cafed_fig{figure}" for figure in FIGURES),
        *(f"cafed_fig5{panel}_ca_fed" for panel in "abc"),
    }


@pytest.mark.parametrize(("figure", "method"), CELLS)
def test_published_values(figure: str, method: str) -> None:
    """Sec. V-A, App. G1 and Table II."""
    task, rounds, _ = FIGURES[figure]
    settings = resolved(f"cafed_fig{figure}_{method}")
    expected: dict[str, Any] = {"task": task, "algorithm": method, "rounds": rounds}
    expected.update(num_clients=100, batch_size=32)
    if task == "leaf_synthetic":
        expected.update(synthetic_alpha=0.5, synthetic_beta=0.5, local_steps=1, client_lr=0.1)
    else:
        client_lr, server_lr = TABLE_2[task][method.removesuffix("_of_ca_fed")]
        expected.update(dirichlet_s=0.5, client_lr=client_lr, server_lr=server_lr)
    if figure == "5d":
        expected.update(
            availability="markov_clusters",
            cluster_pi=",".join(["0.9"] * 5 + ["0.1"] * 5),
            cluster_eigenvalues="0,0,0,0,0,0.5,0.6,0.7,0.8,0.9",
        )
    else:
        expected.update(availability="four_classes", markov_g=0.4, markov_nu=0.9)
        expected.update(markov_epsilon=0.01)
    assert {name: settings[name] for name in expected} == expected
    # Of models and methods that have it.
    assert settings.get("ridge") == (None if task == "cifar10" else 0.01)
    activity = "estimated" if figure == "4b" else "oracle"
    assert settings.get("activity") == (None if method == "f3ast" else activity)


@pytest.mark.parametrize(("figure", "method"), CELLS)
def test_what_is_of_one_method(figure: str, method: str) -> None:
    """kappa2 = 1, beta = tau = 0 (our weight of a new loss is 1 - beta); F3AST's K and beta."""
    settings = resolved(f"cafed_fig{figure}_{method}")
    if method == "ca_fed":
        own = {"kappa2": 1, "tau": 0, "loss_beta": 1, "loss_minima": "running"}
        assert {name: settings[name] for name in own} == own
        assert settings["ca_fed_bias"] == "paper"
    if method.startswith("f3ast"):
        assert settings["clients_per_round"] == 45
        assert settings["rate_beta"] == pytest.approx(1 / settings["rounds"])
    else:
        assert settings["clients_per_round"] == settings["num_clients"]


@pytest.mark.parametrize(("figure", "method"), CELLS)
def test_methods_of_a_panel_differ_in_nothing_else(figure: str, method: str) -> None:
    """They see the same clients and data; what a method's file repeats is the panel's."""
    own = {
        *("algorithm", "client_lr", "server_lr", "clients_per_round", "rate_beta"),
        *("kappa2", "tau", "loss_beta", "loss_minima", "activity", "activity_history"),
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
    base = resolved("cafed_fig5d_ca_fed")
    differing = {
        panel: {
            name: value
            for name, value in resolved(f"cafed_fig5{panel}_ca_fed").items()
            if value != base[name]
        }
        for panel in "abc"
    }
    assert differing == {"a": {"dirichlet_s": 1e6}, "b": {"dirichlet_groups": 10}, "c": {}}


def test_files_say_what_is_published_and_what_is_chosen() -> None:
    for path in sorted(FOLDER.glob("cafed_*.flags")):
        lines = path.read_text().splitlines()
        assert lines[0].startswith("# CA-Fed, Fig. ")
        assert all(line.startswith(("#", "--")) and len(line) <= 100 for line in lines)
        if "_" not in path.stem.removeprefix("cafed_"):
            assert any(line.startswith("# Published") for line in lines)
            assert any(line.startswith("# Chosen here") for line in lines)
