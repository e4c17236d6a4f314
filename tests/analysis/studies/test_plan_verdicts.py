from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge import BETTER, CLOSE
from f3ast_tff.analysis.compare.plan import read_plan
from f3ast_tff.analysis.compare.plan_verdicts import verdicts_of_plan
from f3ast_tff.analysis.studies.plan_verdicts import main
from f3ast_tff.analysis.tidy_scores import read_scores
from tests.commands import Cli

PLAN = """
[plan]
asked = 2026-01-02T10:00:00Z
family = "all"
rows = ["algorithm"]
round = 10
draws = "0-7"
score = "sample_accuracy"
minus = ["f3ast:fedavg"]

[[plan.question]]
columns = ["availability"]

[[plan.question]]
mean_over = ["availability"]

[[plan.question]]
asked = 2026-02-02T10:00:00Z
first_scores = 2026-02-01T10:00:00Z
columns = ["availability"]
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, Path]:
    """Leads of .1 under always and of -.001 to +.002 under scarce; draw 8 is not planned."""
    rows = []
    for availability, leads in (
        ("always", [0.1] * 8),
        ("scarce", np.arange(8) % 4 * 0.001 - 0.001),
    ):
        for draw in range(9):
            for algorithm in ("fedavg", "f3ast"):
                lead = 0.5 if draw == 8 else leads[draw] + 1e-4 * draw
                score = 0.5 + (algorithm == "f3ast") * lead
                losses = dict.fromkeys(("sample_loss", "user_loss"), 1.0)
                scores = {"sample_accuracy": score, "user_accuracy": score, **losses}
                cells = {"task": "synthetic", "algorithm": algorithm, "availability": availability}
                rows.append({**cells, "data_seed": draw, "seed": draw, "round": 10, **scores})
    path = tmp_path / "study.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    plan = tmp_path / "study.toml"
    plan.write_text(PLAN)
    return str(plan), path


def test_planned_claims_are_one_family_and_later_ones_stand_apart(files: tuple[str, Path]) -> None:
    """Three planned claims; mean over both availabilities: (.1 + .0005 + .0007) / 2 = .0506."""
    table = verdicts_of_plan(read_plan(files[0]), read_scores(files[1]))
    assert table["family"].tolist() == ["all"] * 3 + [""] * 2
    assert table["draws"].tolist() == [8] * 5
    assert table["verdict"].tolist() == [BETTER, CLOSE, BETTER, BETTER, CLOSE]
    assert table["mean"].tolist()[2] == pytest.approx((0.10035 + 0.0005 + 0.00035) / 2)
    # Holm: the largest of three p values stays, the interval of the last is nominal.
    assert table["p"][1] == pytest.approx(table["p"][4])
    assert table["high"][0] - table["low"][0] > table["high"][3] - table["low"][3]
    assert (table["above"][1], table["sign_p"][0]) == (6, pytest.approx(2 / 2**8))


def test_a_lost_run_counts_as_accuracy_0(files: tuple[str, Path]) -> None:
    table = pd.read_csv(files[1])
    lost = (table["algorithm"] == "f3ast") & (table["data_seed"] == 0)
    table.loc[lost, "sample_loss"] = np.nan
    table.to_csv(files[1], index=False)
    found = verdicts_of_plan(read_plan(files[0]), read_scores(files[1]))
    assert found["mean"][0] == pytest.approx((7 * 0.1 + 0.0028 - 0.5) / 8)


def test_no_flag_changes_the_time(files: tuple[str, Path], cli: Cli) -> None:
    command = ["plan_verdicts", "--plan", files[0], "--scores", str(files[1])]
    assert main([*command, "--round=5"]) == 2
    printed = cli.said(main(command)).out
    assert "Planned on 2026-01-02, before the first scores; 3 claims in one family" in printed
    assert "Added" not in printed
    added = cli.said(main([*command, "--added"])).out
    assert "Added after a look, on 2026-02-02; first scores 2026-02-01" in added
    assert "| F3AST − FedAvg, Always | sample accuracy | round 10 | +0.100 |" in printed


def test_a_question_at_equal_seconds(files: tuple[str, Path]) -> None:
    """FedAvg has a score of .3 after 8 s, F3AST after 5; only F3AST has .55, under always."""
    scores = pd.read_csv(files[1])
    late = scores["algorithm"] == "fedavg"
    first = scores.assign(simulated_seconds=5.0 + 3 * late)
    last = scores.assign(round=20, simulated_seconds=9.0)
    pd.concat([first, last]).to_csv(files[1], index=False)
    question = PLAN.split("[[plan.question]]")[0].replace("round = 10", "seconds = 8.0")
    plan = Path(files[0])
    plan.write_text(f"{question}reach = 0.55\n[[plan.question]]\ncolumns = ['availability']\n")
    found = verdicts_of_plan(read_plan(files[0]), read_scores(files[1]))
    assert found["at"].tolist() == ["until 0.55, up to 8 s"] * 2
    assert found["score"][0] == "sample_seconds_to_0.55_accuracy"
    assert found["mean"].tolist() == [-3, 0]
    plan.write_text(question + "[[plan.question]]\n")
    found = verdicts_of_plan(
        read_plan(files[0]), read_scores(files[1]).query("availability=='always'")
    )
    assert found["at"].tolist() == ["8 s"] and found["verdict"].tolist() == [BETTER]


def test_scores_of_one_draw_have_no_verdict(files: tuple[str, Path], cli: Cli) -> None:
    plan, path = files
    scores = pd.read_csv(path)
    scores[scores["data_seed"] == 0].to_csv(path, index=False)
    printed = cli.said(main(["plan_verdicts", f"--plan={plan}", f"--scores={path}"]), 2).err
    assert "has two runs in common" in printed


def test_counts_of_cells(files: tuple[str, Path], cli: Cli) -> None:
    """A row per difference: its mean over cells, better in one of two cells."""
    plan, path = files
    printed = cli.said(
        main(["plan_verdicts", f"--plan={plan}", f"--scores={path}", "--counts"])
    ).out
    row, _, said = printed.splitlines()[-3:]
    assert said.startswith("Of 2 directions 2 are also shown by sign tests")
    assert row.startswith("| F3AST − FedAvg | sample accuracy | round 10 | +0.051 |")
    assert row.endswith("| better | 1 | 1 | 0 |")


def test_the_picture(files: tuple[str, Path], cli: Cli) -> None:
    plan, scores = files
    out = scores.with_name("verdicts.svg")
    flags = [f"--plan={plan}", f"--scores={scores}", f"--picture={out}"]
    assert main(["plan_verdicts", *flags]) == 0
    drawn = out.read_text()
    assert all(f"<!-- {text} -->" in drawn for text in ("sample accuracy, round 10", "difference"))
    printed = cli.said(main(["plan_verdicts", *flags[:2], "--picture=x.pdf"]), 2).err
    assert "--picture=x.pdf: must end in .svg or .png" in printed


def test_claims_of_other_runs_are_told_apart_and_a_diverged_one_has_no_mean(
    files: tuple[str, Path], cli: Cli
) -> None:
    """Under scarce one loss of F3AST is not finite: signs judge, and the mean is not said."""
    questions = [
        f'[[plan.question]]\nwhere = "availability={each}"' for each in ("always", "scarce")
    ]
    Path(files[0]).write_text(
        PLAN.partition("[[plan")[0].replace("sample_accuracy", "user_loss") + "\n".join(questions)
    )
    table = pd.read_csv(files[1])
    table["user_loss"] = 1 - table["user_accuracy"]
    lost = (table["algorithm"] == "f3ast") & (table["data_seed"] == 0)
    table.loc[lost & (table["availability"] == "scarce"), "user_loss"] = np.inf
    table.to_csv(files[1], index=False)
    shown = cli.said(main(["x", f"--plan={files[0]}", f"--scores={files[1]}"])).out
    assert "| F3AST − FedAvg (availability=always) | user loss | round 10 | -0.100 |" in shown
    assert "(availability=scarce) | user loss | round 10 | A diverged in 1 of 8 runs | | |" in shown
    assert "nan" not in shown
