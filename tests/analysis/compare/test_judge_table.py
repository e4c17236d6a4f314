"""Anybody's table of scores: how it is read, what is refused, and the verdicts."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_figures import draw_verdicts, latex_table
from f3ast_tff.analysis.compare.table_files import read_table
from f3ast_tff.cli.main import main
from tests.commands import Cli

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
def test_columns_are_recognised(name: str, text: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / name).write_text(text)
    assert LEAD in cli.out("judge", tmp_path / name)


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("seed,accuracy\n0,.5\n1,.6\n", "", "no column is known as the method: --method= names"),
        ("method,seed,foo\na,0,1\nb,0,2\n", "", "no column is known as the score: --score="),
        ("method,seed,foo\na,0,1\nb,0,2\n", "--score=foo", "give --higher or --lower"),
        (HEAD + MINE + "fedavg,0,OOM\n", "", "column accuracy holds text in row 6: 'OOM'"),
        (HEAD + MINE + "mine,3,.9\n" + THEIRS, "", "seed 3 is there twice for mine: rows 5, 6"),
        (HEAD + MINE + THEIRS.replace(".7", "-7"), "", "column accuracy holds -71 in rows 6, 7, 8"),
        (
            "method,seed,rounds_to_80_acc\na,0,-1\na,1,50\nb,0,60\nb,1,70\n",
            "",
            "holds -1 in row 2: leave it empty if it was not measured, inf if never reached",
        ),
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
        (HEAD + MINE + THEIRS, "--claim=mine >= fedavg", "must be such as"),
        (HEAD + MINE + ",0,.7\n", "", "column method is empty in row 6"),
        (HEAD + MINE + "fedavg,,.7\n", "", "column seed is empty in row 6"),
        (HEAD + MINE + "fedavg,0,0.7 ± 0.1\n", "", "column accuracy holds text in row 6: '0.7 ±"),
        (HEAD + "a,0,\nb,0,\n", "--score=accuracy", "column accuracy is empty in every row"),
        (
            "seed,mine,fedavg\n0,.8,.7\n1,.81,.72\n",
            "",
            "if there is one per method, in pandas: table.melt(['seed'], var_name='method', ",
        ),
        (
            "seed,alpha,mine,fedavg\n0,1,.8,.7\n1,1,.81,.72\n",
            "",
            "table.melt(['seed', 'alpha'], var_name='method', value_name='value')",
        ),
        (
            "method,seed_0,seed_1\na,.8,.7\nb,.81,.72\n",
            "",
            "if there is one per seed, in pandas: table.melt(['method'], var_name='seed', ",
        ),
        (
            "method,mean,std\na,.8,.1\nb,.7,.1\n",
            "",
            "means of runs are not judged, a row per run is",
        ),
        # Five values of alpha are five conditions, not five runs.
        (
            "method,alpha,accuracy\n"
            + "".join(f"{m},{a},.{a}\n" for m in "ab" for a in range(1, 6)),
            "",
            "no column is known as the seed: --seed=alpha, --step=alpha or --within=alpha says",
        ),
        (
            "method,lr2,net,seed,accuracy\na,1,x,0,.5\na,1,x,1,.6\nb,2,y,0,.5\nb,2,y,1,.6\n",
            "",
            "--may_differ=lr2,net if the methods may differ in that",
        ),
        # What came of a run, or where it ran, is no condition: of one seed methods differ in it.
        (
            "method,seed,gpu,accuracy\n"
            + "".join(
                f"{m},{s},{'VA'[(s + k) % 2]},.{s + 5}\n"
                for k, m in enumerate("ab")
                for s in range(4)
            ),
            "",
            "a has gpu V, A: --within=gpu if it is a condition, --may_differ=gpu if not",
        ),
    ],
)
def test_refused_in_a_line(text: str, flags: str, said: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    printed = cli.said(main(["f3ast-tff", "judge", str(path), *filter(None, [flags])]), 2)
    assert said in printed.err and printed.err.count("\n") == 1 and not printed.out


def test_a_data_set_with_seeds_of_its_own_is_a_condition(tmp_path: Path, cli: Cli) -> None:
    rows = [f"{m},{'xy'[s // 3]},{s},.{s + n}" for n, m in enumerate("ab", 1) for s in range(6)]
    (tmp_path / "a.csv").write_text("\n".join(["federated_optimizer,data,seed,accuracy", *rows]))
    out = cli.out("judge", tmp_path / "a.csv")
    assert out.count("b is better than a by .100") == 2 and "data x" in out and "data y" in out


def test_one_run_with_a_curve_says_the_seeds_by_its_noise() -> None:
    """A saw of +-.03 about a line, and a lead of .03 at the end: as an effect of one deviation.

    The two parameters of the line make the deviation somewhat larger: 11 for 10.
    """
    rows = [f"a,{t},{0.5 + 0.03 * (-1) ** t}\nb,{t},0.44" for t in range(40)]
    with pytest.raises(RunsError, match=r"\+.030 needs 11 seeds each if seeds spread no more than"):
        judge_table(table("\n".join(["method,round,accuracy", *rows])))


def test_claims_of_a_family(tmp_path: Path, cli: Cli) -> None:
    """The lead is .1 in each seed, so a claim and its contrary are certain.

    Both reach .6 late: mine, .5 + t / 200, at round 20; fedavg, .4 + t / 200, at round 40.
    """
    path = tmp_path / "a.csv"
    path.write_text(curves())
    said = "mine > fedavg on test_acc at 20 within alpha; fedavg beats mine; "
    said += "mine beats fedavg until 0.6 within alpha"
    outs = [f"--{name}={tmp_path / name}" for name in ("latex", "csv")]
    picture = f"--out={tmp_path / 'a.svg'}"
    printed = cli.out("judge", path, f"--claim={said}", *outs, picture)
    holds = "mine > fedavg on test_acc: holds. mine is better than fedavg by .100"
    assert printed.count(holds) == 2
    assert printed.count("fedavg beats mine: does not hold.") == 2
    assert printed.count("mine is better than fedavg by 20.000 [20.000, 20.000] (rounds") == 2
    assert "Holm's rule corrects for 6 claims" in " ".join(printed.split())
    rows = pd.read_csv(tmp_path / "csv")
    assert rows["holds"].tolist() == [True, True, False, False, True, True]
    assert rows["where"].tolist() == ["alpha 0.1", "alpha 1.0"] * 3
    assert (tmp_path / "latex").read_text().count(r"mine - fedavg & alpha") == 4
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_claims_on_several_scores_name_them(tmp_path: Path) -> None:
    """Conditions that a claim does not name are averaged: .1 in both, and so is their mean."""
    frame = table(curves()).assign(test_loss=lambda each: 1 - each["test_acc"])
    said = "mine beats fedavg on test_loss within alpha; mine > fedavg on test_acc within seed"
    found = judge_table(frame.assign(seed=0, trial=frame["seed"]), said, columns={"seed": "trial"})
    assert "test_loss (lower is better), test_acc (higher is better)" in found.heading
    rows = found.frame()
    assert rows["where"].tolist() == ["alpha 0.1", "alpha 1.0", "seed 0, mean over alpha"]
    assert rows["score"].tolist() == ["test_loss", "test_loss", "test_acc"]
    assert rows["difference"].tolist() == pytest.approx([-0.1, -0.1, 0.1])
    assert (rows["holds"] == "true").all()
    assert latex_table(found.results).count(r"& test\_loss &") == 2
    draw_verdicts(found.results, tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (0, "over 4 seeds."),
        (1, "over 3 seeds."),
        (2, "over 4 and 4 runs, not paired"),
        (90, "over 4 and 4 runs, not paired"),
    ],
)
def test_runs_are_paired_if_methods_share_half_of_the_seeds(first: int, said: str) -> None:
    """Of 4 seeds 3 are needed, since 2 pairs allow no verdict."""
    frame = table(HEAD + MINE + THEIRS)
    frame["seed"] += first * (frame["method"] == "fedavg")
    found = judge_table(frame).results[0]
    assert said in found.sentence
    assert ("Not paired: 1 of 4 runs of fedavg." in found.more) == (first == 1)


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
    gaps = table(text).assign(loss=lambda each: each["loss"].where(each["method"] == "mine"))
    assert judge_table(gaps, may_differ=["loss"]).results[0].sentence == LEAD
    with pytest.raises(RunsError, match="mine has loss 1.0 .*, fedavg has loss nan"):
        judge_table(gaps)


def test_a_loss_that_is_logged_at_other_steps_is_a_gap() -> None:
    """As a service's history has it, in which each step is a row of what was logged then."""
    scores = table(curves()).query("alpha == 1")
    losses = scores.assign(round=scores["round"] - 1, test_acc=float("nan"), test_loss=0.5)
    found = judge_table(pd.concat([losses, scores])).results[0]
    assert found.sentence == judge_table(scores).results[0].sentence


