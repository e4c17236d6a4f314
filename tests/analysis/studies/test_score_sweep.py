"""Scores against a setting: means and intervals from small files, and the picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from f3ast_tff.analysis.studies.score_sweep import main, sweep
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores
from tests.commands import Cli

HEADER = "task,algorithm,availability_history,client_lr,data_seed,seed,round,sample_accuracy,"
HEADER += "user_accuracy,sample_loss,user_loss"
# Algorithm, history, rate: accuracies at round 9 by draw; at round 5 all are 0.1.
ROWS = {
    ("adafed", "100", "0.1"): (0.5, 0.5),
    ("adafed", "10", "0.1"): (0.2, 0.4),
    ("f3ast", "", "0.3"): (0.6, 0.8),
}


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return write(tmp_path, ROWS)


def write(folder: Path, rows: Mapping[tuple[str, str, str], tuple[float, ...]]) -> Path:
    lines = [HEADER]
    for (algorithm, history, rate), accuracies in rows.items():
        for draw, accuracy in enumerate(accuracies):
            run = f"mnist,{algorithm},{history},{rate},{draw},{draw}"
            lines += [f"{run},5,0.1,0.1,1,1", f"{run},9,{accuracy},0.1,1,1"]
    path = folder / "scores.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_mean_and_its_interval_per_value(scores: Path) -> None:
    """Scores .2 and .4 have mean .3 and standard error .1; t(0.975; 1) = 12.706."""
    groups = kept_groups(read_scores(scores))
    found = sweep(groups, "availability_history", "sample_accuracy", "final")
    assert list(found) == ["f3ast", "adafed"]
    assert list(found["adafed"]) == [10, 100]
    ten = found["adafed"][10]
    assert ten.mean == pytest.approx(0.3)
    assert ten.high - ten.mean == pytest.approx(1.2706, abs=1e-4)
    assert found["adafed"][100].low == found["adafed"][100].high == 0.5
    # F3AST estimates no availability.
    (value,) = found["f3ast"]
    assert math.isnan(value) and found["f3ast"][value].mean == pytest.approx(0.7)


def test_the_picture(scores: Path, cli: Cli) -> None:
    """One line per algorithm: AdaFed's two values, and F3AST's level line."""
    out = scores.with_name("sweep.svg")
    words = [f"--scores={scores}", "--x=availability_history", "--log", f"--out={out}"]
    assert cli.said(main(["score_sweep", *words])).out == f"{out}\n"
    drawn = out.read_text()
    assert "<!-- AdaFed -->" in drawn and "<!-- F3AST -->" in drawn
    assert "<!-- availability history -->" in drawn
    assert "<!-- sample accuracy, 95% intervals -->" in drawn


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--x=kappa2"], "--x=kappa2: must be of the file's settings"),
        (["--x=task"], "--x=task: must have numbers as values, not mnist"),
        (["--x=client_lr"], "runs of one point differ in availability_history; give --where"),
        (["--x=availability_history", "--out={}/x.gif"], "must end in .png or .svg or .pdf"),
    ],
)
def test_refused(scores: Path, flags: list[str], says: str, cli: Cli) -> None:
    words = [f"--scores={scores}", f"--out={scores.parent}/x.png"]
    if "task" in flags[0]:
        words.append("--where=availability_history=10")
    printed = cli.said(
        main(["score_sweep", *words, *(each.format(scores.parent) for each in flags)]), 2
    ).err
    assert says in printed


def test_a_line_is_not_joined_to_runs_without_the_setting(tmp_path: Path, cli: Cli) -> None:
    rows = {("adafed", "10", "0.1"): (0.2, 0.4), ("adafed", "", "0.1"): (0.5, 0.6)}
    words = [f"--scores={write(tmp_path, rows)}", "--x=availability_history"]
    said = "adafed has runs with and without availability_history; give --where"
    assert said in cli.said(main(["score_sweep", *words, f"--out={tmp_path}/x.png"]), 2).err


def test_one_run_has_no_interval(tmp_path: Path, cli: Cli) -> None:
    path = write(tmp_path, {("adafed", "10", "0.1"): (0.2,)})
    words = [f"--scores={path}", "--x=availability_history", f"--out={tmp_path}/x.png"]
    printed = cli.said(main(["score_sweep", *words]), 2).err
    assert "adafed, availability_history 10: one run" in printed


def test_what_cannot_be_drawn_is_said(tmp_path: Path, cli: Cli) -> None:
    """A logarithm of 0, and a mean with a score that is not finite."""
    rows = {("adafed", "0", "0.1"): (0.5, 0.5), ("adafed", "10", "0.1"): (0.2, math.nan)}
    path, out = write(tmp_path, rows), tmp_path / "sweep.svg"
    words = [f"--scores={path}", "--x=availability_history", f"--out={out}"]
    printed = cli.said(main(["score_sweep", *words, "--log"]), 2).err
    assert "must not be given with availability_history 0" in printed
    said = "adafed at availability_history 10: a sample_accuracy is not finite, no point"
    assert said in cli.said(main(["score_sweep", *words])).err
