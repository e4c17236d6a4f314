from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.studies.course import main, rounds_to
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores
from tests.commands import Cli


@pytest.fixture
def scores(tmp_path: Path) -> Path:
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


def test_rounds_to_an_accuracy_of_each_draw(scores: Path) -> None:
    f3ast, fedavg = kept_groups(read_scores(scores))
    assert rounds_to(f3ast, "sample_accuracy", 0.6) == {0: 10, 1: 20, 2: 20}
    assert rounds_to(fedavg, "sample_accuracy", 0.6) == {0: 30, 1: 20, 2: math.inf}


def test_a_draw_that_never_arrives_counts_as_later_than_all(scores: Path, cli: Cli) -> None:
    """FedAvg reaches .7 in one draw of three, in round 30: the median is later than all rounds."""
    command = ["course", "--scores", str(scores), "--targets=0.6,0.7", "--rounds=10,30"]
    lines = cli.said(main([*command, "--minus=f3ast:fedavg"])).out.splitlines()
    assert "| F3AST | 20 (3 of 3) | 20 (3 of 3) |" in lines
    assert "| FedAvg | 30 (2 of 3) | > 30 (1 of 3) |" in lines
    difference = next(line for line in lines if line.startswith("| f3ast − fedavg"))
    # .3, .1, .3 at round 10; .1, .0, .1 at round 30.
    assert "| +0.233 [" in difference and "| +0.067 [" in difference
    assert "A reader's own reading" in lines[-1]


def test_a_picture_has_a_panel_for_each_part(scores: Path, tmp_path: Path) -> None:
    out = tmp_path / "course.svg"
    panels = "one:algorithm=f3ast;both:algorithm=f3ast,algorithm=fedavg"
    assert main(["course", f"--scores={scores}", f"--panels={panels}", f"--picture={out}"]) == 0
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
def test_wrong_flags_are_one_line(flag: str, said: str, scores: Path, cli: Cli) -> None:
    error = cli.said(main(["course", f"--scores={scores}", "--rounds=10", flag]), 2).err
    assert said in error and error.count("\n") == 1
