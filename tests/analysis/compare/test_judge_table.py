"""Anybody's table of scores: how it is read, what is refused, and the verdicts."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_files import read_table
from f3ast_tff.cli.main import main

HEAD = "method,seed,accuracy\n"
MINE = "mine,0,.81\nmine,1,.83\nmine,2,.80\nmine,3,.82\n"
THEIRS = "fedavg,0,.71\nfedavg,1,.74\nfedavg,2,.70\nfedavg,3,.71\n"
# The differences are .10, .09, .10, .11, of deviation .00816: .1 -+ 3.18 x .00816 / 2.
LEAD = "mine is better than fedavg by .100 [.087, .113] over 4 seeds."


def table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


def curves(last: int = 40) -> str:
    """Two methods, two values of alpha, four seeds, a score each 10 rounds."""
    rows = [
        f"{method},{alpha},{seed},{number},{0.4 + lead + number / 200 + seed / 1000}"
        for method, lead in (("mine", 0.1), ("fedavg", 0.0))
        for alpha in (0.1, 1.0)
        for seed in range(4)
        for number in range(10, last + 1, 10)
    ]
    return "\n".join(["algorithm,alpha,seed,round,test_acc", *rows])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", HEAD + MINE + THEIRS),
        ("a.tsv", (HEAD + MINE + THEIRS).replace(",", "\t")),
        # MLflow's names, and a column that is another measure.
        (
            "a.csv",
            ("params.algorithm,params.seed,metrics.accuracy\n" + MINE + THEIRS),
        ),
        # An id, in place of a name, is no condition.
        ("a.jsonl", "".join(
            json.dumps(
                {"run": f"r{n}", "strategy": m, "trial": int(s), "eval": {"acc": float(v)}}
            ) + "\n"
            for n, (m, s, v) in enumerate(r.split(",") for r in (MINE + THEIRS).split())
        )),
    ],
)  # fmt: skip
def test_columns_are_recognised(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["f3ast-tff", "judge", str(tmp_path / name)]) == 0
    assert LEAD in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("seed,accuracy\n0,.5\n1,.6\n", "", "no column is known as the method: --method= names"),
        ("method,seed,foo\na,0,1\nb,0,2\n", "", "no column is known as the score: --score="),
        ("method,seed,foo\na,0,1\nb,0,2\n", "--score=foo", "give --higher or --lower"),
        (HEAD + MINE + "fedavg,0,n/a\n", "", "column accuracy holds text in row 6: 'n/a'"),
        (HEAD + MINE + "mine,3,.9\n" + THEIRS, "", "seed 3 is there twice for mine: rows 5, 6"),
        (
            "method,dataset,seed,accuracy\na,x,0,.5\na,x,1,.6\nb,y,0,.5\nb,y,1,.6\n",
            "",
            "unequal conditions: a has dataset x (rows 2, 3), b has dataset y (rows 4, 5); "
            "--may_differ=dataset",
        ),
        (
            "method,dataset,seed,accuracy\na,x,0,.5\na,z,1,.6\nb,y,0,.5\nb,w,1,.6\n",
            "",
            "a and b have no condition in common: dataset",
        ),
        (
            "method,accuracy\nfedavg,.5\nmine,.52\n",
            "",
            "mine and fedavg have 1 run each, which show nothing: a difference of +.020 needs 10 "
            "seeds each if",
        ),
        ("method,round,accuracy\na,1,.5\na,1,.6\nb,1,.5\n", "", "a has several scores at round 1"),
        ("method,round,seed,accuracy\na,x,1,.6\nb,1,1,.5\n", "", "round is no whole number in row"),
        (HEAD + MINE + THEIRS, "--claim=mine", "must be such as"),
        (HEAD + MINE + THEIRS, "--claim=mine > none", "must be a method of the table: mine, fe"),
        (HEAD + MINE + THEIRS, "--claim=mine > fedavg at 7", "no column is known as the round"),
        (curves(), "--claim=mine > fedavg at 7", "has no test_acc at round 7"),
        (curves(), "--claim=mine > fedavg until 0.5", "lower is better in rounds: say mine beats"),
        (HEAD + MINE + THEIRS, "--baseline=none", "--baseline=none: must be a method of the table"),
        (HEAD + MINE + THEIRS, "--within=none", "--within=none: must be a column: method, seed"),
        (HEAD + MINE + THEIRS, "--seed=none", "--seed=none: must be a column: method, seed"),
        ("", "", "is no table"),
    ],
)
def test_refused_in_a_line(
    text: str, flags: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert main(["f3ast-tff", "judge", str(path), *filter(None, [flags])]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and printed.err.count("\n") == 1 and not printed.out


def test_one_run_with_a_curve_says_the_seeds_by_its_noise() -> None:
    """A saw of +-.03 about a line, and a lead of .03 at the end: as an effect of one deviation.

    The two parameters of the line make the deviation somewhat larger: 11 for 10.
    """
    rows = [f"a,{t},{0.5 + 0.03 * (-1) ** t}\nb,{t},0.44" for t in range(40)]
    with pytest.raises(RunsError, match=r"\+.030 needs 11 seeds each if seeds spread no more than"):
        judge_table(table("\n".join(["method,round,accuracy", *rows])))


def test_claims_of_a_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lead is .1 in each seed, so a claim and its contrary are certain.

    Both reach .6 late: mine, .5 + t / 200, at round 20; fedavg, .4 + t / 200, at round 40.
    """
    path = tmp_path / "a.csv"
    path.write_text(curves())
    said = "mine > fedavg on test_acc at 20 within alpha; fedavg beats mine; "
    said += "mine beats fedavg until 0.6 within alpha"
    outs = [f"--{name}={tmp_path / name}" for name in ("latex", "csv")]
    picture = f"--out={tmp_path / 'a.svg'}"
    assert main(["f3ast-tff", "judge", str(path), f"--claim={said}", *outs, picture]) == 0
    printed = capsys.readouterr().out
    assert printed.count("mine > fedavg: holds. mine is better than fedavg by .100") == 2
    assert printed.count("fedavg beats mine: does not hold.") == 2
    assert printed.count("mine is better than fedavg by 20.000 [20.000, 20.000] (rounds") == 2
    assert "Holm's rule corrects for 6 claims" in printed
    rows = pd.read_csv(tmp_path / "csv")
    assert rows["holds"].tolist() == [True, True, False, False, True, True]
    assert rows["where"].tolist() == ["alpha 0.1", "alpha 1.0"] * 3
    assert (tmp_path / "latex").read_text().count(r"mine - fedavg & alpha") == 4
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_runs_are_paired_by_seed_where_seeds_are_shared() -> None:
    shifted = THEIRS.replace("fedavg,", "fedavg,9")
    for text, said in ((MINE + THEIRS, "4 seeds"), (MINE + shifted, "4 and 4 runs, not paired")):
        found = judge_table(table(HEAD + text)).frame()
        assert f"over {said}" in found["sentence"][0]


