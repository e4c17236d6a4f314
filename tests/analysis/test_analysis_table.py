from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.results_frame import final_table, render
from f3ast_tff.analysis.run_groups import comparable_groups
from f3ast_tff.analysis.runs import load_runs
from tests.analysis.conftest import MakeRun, described

TableOf = Callable[[], pd.DataFrame]


@pytest.fixture
def table_of(tmp_path: Path) -> Callable[[], pd.DataFrame]:
    return lambda: final_table(*comparable_groups(load_runs(tmp_path / "runs")))


def test_mean_and_standard_deviation_over_seeds(make_run: MakeRun, table_of: TableOf):
    for seed, (accuracy, loss) in enumerate([(0.2, 1.0), (0.4, 2.0), (0.6, 6.0)]):
        make_run(f"run{seed}", accuracy, loss, seed=seed)
    (row,) = table_of().to_dict("records")
    assert row["runs"] == 3
    # 0.2, 0.4, 0.6: deviations 0.2, 0, 0.2; 0.08 / 2 = 0.2^2.
    assert row["final_sample_accuracy"] == pytest.approx(0.4)
    assert row["final_sample_accuracy_sd"] == pytest.approx(0.2)
    assert row["final_user_accuracy"] == pytest.approx(0.2)
    assert row["final_user_accuracy_sd"] == pytest.approx(0.1)
    # 1, 2, 6: deviations 2, 1, 3; 14 / 2 = 7.
    assert row["final_sample_loss"] == pytest.approx(3)
    assert row["final_sample_loss_sd"] == pytest.approx(7**0.5)
    assert row["final_user_loss"] == pytest.approx(6)
    assert row["final_user_loss_sd"] == pytest.approx(2 * 7**0.5)
    assert row["mean_of_last_10_percent_sample_accuracy"] == pytest.approx(0.4)
    assert row["mean_of_last_10_percent_sample_accuracy_sd"] == pytest.approx(0.2)
    assert row["mean_of_last_10_percent_user_loss"] == pytest.approx(6.0)


def test_mean_and_standard_deviation_over_draws(make_run: MakeRun, table_of: TableOf):
    """Draw means are 0.3 (of 0.2 and 0.4) and 0.6: mean 0.45, deviation 0.3 / sqrt 2."""
    for draw, seed, accuracy in ((0, 0, 0.2), (0, 1, 0.4), (1, 0, 0.6)):
        make_run(f"run{draw}{seed}", accuracy, data_seed=draw, seed=seed)
    make_run("one", 0.6, algorithm="poc")
    table = table_of()
    assert (table["runs"].tolist(), table["draws"].tolist()) == ([3, 1], [2, 1])
    assert table["final_sample_accuracy"][0] == pytest.approx(0.45)
    assert table["final_sample_accuracy_sd"][0] == pytest.approx(0.3 / 2**0.5)
    text = render(table)
    assert text.endswith("over draws of the data (each draw's mean over its seeds)")
    assert text.splitlines()[3].split()[:5] == ["F3AST", "3", "2", "0.4500", "±"]


def test_a_score_that_is_not_finite_is_not_averaged_away(make_run: MakeRun, table_of: TableOf):
    make_run("a", loss=1.0, seed=0)
    make_run("b", loss=None, seed=1)
    table = table_of()
    assert np.isnan(table["final_sample_loss"]).all()
    assert table["final_sample_accuracy"].tolist() == [0.5]
    assert "diverged" in render(table)


def test_algorithms_are_in_order(make_run: MakeRun, table_of: TableOf):
    order = ["fedavg", "fedadam", "f3ast", "f3ast_adam", "poc", "alpha", "zeta"]
    for algorithm in sorted(order):
        make_run(algorithm, algorithm=algorithm)
    table = table_of()
    assert table["algorithm"].tolist() == order
    names = ["FedAvg", "FedAdam", "F3AST", "F3AST+Adam", "Power-of-Choice", "alpha", "zeta"]
    text = render(table)
    assert [line.split()[0] for line in text.splitlines()[3:10]] == names


