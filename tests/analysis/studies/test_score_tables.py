"""Tables of kept scores, from small files written by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.analysis.studies.kept_pages import main as update
from f3ast_tff.analysis.studies.score_tables import Layout, differences_of, main
from f3ast_tff.analysis.tidy_scores import read_scores
from tests.commands import Cli

Write = Callable[..., Path]
SCORES = "sample_accuracy,user_accuracy,sample_loss,user_loss"

OWN_READING = "A reader's own reading, which no plan asks."


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of scores; a line is a text such as `f3ast,paper,0,1000,0.8`.

    Unless a line continues with them, the user accuracy is half the sample accuracy, and the losses
    are `1 - accuracy` and double that.
    """

    def make(header: str, *lines: str) -> Path:
        rows = [f"task,{header},{SCORES}"]
        width = header.count(",") + 1
        for line in lines:
            before, scores = line.split(",")[:width], line.split(",")[width:]
            if len(scores) == 1:
                (score,) = map(float, scores)
                scores = [f"{each:.6f}" for each in (score, score / 2, 1 - score, 2 - 2 * score)]
            rows.append(",".join(["synthetic", *before, *scores]))
        path = tmp_path / "scores.csv"
        path.write_text("\n".join(rows) + "\n")
        return path

    return make


def printed(cli: Cli, scores: Path, *flags: str) -> list[str]:
    return cli.said(main(["x", f"--scores={scores}", *flags])).out.splitlines()


def refused(cli: Cli, scores: Path, *flags: str) -> str:
    captured = cli.said(main(["x", f"--scores={scores}", *flags]), 2)
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err


def test_means_and_paired_differences_over_draws(write: Write, cli: Cli) -> None:
    """F3AST 0.4, 0.6, 0.5 over FedAvg 0.2, 0.3, 0.25.

    Means are 0.5 and 0.25, deviations 0.1 and 0.05. Differences are 0.2, 0.3, 0.25: mean 0.25,
    standard error 0.05 / sqrt 3 = 0.0288675, t(0.975; 2) = 4.302653, half width 0.1242.
    """
    scores = write(
        "algorithm,availability,data_seed,seed,round",
        "f3ast,uneven,0,0,500,0.9",
        "f3ast,uneven,0,0,1000,0.4",
        "f3ast,uneven,1,1,1000,0.6",
        "f3ast,uneven,2,2,1000,0.5",
        "fedavg,uneven,0,0,1000,0.2",
        "fedavg,uneven,1,1,1000,0.3",
        "fedavg,uneven,2,2,1000,0.25",
        "fedavg,always,0,0,1000,0.7",
    )
    assert printed(cli, scores, "--columns=availability", "--minus=f3ast:fedavg") == [
        "Sample accuracy at round 1000:",
        "",
        "| | Always | Uneven |",
        "|---|---|---|",
        "| FedAvg | 0.7000 | 0.2500 ± 0.0500 |",
        "| F3AST | – | 0.5000 ± 0.1000 |",
        "| F3AST − FedAvg | – | +0.250 [+0.126, +0.374] |",
        "",
        "± over 3 draws of the data, each with its own seed or 1 seed of one draw of the data; "
        f"95% intervals cover draws of the data, 3 of them. {OWN_READING}",
    ]