# Scores of two methods, by seed; the differences of the first are symmetric about their mean.
SYMMETRIC = ((0.81, 0.83, 0.79, 0.82), (0.73, 0.71, 0.70, 0.71))
OTHERS = ((0.5, 0.52, 0.51, 0.6, 0.57), (0.49, 0.55, 0.48))


def of_seeds(a: Sequence[float], b: Sequence[float], first_of_b: int) -> pd.DataFrame:
    rows = [("a", seed, value) for seed, value in enumerate(a)]
    rows += [("b", first_of_b + seed, value) for seed, value in enumerate(b)]
    return pd.DataFrame(rows, columns=["method", "seed", "f1"])


@pytest.mark.parametrize(("a", "b"), [SYMMETRIC, SYMMETRIC[::-1], OTHERS])
@pytest.mark.parametrize("paired", [True, False])
def test_numbers_are_those_of_scipy(
    a: tuple[float, ...], b: tuple[float, ...], paired: bool
) -> None:
    """Student's and Welch's t tests; a paired interval of skewed differences is stretched."""
    both = list(zip(a, b))
    found = judge_table(of_seeds(a, b, 0 if paired else 90)).frame().iloc[0]
    sign = 1.0 if found["a"] == "a" else -1.0
    if paired:
        difference = np.subtract(*np.transpose(both))
        theirs = stats.ttest_1samp(difference, 0.0)
        mean, error, degrees = difference.mean(), stats.sem(difference), len(both) - 1
    else:
        theirs = stats.ttest_ind(a, b, equal_var=False)
        parts = [float(np.var(each, ddof=1)) / len(each) for each in (a, b)]
        mean, error = np.mean(a) - np.mean(b), sum(parts) ** 0.5
        degrees = sum(parts) ** 2 / sum(p**2 / (len(e) - 1) for p, e in zip(parts, (a, b)))
    low, high = (float(sign * mean + s * stats.t.ppf(0.975, degrees) * error) for s in (-1, 1))
    assert found["difference"] == pytest.approx(float(sign * mean))
    if paired and (a, b) == OTHERS:
        assert found["low"] <= low + 1e-9 and found["high"] >= high - 1e-9
        return
    assert found["p"] == pytest.approx(float(theirs.pvalue))
    assert (found["low"], found["high"]) == pytest.approx((low, high))


