"""Curves against simulated time and bytes: means over a group's runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.curves import has_clock, trace_of
from f3ast_tff.analysis.report.claims import column_of
from f3ast_tff.analysis.report.published_tables import published_tables
from f3ast_tff.analysis.run_groups import CONDITION, RunGroup, comparable_groups, describe
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.cli.compare import main
from tests.analysis.conftest import MakeRun

COLUMN = "sample_accuracy"
OF_PAPER = {"synthetic_alpha": 1.0, "synthetic_beta": 1.0}


def with_columns(folder: Path, **columns: list[float]) -> None:
    """Adds columns to the two rows of a run's `metrics.csv`."""
    path = folder / "metrics.csv"
    pd.read_csv(path).assign(**columns).to_csv(path, index=False)


def only_group(folder: Path) -> RunGroup:
    (group,), _ = comparable_groups(load_runs(folder))
    return group


def test_the_mean_of_lines_with_times_of_their_own(make_run: MakeRun, tmp_path: Path) -> None:
    """Seed 0: .25 at 10 s, .5 at 30 s. Seed 1: .25 at 20 s, .5 at 60 s. Both have 20 to 30 s."""
    for seed, seconds in enumerate(([10.0, 30.0], [20.0, 60.0])):
        folder = make_run(f"run{seed}", seed=seed)
        with_columns(folder, simulated_seconds=seconds, bytes_down=[4, 8], bytes_up=[1, 2 + seed])
    group = only_group(tmp_path)
    assert has_clock(group)
    by_round, by_time, by_bytes = (
        trace_of(group, COLUMN, "", x) for x in ("rounds", "simulated_seconds", "bytes")
    )
    assert (by_round.x.tolist(), by_round.y.tolist()) == ([2, 4], [0.25, 0.5])
    assert by_time.x[[0, -1]].tolist() == [20, 30]
    first, last = (0.375 + 0.25) / 2, (0.5 + 0.3125) / 2
    assert by_time.y[[0, -1]].tolist() == pytest.approx([first, last])
    assert by_bytes.x[[0, -1]].tolist() == [5, 10]
    (tmp_path / "runs" / "run1" / "config.json").unlink()
    alone = trace_of(only_group(tmp_path), COLUMN, "", "simulated_seconds")
    assert (alone.x.tolist(), alone.y.tolist()) == ([10, 30], [0.25, 0.5])


def test_runs_without_a_clock_are_refused(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run("old")
    with_columns(folder, simulated_seconds=[np.nan] * 2, bytes_down=[np.nan] * 2)
    group = only_group(tmp_path)
    assert not has_clock(group)
    for x in ("simulated_seconds", "bytes"):
        with pytest.raises(RunsError, match=f"old has no {x} to draw against"):
            trace_of(group, COLUMN, "", x)
    with_columns(folder, simulated_seconds=[np.nan] * 2, bytes_down=[1, 2], bytes_up=[1, 2])
    assert not has_clock(only_group(tmp_path))
    flags = [f"--runs={tmp_path}", f"--out={tmp_path / 'a.png'}"]
    assert main(["compare", *flags, "--x=simulated_seconds"]) == 2
    assert "no clock, see --delivery" in capsys.readouterr().err
    assert main(["compare", *flags, "--x=bytes"]) == 0
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_delivery_is_named_where_there_is_one(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", delivery="deadline")
    group = only_group(tmp_path)
    assert "2 clients a round, delivery deadline, " in describe(
        group.condition(CONDITION), CONDITION
    )


def test_runs_with_losses_belong_into_no_table_of_a_paper(
    make_run: MakeRun, tmp_path: Path
) -> None:
    table = published_tables()[0]
    for name in ("certain", "deadline"):
        make_run(name, availability="home_devices", clients_per_round=10, delivery=name, **OF_PAPER)
    groups, _ = comparable_groups(load_runs(tmp_path))
    found = {group.setting("delivery"): column_of(table, group) for group in groups}
    assert found == {"certain": "home_devices", "deadline": None}