def test_a_row_for_each_condition(make_run: MakeRun, table_of: TableOf):
    for availability in ("scarce", "always"):
        for reading in ("released", "paper"):
            for algorithm in ("poc", "fedavg"):
                make_run(
                    f"{availability}-{reading}-{algorithm}",
                    algorithm=algorithm,
                    availability=availability,
                    reading=reading,
                )
    table = table_of()
    rows = table[["availability", "reading", "algorithm"]].to_numpy().tolist()
    assert rows == [
        [availability, reading, algorithm]
        for availability in ("always", "scarce")
        for reading in ("paper", "released")
        for algorithm in ("fedavg", "poc")
    ]
    assert "synthetic, scarce, reading released, 2 clients a round, 4 rounds" in render(table)


def test_seeds_that_differ_in_a_setting_are_not_averaged(make_run: MakeRun, table_of: TableOf):
    make_run("a", 0.2, seed=0, local_steps=5)
    make_run("b", 0.4, seed=1)
    table = table_of()
    assert table["runs"].tolist() == [1, 1]
    assert table["local_steps"].tolist() == [5, None]
    assert "local_steps 5" in render(table)
    assert "local_steps None" in render(table)


def test_algorithms_are_compared_across_their_own_settings_alone(make_run: MakeRun, tmp_path: Path):
    make_run("a", algorithm="fedavg", server_lr=1.0, client_lr=0.1)
    make_run("b", algorithm="fedadam", server_lr=0.01, client_lr=0.2)
    runs = load_runs(tmp_path / "runs")
    (first, second), names = comparable_groups(runs)
    assert first.condition(names) == second.condition(names)
    make_run("c", algorithm="f3ast", batch_size=5)
    groups, names = comparable_groups(load_runs(tmp_path))
    assert "batch_size" in names
    assert [group.setting("batch_size") for group in groups] == [5, 20, 20]


def test_the_text_is_aligned_and_fits(make_run: MakeRun, table_of: TableOf):
    for seed, loss in enumerate((1e6, 3e6)):
        make_run(f"a{seed}", 0.5, loss, algorithm="poc", seed=seed)
        make_run(f"b{seed}", 0.25 + seed / 2, 1.0, algorithm="fedavg", seed=seed)
    lines = render(table_of()).splitlines()
    assert max(map(len, lines)) <= 100
    header, fedavg, poc = lines[2:5]
    words = ["final", "round", "runs", "sample", "accuracy", "user", "accuracy"]
    assert header.split() == [*words, "sample", "loss", "user", "loss"]
    # Accuracies 0.25 and 0.75; losses 1e6 and 3e6.
    assert fedavg.split()[:5] == ["FedAvg", "2", "0.5000", "±", "0.3536"]
    assert poc.split()[-6:] == ["2.0e+06", "±", "1.4e+06", "4.0e+06", "±", "2.8e+06"]
    assert len(header) == len(fedavg) == len(poc) == len(lines[6])


def test_an_algorithm_of_a_plug_in_has_its_name_and_place(make_run: MakeRun, table_of: TableOf):
    """A plug-in's own settings only split its own runs; without an order it comes last."""
    for name, luck in (("a", 0.1), ("b", 0.2)):
        says = described(("luck",), algorithm=("A Lucky Draw", 1000))
        make_run(name, algorithm="lucky", luck=luck, described=says)
    make_run("c", algorithm="fedavg")
    make_run("d", algorithm="first", described=described(algorithm=("First", 0)))
    table = table_of()
    # A setting that FedAvg lacks has no value there.
    assert list(zip(table["algorithm"], table["luck"])) == [
        ("lucky", 0.1),
        ("lucky", 0.2),
        ("first", ""),
        ("fedavg", ""),
    ]
    text = render(table)
    assert "A Lucky Draw" in text and "luck 0.2" in text
    assert "luck None" not in text


def test_another_version_of_a_plug_in_is_another_experiment(make_run: MakeRun, table_of: TableOf):
    for seed, sha in enumerate(("aa" * 32, "bb" * 32)):
        make_run(f"run{seed}", seed=seed, described=described(plugins=(("mine", sha),)))
    table = table_of()
    assert table["runs"].tolist() == [1, 1]
    assert table["plugin mine"].tolist() == ["aaaaaaaa", "bbbbbbbb"]


def test_a_constraint_is_said_in_place_of_k(make_run: MakeRun, table_of: TableOf):
    make_run("a", constraint="poisson:10", clients_per_round=None)
    text = render(table_of())
    assert text.startswith("synthetic, always, reading paper, constraint poisson:10, 4 rounds")
    assert "clients a round" not in text
