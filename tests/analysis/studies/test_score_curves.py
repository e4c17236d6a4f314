"""Kept scores against the round and against a setting, from small files written by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.course import main as course
from f3ast_tff.analysis.studies.course import rounds_to
from f3ast_tff.analysis.studies.score_curves import main, score_curves
from f3ast_tff.analysis.studies.score_sweep import main as sweep_main
from f3ast_tff.analysis.studies.score_sweep import sweep
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores
from tests.commands import Cli

HEADER = (
    "task,algorithm,availability,client_lr,data_seed,seed,round,"
    "sample_accuracy,user_accuracy,sample_loss,user_loss"
)
ROUNDS = (10, 20, 30, 40)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """FedAvg is at t / 100 + draw / 10; F3AST is a tenth higher, under `always` only."""
    lines = [HEADER]
    for draw in (0, 1):
        for t in ROUNDS:
            base = t / 100 + draw / 10
            for name, availability, value in (
                ("fedavg", "always", base),
                ("fedavg", "scarce", base / 2),
                ("f3ast", "always", 1.1 * base),
            ):
                given = f"synthetic,{name},{availability},0.1,{draw},{draw},{t}"
                lines.append(f"{given},{value},0.1,1.0,1.0")
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_of_one_availability_does_not_name_it(scores: Path) -> None:
    table = read_scores(scores).query("availability == 'always'")
    figure = score_curves(table.drop(columns="availability"), "sample_accuracy", [])
    (panel,) = figure.axes
    assert len(panel.lines) == 2


def test_a_line_is_the_mean_over_draws_and_a_gain_that_of_each_draw(scores: Path) -> None:
    figure = score_curves(read_scores(scores), "sample_accuracy", [("f3ast", "fedavg")])
    always, gain, scarce, no_gain = figure.axes
    fedavg, f3ast = (line.get_xydata() for line in always.get_lines())
    mean = np.array(ROUNDS) / 100 + 0.05
    np.testing.assert_allclose(fedavg, np.c_[ROUNDS, mean])
    np.testing.assert_allclose(f3ast, np.c_[ROUNDS, 1.1 * mean])
    np.testing.assert_allclose(gain.get_lines()[0].get_ydata(), 10)
    np.testing.assert_allclose(scarce.get_lines()[0].get_ydata(), mean / 2)
    # Only the line at 0.
    assert len(no_gain.get_lines()) == 1
    # One standard deviation, of two draws .1 apart, to each side.
    band = always.collections[0].get_paths()[0].get_extents()
    assert band.y0 == pytest.approx(mean[0] - 0.1 / np.sqrt(2))
    assert [axes.get_ylabel() for axes in (always, scarce)] == ["Always", "Scarce"]


def test_lost_runs_show_and_a_gain_is_over_common_draws(scores: Path) -> None:
    table = read_scores(scores)
    alone = (table["algorithm"] == "fedavg") & (table["draw"] == 1)
    table = table[~(alone & (table["availability"] == "always"))].copy()
    lost = (table["availability"] == "scarce") & (table["draw"] == 1)
    table.loc[lost, "sample_accuracy"] = np.nan
    _, gain, scarce, _ = score_curves(table, "sample_accuracy", [("f3ast", "fedavg")]).axes
    np.testing.assert_allclose(gain.get_lines()[0].get_ydata(), 10)
    assert np.isnan(np.asarray(scarce.get_lines()[0].get_ydata(), float)).all()


def test_runs_of_one_line_that_differ_are_refused(scores: Path) -> None:
    table = read_scores(scores)
    table.loc[table["draw"] == 1, "client_lr"] = "0.3"
    with pytest.raises(RunsError, match="differ in client_lr; choose with --where SETTING="):
        score_curves(table, "sample_accuracy", [])


def test_the_command(scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "curves.svg"
    words = ["x", f"--scores={scores}", "--score=user_accuracy", f"--out={out}"]
    assert main(words) == 0
    assert "F3AST" in out.read_text() and "over FedAvg" not in out.read_text()
    assert main([*words, "--gain=f3ast:poc"]) == 2
    assert "--gain=f3ast:poc: must be A:B, both of fedavg, f3ast" in capsys.readouterr().err


SWEEP_HEADER = "task,algorithm,availability_history,client_lr,data_seed,seed,round,sample_accuracy,"
SWEEP_HEADER += "user_accuracy,sample_loss,user_loss"
# Algorithm, history, rate: accuracies at round 9 by draw; at round 5 all are 0.1.
ROWS = {
    ("adafed", "100", "0.1"): (0.5, 0.5),
    ("adafed", "10", "0.1"): (0.2, 0.4),
    ("f3ast", "", "0.3"): (0.6, 0.8),
}


@pytest.fixture
def sweep_scores(tmp_path: Path) -> Path:
    return write(tmp_path, ROWS)


def write(folder: Path, rows: Mapping[tuple[str, str, str], tuple[float, ...]]) -> Path:
    lines = [SWEEP_HEADER]
    for (algorithm, history, rate), accuracies in rows.items():
        for draw, accuracy in enumerate(accuracies):
            run = f"mnist,{algorithm},{history},{rate},{draw},{draw}"
            lines += [f"{run},5,0.1,0.1,1,1", f"{run},9,{accuracy},0.1,1,1"]
    path = folder / "scores.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_mean_and_its_interval_per_value(sweep_scores: Path) -> None:
    """Scores .2 and .4 have mean .3 and standard error .1; t(0.975; 1) = 12.706."""
    groups = kept_groups(read_scores(sweep_scores))
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


def test_the_picture(sweep_scores: Path, cli: Cli) -> None:
    """One line per algorithm: AdaFed's two values, and F3AST's level line."""
    out = sweep_scores.with_name("sweep.svg")
    words = [f"--scores={sweep_scores}", "--x=availability_history", "--log", f"--out={out}"]
    assert cli.said(sweep_main(["score_sweep", *words])).out == f"{out}\n"
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
def test_refused(sweep_scores: Path, flags: list[str], says: str, cli: Cli) -> None:
    words = [f"--scores={sweep_scores}", f"--out={sweep_scores.parent}/x.png"]
    if "task" in flags[0]:
        words.append("--where=availability_history=10")
    printed = cli.said(
        sweep_main(["score_sweep", *words, *(each.format(sweep_scores.parent) for each in flags)]),
        2,
    ).err
    assert says in printed


def test_a_line_is_not_joined_to_runs_without_the_setting(tmp_path: Path, cli: Cli) -> None:
    rows = {("adafed", "10", "0.1"): (0.2, 0.4), ("adafed", "", "0.1"): (0.5, 0.6)}
    words = [f"--scores={write(tmp_path, rows)}", "--x=availability_history"]
    said = "adafed has runs with and without availability_history; give --where"
    assert said in cli.said(sweep_main(["score_sweep", *words, f"--out={tmp_path}/x.png"]), 2).err


def test_one_run_has_no_interval(tmp_path: Path, cli: Cli) -> None:
    path = write(tmp_path, {("adafed", "10", "0.1"): (0.2,)})
    words = [f"--scores={path}", "--x=availability_history", f"--out={tmp_path}/x.png"]
    printed = cli.said(sweep_main(["score_sweep", *words]), 2).err
    assert "adafed, availability_history 10: one run" in printed


def test_what_cannot_be_drawn_is_said(tmp_path: Path, cli: Cli) -> None:
    """A logarithm of 0, and a mean with a score that is not finite."""
    rows = {("adafed", "0", "0.1"): (0.5, 0.5), ("adafed", "10", "0.1"): (0.2, math.nan)}
    path, out = write(tmp_path, rows), tmp_path / "sweep.svg"
    words = [f"--scores={path}", "--x=availability_history", f"--out={out}"]
    printed = cli.said(sweep_main(["score_sweep", *words, "--log"]), 2).err
    assert "must not be given with availability_history 0" in printed
    said = "adafed at availability_history 10: a sample_accuracy is not finite, no point"
    assert said in cli.said(sweep_main(["score_sweep", *words])).err


@pytest.fixture
def course_scores(tmp_path: Path) -> Path:
    """Accuracies at rounds 10, 20, 30 of three draws; FedAvg's draw 2 never reaches .6."""
    courses = {
        "f3ast": [(0.6, 0.7, 0.7), (0.5, 0.6, 0.7), (0.5, 0.7, 0.6)],
        "fedavg": [(0.3, 0.5, 0.6), (0.4, 0.6, 0.7), (0.2, 0.4, 0.5)],
    }
    rows = [
        {
            "task": "synthetic",
            "algorithm": algorithm,
            "data_seed": draw,
            "seed": draw,
            "round": 10 * (place + 1),
            **dict.fromkeys(("sample_accuracy", "user_accuracy"), accuracy),
            **dict.fromkeys(("sample_loss", "user_loss"), 1.0),
        }
        for algorithm, draws in courses.items()
        for draw, course in enumerate(draws)
        for place, accuracy in enumerate(course)
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_rounds_to_an_accuracy_of_each_draw(course_scores: Path) -> None:
    f3ast, fedavg = kept_groups(read_scores(course_scores))
    assert rounds_to(f3ast, "sample_accuracy", 0.6) == {0: 10, 1: 20, 2: 20}
    assert rounds_to(fedavg, "sample_accuracy", 0.6) == {0: 30, 1: 20, 2: math.inf}


def test_a_draw_that_never_arrives_counts_as_later_than_all(course_scores: Path, cli: Cli) -> None:
    """FedAvg reaches .7 in one draw of three, in round 30: the median is later than all rounds."""
    command = ["course", "--scores", str(course_scores), "--targets=0.6,0.7", "--rounds=10,30"]
    lines = cli.said(course([*command, "--minus=f3ast:fedavg"])).out.splitlines()
    assert "| F3AST | 20 (3 of 3) | 20 (3 of 3) |" in lines
    assert "| FedAvg | 30 (2 of 3) | > 30 (1 of 3) |" in lines
    difference = next(line for line in lines if line.startswith("| f3ast − fedavg"))
    # .3, .1, .3 at round 10; .1, .0, .1 at round 30.
    assert "| +0.233 [" in difference and "| +0.067 [" in difference
    assert "A reader's own reading" in lines[-1]


def test_a_picture_has_a_panel_for_each_part(course_scores: Path, tmp_path: Path) -> None:
    out = tmp_path / "course.svg"
    panels = "one:algorithm=f3ast;both:algorithm=f3ast,algorithm=fedavg"
    assert (
        course(["course", f"--scores={course_scores}", f"--panels={panels}", f"--picture={out}"])
        == 0
    )
    assert out.read_text().count('id="axes_') == 2


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--panels=one", "must be TITLE:SETTING=VALUE"),
        ("--targets=high", "must be numbers"),
        ("--minus=f3ast:fedprox", "must be A:B, rows of fedavg, f3ast"),
        ("--rows=colour", "must be of the file's settings"),
    ],
)
def test_wrong_flags_are_one_line(flag: str, said: str, course_scores: Path, cli: Cli) -> None:
    error = cli.said(course(["course", f"--scores={course_scores}", "--rounds=10", flag]), 2).err
    assert said in error and error.count("\n") == 1