def test_holm_by_hand() -> None:
    """The smallest of three p values is taken three times, the next twice, never falling."""
    means = {"a": 0.9, "b": 0.8, "c": 0.79}
    noise = (0.01, -0.01, 0.02, -0.02)
    rows = [
        (method, seed, mean + each * (1 if method != "b" else -1))
        for method, mean in means.items()
        for seed, each in enumerate(noise)
    ]
    table_ = pd.DataFrame(rows, columns=["method", "seed", "f1"])
    values = {m: table_.loc[table_.method == m, "f1"].to_numpy() for m in means}
    found = judge_table(table_).frame()
    plain = {}
    for a, b in (("a", "b"), ("a", "c"), ("b", "c")):
        difference = values[a] - values[b]
        spread = difference.std(ddof=1)
        plain[a, b] = 0.0 if spread < 1e-12 else float(stats.ttest_1samp(difference, 0).pvalue)
    largest, corrected = 0.0, {}
    for rank, pair in enumerate(sorted(plain, key=lambda each: plain[each])):
        largest = max(largest, plain[pair] * (3 - rank))
        corrected[pair] = min(largest, 1.0)
    got = {(a, b): p for a, b, p in zip(found["a"], found["b"], found["p"])}
    assert got == {pair: pytest.approx(p, abs=1e-12) for pair, p in corrected.items()}


def test_frames_of_other_libraries_and_of_any_index() -> None:
    frame = table(HEAD + MINE + THEIRS)
    same = [
        SimpleNamespace(to_pandas=lambda: frame),
        frame.astype({"method": "category"}),
        frame.set_index(pd.Index([0] * len(frame))),
        frame.set_index(["method", "seed"]),
        pa.Table.from_pandas(frame),
        # Seeds that no float tells apart, as NumPy draws them.
        frame.assign(seed=[str(2**64 + seed) for seed in frame["seed"]]),
    ]
    for each in same:
        assert judge_table(each).results[0].sentence == LEAD
    with pytest.raises(RunsError, match="the table must be a DataFrame, or a table with to_pandas"):
        judge_table([1, 2])
    with pytest.raises(RunsError, match="must have one name per column, not 2 levels"):
        judge_table(frame.groupby("method").agg({"accuracy": ["mean", "std"]}))


