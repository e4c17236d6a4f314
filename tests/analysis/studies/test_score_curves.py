"""Curves of kept scores, from a small file written by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.score_curves import main, score_curves
from f3ast_tff.analysis.tidy_scores import read_scores

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