def test_tables_for_each_value_and_each_score(write: Write, cli: Cli) -> None:
    """Losses 0.5 and 1700 of two draws: mean 850.25, deviation 1699.5 / sqrt 2 = 1201.7.

    The other reading has losses 0.5 and 0.4. Under the released reading all runs share one draw of
    the availability.
    """
    scores = write(
        "algorithm,availability,reading,data_seed,seed,round",
        "f3ast,always,paper,0,0,9,0.5",
        "f3ast,always,paper,1,1,9,0.5,0.25,1700,3400",
        "f3ast,always,released,0,0,9,0.5",
        "f3ast,always,released,1,1,9,0.6",
    )
    flags = ("--columns=availability", "--by=reading", "--score=user_accuracy,sample_loss")
    lines = printed(cli, scores, *flags, "--unstable")
    unstable = "Runs with a sample loss above 2.303 or not finite"
    assert [line for line in lines if line and not line.startswith(("| |", "|---"))] == [
        "User accuracy at round 9, reading paper:",
        "| F3AST | 0.2500 ± 0.0000 |",
        "Sample loss at round 9, reading paper:",
        "| F3AST | 8.5e+02 ± 1.2e+03 |",
        f"{unstable} at round 9, reading paper:",
        "| F3AST | 1 of 2 |",
        "± over 2 draws of the data, each with its own seed.",
        "User accuracy at round 9, reading released:",
        "| F3AST | 0.2750 ± 0.0354 |",
        "Sample loss at round 9, reading released:",
        "| F3AST | 0.4500 ± 0.0707 |",
        f"{unstable} at round 9, reading released:",
        "| F3AST | 0 of 2 |",
        "± over 2 draws of the data, each with its own seed; runs under R13's by_round_only share "
        "one draw of the availability, which is not covered.",
    ]


def test_a_column_a_score_and_rows_of_two_settings(write: Write, cli: Cli) -> None:
    """Seeds 0 and 1 of one draw; differences 0.1 and 0.2: 0.15 ± 12.706 * 0.05 = 0.635."""
    scores = write(
        "algorithm,beta,seed,round",
        "f3ast,0.01,0,9,0.5",
        "f3ast,0.01,1,9,0.7",
        "f3ast,0.001,0,9,0.4",
        "f3ast,0.001,1,9,0.5",
        "fedavg,,0,9,0.4",
        "fedavg,,1,9,0.4",
    )
    flags = ("--rows=algorithm,beta", "--minus=f3ast/0.01:f3ast/0.001,f3ast/0.001:fedavg")
    assert printed(cli, scores, *flags, "--score=sample_accuracy,user_accuracy") == [
        "At round 9:",
        "",
        "| | sample accuracy | user accuracy |",
        "|---|---|---|",
        "| FedAvg | 0.4000 ± 0.0000 | 0.2000 ± 0.0000 |",
        "| F3AST, beta 0.001 | 0.4500 ± 0.0707 | 0.2250 ± 0.0354 |",
        "| F3AST, beta 0.01 | 0.6000 ± 0.1414 | 0.3000 ± 0.0707 |",
        "| F3AST, beta 0.01 − F3AST, beta 0.001 "
        "| +0.150 [-0.485, +0.785] | +0.075 [-0.243, +0.393] |",
        "| F3AST, beta 0.001 − FedAvg | +0.050 [-0.585, +0.685] | +0.025 [-0.293, +0.343] |",
        "",
        "± over 2 seeds of one draw of the data; 95% intervals cover seeds of one draw of the "
        f"data, not corrected for their number. {OWN_READING}",
    ]
    alone = ("--where=algorithm=f3ast", "--rows=beta", "--minus=0.01:0.001", "--unstable")
    assert printed(cli, scores, *alone, "--loss_above=0.5")[2:-2] == [
        "| | sample accuracy | runs with a sample loss above 0.5 or not finite |",
        "|---|---|---|",
        "| beta 0.001 | 0.4500 ± 0.0707 | 1 of 2 |",
        "| beta 0.01 | 0.6000 ± 0.1414 | 0 of 2 |",
        "| beta 0.01 − beta 0.001 | +0.150 [-0.485, +0.785] | |",
    ]


def test_runs_that_diverged_are_counted_and_leave_no_mean(write: Write, cli: Cli) -> None:
    scores = write(
        "algorithm,data_seed,seed,round",
        "f3ast,0,0,9,0.1,0.1,,",
        "f3ast,1,1,9,0.1,0.1,inf,inf",
        "f3ast,2,2,9,0.5",
        "fedavg,0,0,9,0.5",
        "fedavg,1,1,9,0.5",
        "fedavg,2,2,9,0.5",
    )
    flags = ("--score=sample_loss", "--minus=f3ast:fedavg", "--unstable")
    lines = printed(cli, scores, *flags)
    assert lines[4:7] == [
        "| FedAvg | 0.5000 ± 0.0000 | 0 of 3 |",
        "| F3AST | diverged 2 of 3 | 2 of 3 |",
        "| F3AST − FedAvg | diverged 2 of 3 | |",
    ]
    assert lines[-1] == f"± over 3 draws of the data, each with its own seed. {OWN_READING}"