def test_missing_and_diverged_runs_are_said() -> None:
    text = curves().replace("fedavg,0.1,3,40,", "fedavg,0.1,3,41,")
    text = text.replace(
        text[text.index("fedavg,1.0,2,40,") :].split("\n")[0], "fedavg,1.0,2,40,nan"
    )
    found = judge_table(table(text))
    assert found.notes == ["left out: seed 3 of fedavg, without test_acc at round 40"]
    one, other = found.results
    assert "Not paired: 1 of 4 runs of mine." in one.more
    assert "fedavg diverged in 1 of 4 runs" in other.sentence


def test_numbers_that_methods_tune_may_differ() -> None:
    rows = (HEAD + MINE + THEIRS).split("\n")
    rates = ["lr", *[".1"] * 4, *[".01"] * 4, ""]
    text = "\n".join(f"{row},{rate}" if row else "" for row, rate in zip(rows, rates))
    assert "methods differ in lr" in judge_table(table(text)).heading


def test_an_empty_cell_is_not_measured(tmp_path: Path) -> None:
    """A service writes a row per log call: the score stands in some of them."""
    path = tmp_path / "a.csv"
    rows = [
        f"{r.replace(',.', ',5,.')}\n{r.rpartition(',')[0]},6,\n" for r in (MINE + THEIRS).split()
    ]
    path.write_text("method,seed,step,accuracy\n" + "".join(rows))
    assert (
        LEAD.replace(" over", " at round 5 over")
        in judge_table(read_table(path)).frame()["sentence"].tolist()
    )


def test_a_loss_that_is_not_finite_is_a_run_that_diverged() -> None:
    text = (HEAD + MINE + THEIRS).replace("\n", ",1\n").replace("accuracy,1", "accuracy,loss")
    found = judge_table(table(text.replace("fedavg,0,.71,1", "fedavg,0,.71,nan")))
    assert "fedavg diverged in 1 of 4 runs" in found.results[0].sentence
