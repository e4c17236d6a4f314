"""The runs' own table: which of them have learnt nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.command_line.report import main
from tests.analysis.conftest import described

MakeRun = Callable[..., Path]
GUESS = math.log(10)


def report_of(tmp_path: Path) -> str:
    assert main(["report", f"--runs={tmp_path}/runs", f"--out={tmp_path}/out"]) == 0
    return (tmp_path / "out" / "report.md").read_text()


def test_runs_no_better_than_a_guess_are_counted(make_run: MakeRun, tmp_path: Path) -> None:
    """At ln C, above it and not finite; just below it is better."""
    for seed, loss in enumerate((GUESS, 300.0, None, GUESS - 1e-6)):
        make_run(f"f3ast{seed}", loss=loss, seed=seed)
    make_run("fedavg", algorithm="fedavg", loss=1.0)
    text = report_of(tmp_path)
    assert "\n3 of them end no better than a guess among the classes" in text
    (head,) = [line for line in text.splitlines() if line.startswith("| algorithm | over |")]
    assert head.endswith("| no better than a guess |")
    rows = [line for line in text.splitlines() if "runs_synthetic-" in line]
    assert [row.split(" | ")[-1].strip(" |") for row in rows] == ["", "3 of 4"]


def test_nothing_is_said_where_all_have_learnt(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", loss=GUESS - 1e-6)
    assert "guess" not in report_of(tmp_path)


@pytest.mark.parametrize(("recorded", "says"), [(4, True), (None, False)])
def test_the_classes_of_a_plug_in(
    recorded: int | None, says: bool, make_run: MakeRun, tmp_path: Path
) -> None:
    """A run records how many its task has; of one that does not say, nothing is counted."""
    about = described(task=("Coins", 100))
    about["components"]["task"]["num_classes"] = recorded
    make_run("a", task="coins", loss=math.log(4) + 0.1, described=about)
    assert ("no better than a guess" in report_of(tmp_path)) is says