@pytest.mark.parametrize("form", ["Arrow", "parquet", "Float64", "NaN", "parquet of pandas"])
def test_a_null_was_not_measured_and_nan_diverged(form: str, tmp_path: Path) -> None:
    """Frames of floats have NaN for both, also once they are a parquet file with nulls."""
    rows = [row.split(",") for row in (MINE + THEIRS).split()]
    columns = dict(zip(("method", "seed"), zip(*rows)))
    scores = [None, *(float(row[2]) for row in rows[1:])]
    found: Any = pa.table({**columns, "accuracy": scores})
    if form == "parquet":
        pq.write_table(found, tmp_path / "a.parquet")
        found = read_table(tmp_path / "a.parquet")
    elif form == "Float64":
        found = found.to_pandas().assign(accuracy=pd.array(scores, "Float64"))
    elif form != "Arrow":
        found = pa.table({**columns, "accuracy": [math.nan, *scores[1:]]}).to_pandas()
    if form == "parquet of pandas":
        found.to_parquet(tmp_path / "a.parquet")
        found = read_table(tmp_path / "a.parquet")
    verdicts = judge_table(found)
    left_out = form in ("Arrow", "parquet", "Float64")
    assert ("mine diverged in 1 of 4 runs" in verdicts.results[0].sentence) != left_out
    assert ("left out: seed 0 of mine, without accuracy" in verdicts.notes) == left_out


def test_a_step_without_any_score_is_no_evaluation() -> None:
    """In a frame a gap is NaN; a run that alone has NaN at a round diverged."""
    frame = table(curves())
    gap = frame[frame["round"] == 40].assign(round=50, test_acc=float("nan"))
    found = judge_table(pd.concat([frame, gap]))
    assert "at round 40" in found.results[0].sentence
    one = (frame["round"] == 40) & (frame["algorithm"] == "mine") & (frame["seed"] == 0)
    lost = judge_table(frame.assign(test_acc=frame["test_acc"].mask(one)))
    assert "mine diverged in 1 of 4 runs" in lost.results[0].sentence


def test_conditions_stand_together(tmp_path: Path, cli: Cli) -> None:
    """Three methods under two conditions: three verdicts below each condition."""
    text = curves() + "\n" + "\n".join(
        row.replace("fedavg", "other") for row in curves().split("\n") if "fedavg" in row
    )  # fmt: skip
    (tmp_path / "a.csv").write_text(text)
    lines = cli.out("judge", tmp_path / "a.csv").split("\n")
    assert [line for line in lines if line.startswith("alpha 0.1")] == ["alpha 0.1"]
    assert [line for line in lines if line.startswith("alpha 1.0")] == ["alpha 1.0"]


def test_seeds_that_would_show_it_are_more_than_there_are() -> None:
    """Differences 1, 3, 2 and 3 of 100: t is 4.70.

    One claim over 4 seeds needs 3.18, one of 20 equal ones 9.46: the seeds that are named are
    for the level of 20 claims.
    """
    rows = [("a", s, 0.5 + d / 100) for s, d in enumerate((1, 3, 2, 3))]
    rows += [(f"b{n}", s, 0.5) for n in range(20) for s in range(4)]
    found = judge_table(pd.DataFrame(rows, columns=["method", "seed", "f1"]), baseline="a")
    one = judge_table(pd.DataFrame(rows[:8], columns=["method", "seed", "f1"])).results
    assert "would show" not in one[0].more
    assert all("would show with 8 seeds" in each.more for each in found.results)


def test_rounds_from_0() -> None:
    """A score that is there at round 0 took no rounds: none are saved."""
    rows = [
        (m, s, t, 0.5 + v + s / 100)
        for m, v in (("a", 0.1), ("b", 0.0))
        for s in range(4)
        for t in range(3)
    ]
    found = judge_table(pd.DataFrame(rows, columns=["method", "seed", "epoch", "f1"])).results[0]
    assert "at round 2 over 4 seeds" in found.sentence and "times as long" not in found.more


def test_large_tables_of_many_methods_are_quick() -> None:
    rows = [(f"m{n}", s, t, n + s + t / 7) for n in range(40) for s in range(5) for t in range(100)]
    frame = pd.DataFrame(rows, columns=["method", "seed", "round", "reward"])
    start = time.perf_counter()
    assert len(judge_table(frame, baseline="m0").results) == 39
    assert time.perf_counter() - start < 20