def test_pairs_that_only_one_has_are_said(write: Write, cli: Cli) -> None:
    scores = write(
        "algorithm,data_seed,seed,round",
        "f3ast,0,7,9,0.5",
        "f3ast,1,7,9,0.5",
        "f3ast,2,7,9,0.5",
        "fedavg,0,7,9,0.4",
        "fedavg,1,7,9,0.4",
    )
    lines = printed(cli, scores, "--minus=f3ast:fedavg")
    assert lines[6] == "| F3AST − FedAvg | +0.100 [+0.100, +0.100] (2 common pairs) |"
    assert lines[-1] == (
        "± over 2 to 3 draws of the data; 95% intervals cover draws of the data, 2 of them. "
        + OWN_READING
    )


def test_the_mean_of_the_last_tenth(write: Write, cli: Cli) -> None:
    """F3AST's 20 evaluations are 0.01 to 0.20: 0.19 and 0.20 count.

    Of FedAvg's 4 the last counts.
    """
    rows = [f"f3ast,0,{5 * number},{number / 100}" for number in range(1, 21)]
    rows += [f"fedavg,0,{25 * number},{number / 10}" for number in range(1, 5)]
    scores = write("algorithm,seed,round", *rows)
    flags = ("--period=mean_of_last_10_percent", "--columns=algorithm", "--rows=task")
    lines = printed(cli, scores, *flags)
    assert lines[0] == "Sample accuracy in the mean of the last 10% of the kept evaluations:"
    assert lines[4] == "| Synthetic | 0.4000 | 0.1950 |"
    lines = printed(cli, scores, *flags, "--where=algorithm=f3ast")
    assert lines[0] == "Sample accuracy in the mean of rounds 95, 100:"
    assert printed(cli, scores, "--where=algorithm=f3ast")[0] == "At round 100:"
    assert "period" in refused(cli, scores, flags[0], "--round=100")
    assert "period" in refused(cli, scores, "--period=first")


def test_the_best_evaluation_of_each_run(write: Write, cli: Cli) -> None:
    """The highest accuracy and the lowest loss count, each of its own round, finite ones alone."""
    scores = write(
        "algorithm,seed,round",
        "f3ast,0,5,0.7,0.1,3.0,3.0",
        "f3ast,0,10,0.4,0.1,2.0,3.0",
        "f3ast,0,15,nan,0.1,nan,3.0",
        "fedavg,0,5,nan,0.1,nan,3.0",
    )
    lines = printed(cli, scores, "--period=best", "--score=sample_accuracy,sample_loss")
    assert lines[0] == "At the best of 3 evaluations:"
    assert lines[4] == "| FedAvg | diverged 1 of 1 | diverged 1 of 1 |"
    assert lines[5] == "| F3AST | 0.7000 | 2.0000 |"


def test_periods_of_the_second_half(write: Write, cli: Cli) -> None:
    """Of five evaluations the last three count: |.2 - .5| and |.6 - .2|, or .5, .2 and .6."""
    accuracies = {5: 0.1, 10: 0.9, 15: 0.5, 20: 0.2, 25: 0.6}
    rows = [f"f3ast,0,{t},{accuracy},.1,2.0,2.0" for t, accuracy in accuracies.items()]
    scores = write("algorithm,seed,round", *rows)
    lines = printed(cli, scores, "--period=change", "--score=sample_accuracy")
    assert lines[0] == "By mean size of change between evaluations, over their second half:"
    assert lines[4] == "| F3AST | 0.3500 |"
    lines = printed(cli, scores, "--period=second_half", "--score=sample_accuracy")
    assert lines[0] == "In the mean of the 3 evaluations from round 15 on:"
    assert lines[4] == "| F3AST | 0.4333 |"
    few = write("algorithm,seed,round", *rows[:2])
    assert "needs 3 evaluations or more, has 2" in refused(cli, few, "--period=change")
    other = write("algorithm,seed,round", *rows, "fedavg,0,5,0.4,.1,2.0,2.0")
    lines = printed(cli, other, "--period=second_half", "--score=sample_accuracy")
    assert lines[0] == "In the mean of the second half of the kept evaluations:"
    assert lines[4] == "| FedAvg | 0.4000 |"


