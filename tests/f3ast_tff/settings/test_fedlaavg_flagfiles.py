"""The flag files of FedLaAvg's tables and figures: each resolves to the published values."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from f3ast_tff.cli.flags import parse
from f3ast_tff.settings.resolve import resolve

FOLDER = Path(__file__).resolve().parents[3] / "f3ast_tff/flagfiles"
TABLE_2 = [(a, w) for a in ("fedavg", "fedlaavg") for w in ("always", "alternating")]


def resolved(name: str, *more: str) -> SimpleNamespace:
    given = parse([f"--flagfile={FOLDER / name}.flags", *more]).settings
    return SimpleNamespace(**resolve(given).settings)


def test_these_are_all_files() -> None:
    cells = {f"fedlaavg_table2_{algorithm}_{world}" for algorithm, world in TABLE_2}
    more = {"table2", "table2_sequential_sgd", "fig2_fedavg_then_fedlaavg", "fig3_fedlaavg"}
    found = {path.stem for path in FOLDER.glob("fedlaavg_*.flags")}
    assert found == cells | {f"fedlaavg_{name}" for name in more}


@pytest.mark.parametrize(("algorithm", "world"), TABLE_2)
def test_table_2(algorithm: str, world: str) -> None:
    s = resolved(f"fedlaavg_table2_{algorithm}_{world}")
    assert (s.task, s.algorithm, s.availability) == ("cifar10_one_class", algorithm, world)
    assert (s.num_clients, s.clients_per_round, s.batch_size) == (1000, 100, 5)
    if world == "alternating":
        assert (s.alternating_period, s.alternating_ratio) == (10, 0.5)


def test_methods_of_figure_2_train_alike() -> None:
    federated = [
        "fig2_fedavg_then_fedlaavg",
        *(f"table2_{algorithm}_{world}" for algorithm, world in TABLE_2),
    ]
    settings = [resolved(f"fedlaavg_{name}") for name in ("table2_sequential_sgd", *federated)]
    # Batches are from Sec. 5.1; steps, rate and decay are the defaults of the authors' code.
    assert {(s.batch_size, s.client_lr, s.client_lr_decay, s.rounds) for s in settings} == {
        (5, 0.01, 0.9999, 40_000)
    }
    pooled, *others = settings
    assert {(s.local_steps, s.clients_per_round, s.client_share) for s in others} == {
        (10, 100, "examples")
    }
    assert pooled.local_steps == 10 * 100


def test_figure_3_varies_one_setting() -> None:
    s = resolved("fedlaavg_fig3_fedlaavg", "--num_clients=200", "--clients_per_round=20")
    assert (s.algorithm, s.num_clients, s.clients_per_round) == ("fedlaavg", 200, 20)
    assert resolved("fedlaavg_fig3_fedlaavg", "--alternating_period=15").alternating_period == 15


def test_the_switch_is_in_the_run() -> None:
    s = resolved("fedlaavg_fig2_fedavg_then_fedlaavg")
    assert s.algorithm == "fedavg_then_fedlaavg" and 1 < s.switch_round < s.rounds
