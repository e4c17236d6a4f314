"""Scores of runs in one CSV file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.studies.score_tables import Layout, score_tables
from f3ast_tff.analysis.tidy_scores import main, read_scores, settings_of
from tests.analysis.conftest import MakeRun
from tests.commands import Cli

ROOT = Path(__file__).resolve().parents[2]


def test_a_row_an_evaluation(make_run: MakeRun, tmp_path: Path) -> None:
    """Settings that differ are columns; runs are in the order of their seeds."""
    make_run("b", 0.7, 0.3, algorithm="fedavg", seed=1)
    make_run("a", 0.1 + 0.2, 0.4, algorithm="fedavg", seed=10, client_lr=0.1)
    make_run("c", None, None, algorithm="f3ast", clients_per_round=5)
    make_run("d", unfinished=True)
    out = tmp_path / "scores.csv"
    assert main(["x", f"--runs={tmp_path / 'runs'}", f"--out={out}"]) == 0
    assert out.read_text().splitlines() == [
        "task,algorithm,clients_per_round,seed,round,"
        "sample_accuracy,user_accuracy,sample_loss,user_loss",
        "synthetic,fedavg,2,1,2,0.25,0.125,2.0,4.0",
        "synthetic,fedavg,2,1,4,0.7,0.35,0.3,0.6",
        "synthetic,fedavg,2,10,2,0.25,0.125,2.0,4.0",
        "synthetic,fedavg,2,10,4,0.3,0.15,0.4,0.8",
        "synthetic,f3ast,5,0,2,0.25,0.125,2.0,4.0",
        "synthetic,f3ast,5,0,4,,,,",
    ]


def test_rounds_are_added_to_the_runs_of_a_file(
    make_run: MakeRun, tmp_path: Path, cli: Cli
) -> None:
    """What the file has stays; runs that it lacks, and other columns, are refused."""
    make_run("b", 0.7, 0.3, algorithm="fedavg", seed=1)
    make_run("a", 0.6, 0.4, algorithm="f3ast", seed=1)
    out, runs = tmp_path / "scores.csv", f"--runs={tmp_path / 'runs'}"
    flags = ["x", runs, f"--out={out}", "--every=2", "--add"]
    assert main(["x", runs, f"--out={out}", "--every=4"]) == 0
    header, one, other = out.read_text().splitlines()
    out.write_text("\n".join([header, one.replace("0.7", "0.9"), other, ""]))
    assert main(flags) == 0
    assert out.read_text().splitlines() == [
        header,
        "synthetic,fedavg,1,2,0.25,0.125,2.0,4.0",
        "synthetic,fedavg,1,4,0.9,0.35,0.3,0.6",
        "synthetic,f3ast,1,2,0.25,0.125,2.0,4.0",
        "synthetic,f3ast,1,4,0.6,0.3,0.4,0.8",
    ]
    # The file's settings are the table's, also those that all runs here lack.
    wide = [each.replace(",1,", ",,1,") for each in (one, other)]
    out.write_text("\n".join([header.replace(",seed", ",prox_mu,seed"), *wide, ""]))
    assert main(flags) == 0
    assert out.read_text().splitlines()[1] == "synthetic,fedavg,,1,2,0.25,0.125,2.0,4.0"
    out.write_text("\n".join([header, other, ""]))
    assert "no run of task synthetic, algorithm fedavg, seed 1" in cli.said(main(flags), 2).err
    out.write_text("\n".join([header.replace("seed", "data_seed"), other, ""]))
    assert "has columns task, algorithm, data_seed" in cli.said(main(flags), 2).err


def test_the_clock_is_kept_on_demand(make_run: MakeRun, tmp_path: Path) -> None:
    """Runs without a clock have an empty cell; the clock is no setting of the runs."""
    with_clock = make_run("a", algorithm="fedavg")
    metrics = pd.read_csv(with_clock / "metrics.csv")
    metrics.assign(simulated_seconds=2.5).to_csv(with_clock / "metrics.csv", index=False)
    make_run("b", algorithm="f3ast")
    out = tmp_path / "scores.csv"
    assert main(["x", f"--runs={tmp_path / 'runs'}", f"--out={out}", "--every=4", "--clock"]) == 0
    cells = [line.rsplit(",", 1)[1] for line in out.read_text().splitlines()]
    assert cells == ["simulated_seconds", "2.5", ""]
    table = read_scores(out)
    assert table["simulated_seconds"].tolist() == pytest.approx([2.5, float("nan")], nan_ok=True)
    assert settings_of(table) == ["task", "algorithm"]


def test_draws_of_the_data_are_a_column_where_they_differ(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("c", 0.3, data_seed=11)
    make_run("b", 0.2, data_seed=2, seed=1)
    make_run("a", 0.1, data_seed=2)
    out = tmp_path / "scores.csv"
    assert main(["x", f"--runs={tmp_path / 'runs'}", f"--out={out}", "--every=4"]) == 0
    assert [line.split(",")[:5] for line in out.read_text().splitlines()] == [
        ["task", "algorithm", "data_seed", "seed", "round"],
        ["synthetic", "f3ast", "2", "0", "4"],
        ["synthetic", "f3ast", "2", "1", "4"],
        ["synthetic", "f3ast", "11", "0", "4"],
    ]


@pytest.mark.parametrize(
    ("given", "columns", "said"),
    [
        ({}, "task,algorithm,seed", False),
        ({"availability_draws": "by_seed"}, "task,algorithm,seed", False),
        ({"reading": "released"}, "task,algorithm,reading,seed", True),
        (
            {"reading": "released", "availability_draws": "by_round_only"},
            "task,algorithm,reading,seed",
            True,
        ),
        (
            {"reading": "released", "availability_draws": "by_seed"},
            "task,algorithm,reading,availability_draws,seed",
            False,
        ),
        ({"availability_draws": "by_round_only"}, "task,algorithm,availability_draws,seed", True),
    ],
)
def test_a_reading_that_decides_what_is_covered_is_a_column(
    make_run: MakeRun, tmp_path: Path, given: dict[str, str], columns: str, said: bool
) -> None:
    """All runs have it, but tables need it to name what their intervals do not cover (R13)."""
    for seed in range(2):
        make_run(f"a{seed}", seed=seed, **given)
    out = tmp_path / "scores.csv"
    assert main(["x", f"--runs={tmp_path / 'runs'}", f"--out={out}"]) == 0
    assert out.read_text().startswith(f"{columns},round,")
    tables = score_tables(read_scores(out), Layout(("sample_accuracy",), ("algorithm",)))
    assert ("share one draw of the availability" in tables) == said


def test_unfinished_runs_are_said(make_run: MakeRun, tmp_path: Path, cli: Cli) -> None:
    make_run("a")
    unfinished = make_run("b", unfinished=True)
    (make_run("c", unfinished=True) / "metrics.csv").unlink()
    failed = tmp_path / "runs" / "d"
    failed.mkdir()
    (failed / "error.txt").write_text("MemoryError\n")
    out = tmp_path / "scores.csv"
    printed = cli.said(main(["x", f"--runs={tmp_path / 'runs'}", f"--out={out}"])).err
    assert printed.splitlines() == [
        f"left out: {unfinished}: 4 of 4 rounds evaluated",
        f"left out: {tmp_path / 'runs' / 'c'}: 0 of 4 rounds evaluated",
        f"left out: {failed}: failed before its first round; MemoryError",
    ]


@pytest.mark.long
def test_the_file_is_utf_8_whatever_the_locale(make_run: MakeRun, tmp_path: Path) -> None:
    """The locale here is ASCII."""
    make_run("a", algorithm="naïve")
    out = tmp_path / "scores.csv"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "f3ast_tff.analysis.tidy_scores",
            f"--runs={tmp_path / 'runs'}",
            f"--out={out}",
        ],
        cwd=ROOT,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        check=True,
    )
    assert {*read_scores(out)["algorithm"]} == {"naïve"}


def test_an_aggregation_that_is_not_the_algorithms_own_is_a_column(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """All runs have the same aggregation, but the method's name in tables depends on it."""
    make_run("a", algorithm="fedavg_all", aggregation="mean")
    make_run("b", algorithm="fedavg", aggregation="mean")
    out = tmp_path / "scores.csv"
    assert main(["x", f"--runs={tmp_path / 'runs'}", f"--out={out}"]) == 0
    assert out.read_text().startswith("task,algorithm,aggregation,seed,round,")