def test_an_earlier_round(write: Write, cli: Cli) -> None:
    scores = write("algorithm,seed,round", "f3ast,0,5,0.1", "f3ast,0,9,0.5", "fedavg,0,8,0.2")
    assert printed(cli, scores)[0] == "At the last round of each run:"
    assert "no evaluation of round 5" in refused(cli, scores, "--round=5")
    lines = printed(cli, scores, "--round=5", "--where=algorithm=f3ast")
    assert lines[0] == "At round 5:" and lines[4] == "| F3AST | 0.1000 |"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--rows=beta"], "--rows=beta: must be of the file's settings task, algorithm, reading"),
        (["--score=accuracy"], "--score=accuracy: must be of sample_accuracy"),
        (["--by=reading", "--minus=f3ast:poc"], "--minus=f3ast:poc: must be rows of fedavg, f3ast"),
        (["--minus=f3ast"], "--minus=f3ast: must be pairs such as f3ast:fedavg"),
        (["--where=reading"], "--where=reading: must be SETTING=VALUE"),
        (["--where=reading=textbook"], "no run has reading=textbook"),
        (["--where=reading=paper,reading=text"], "has reading=text; there are paper, released"),
        ([], "runs of one cell differ in reading; name it in --rows, --columns, --by or --where"),
    ],
)
def test_bad_flags(flags: list[str], said: str, write: Write, cli: Cli) -> None:
    scores = write(
        "algorithm,reading,seed,round",
        "f3ast,paper,0,9,0.5",
        "f3ast,released,0,9,0.5",
        "fedavg,paper,0,9,0.5",
    )
    assert said in refused(cli, scores, *flags)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["f3ast,0,9,0.5", "f3ast,0,9,0.5"], "line 3: round 9 of this run is there twice"),
        (["f3ast,x,9,0.5"], "invalid literal for int"),
        (["f3ast,0,9,a,b,c,d"], "could not convert"),
        ([], "has no runs"),
    ],
)
def test_damaged_files(lines: list[str], said: str, write: Write, cli: Cli) -> None:
    assert said in refused(cli, write("algorithm,seed,round", *lines))
    assert "has no column algorithm" in refused(cli, write("seed,round", "0,9,0.5"))


def test_ln_10_is_the_default_bound(write: Write, cli: Cli) -> None:
    above, below = math.log(10) + 0.00001, math.log(10) - 0.00001
    scores = write(
        "algorithm,seed,round",
        f"f3ast,0,9,0.1,0.1,{above:.6f},1",
        f"f3ast,1,9,0.1,0.1,{below:.6f},1",
    )
    assert printed(cli, scores, "--unstable")[4].endswith("| 1 of 2 |")


def test_a_page_is_brought_up_to_date(write: Write, cli: Cli) -> None:
    """Text between a command and the next block, heading or end mark is replaced."""
    scores = write("algorithm,seed,round", "f3ast,0,9,0.5", "fedavg,0,9,0.4")
    command = f"```sh\npython -m f3ast_tff.analysis.studies.score_tables \\\n  --scores {scores}"
    one, other = f"{command} --where algorithm=f3ast\n```\n", f"{command}\n```\n"
    table = "At round 9:\n\n| | sample accuracy |\n|---|---|\n{}| F3AST | 0.5000 |\n\n"
    table += "1 seed of one draw of the data.\n"
    page = scores.with_name("page.md")
    page.write_text(f"# A\n\nb\n{one}old\n{other}\nold\n<!-- end -->\nc\n\n# D\n{one}")
    assert update(["x", f"--page={page}"]) == 0
    first, second = table.format(""), table.format("| FedAvg | 0.4000 |\n")
    expected = (
        f"# A\n\nb\n{one}\n{first}\n{other}\n{second}\n<!-- end -->\nc\n\n# D\n{one}\n{first}"
    )
    assert page.read_text() == expected
    said = cli.said(update(["x", f"--page={page}"])).out
    assert said == f"{page}: written\n{page}: up to date\n" and page.read_text() == expected


def test_pages_that_cannot_be_brought_up_to_date(write: Write, cli: Cli) -> None:
    scores = write("algorithm,seed,round", "f3ast,0,9,0.5")
    page = scores.with_name("page.md")
    assert update(["x", f"--page={page}"]) == 2
    page.write_text(
        "```sh\nls\npython -m f3ast_tff.analysis.studies.score_tables --scores x.csv\n```\n"
    )
    assert "needs a ```sh block of its own" in cli.said(update(["x", f"--page={page}"]), 2).err
    page.write_text(
        "```sh\npython -m f3ast_tff.analysis.studies.score_tables --scores x.csv\n```\nold\n"
    )
    assert "this command failed" in cli.said(update(["x", f"--page={page}"]), 2).err
    assert page.read_text().endswith("old\n")


def test_every_other_row_minus_one(write: Write, cli: Cli) -> None:
    """F3AST 0.5, its selection with FedVARP's memory 0.4, FedAvg 0.2, equally in both draws.

    An algorithm's own aggregation is not named.
    """
    lines = [
        f"{algorithm},{aggregation},{draw},{draw},9,{score + draw / 10}"
        for algorithm, aggregation, score in (
            ("fedavg", "mean", 0.2),
            ("f3ast", "sum", 0.5),
            ("f3ast", "fedvarp", 0.4),
        )
        for draw in (0, 1)
    ]
    scores = write("algorithm,aggregation,data_seed,seed,round", *lines)
    flags = ("--rows=algorithm,aggregation", "--minus=each:fedavg/mean")
    rows = [line.split(" | ") for line in printed(cli, scores, *flags) if line[:2] == "| "]
    assert [row[0] for row in rows[1:]] == [
        "| FedAvg",
        "| F3AST",
        "| F3AST + FedVARP's rules",
        "| F3AST − FedAvg",
        "| F3AST + FedVARP's rules − FedAvg",
    ]
    assert [row[1][:6] for row in rows[4:]] == ["+0.300", "+0.200"]
    assert "must be rows of" in refused(cli, scores, "--minus=each:poc", flags[0])


def test_differences_as_a_picture(write: Write, cli: Cli) -> None:
    """F3AST's differences to FedAvg at server_lr 1 are 0.2 and 0.3: mean 0.25.

    Of the second row only what differs is named; a cell that lacks a row has no difference.
    """
    scores = write(
        "algorithm,server_lr,availability,data_seed,seed,round",
        "f3ast,1,uneven,0,0,1000,0.4",
        "f3ast,1,uneven,1,1,1000,0.6",
        "fedavg,1,uneven,0,0,1000,0.2",
        "fedavg,1,uneven,1,1,1000,0.3",
        "fedavg,2,uneven,0,0,1000,0.3",
        "fedavg,2,uneven,1,1,1000,0.5",
        "f3ast,1,always,0,0,1000,0.7",
    )
    layout = Layout(
        scores=["sample_accuracy"],
        rows=["algorithm", "server_lr"],
        columns=["availability"],
        minus=[("f3ast/1", "fedavg/1"), ("f3ast/1", "fedavg/2")],
    )
    found = differences_of(read_scores(scores), layout)
    assert [*found["name"]] == [
        "F3AST, server_lr 1 − FedAvg",
        "F3AST, server_lr 1 − FedAvg, server_lr 2",
    ]
    assert [*found["cell"]] == ["Uneven", "Uneven"]
    assert [*found["mean"]] == pytest.approx([0.25, 0.1])
    flags = ("--rows=algorithm,server_lr", "--columns=availability")
    picture = scores.with_name("differences.svg")
    assert printed(cli, scores, *flags, "--minus=f3ast/1:fedavg/1", f"--picture={picture}") == [
        f"written: {picture}"
    ]
    assert "F3AST, server_lr 1 − FedAvg" in picture.read_text(encoding="utf-8")
    assert "give --minus" in refused(cli, scores, *flags, f"--picture={picture}")
