"""Tables of another shape: the call that is said makes a table with the verdict by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_files import read_table
from tests.analysis.compare.test_judge_table import LEAD

MINE, THEIRS = (0.81, 0.83, 0.80, 0.82), (0.71, 0.74, 0.70, 0.71)
RUNS = [(m, s, v) for m, own in (("mine", MINE), ("fedavg", THEIRS)) for s, v in enumerate(own)]
IN_PANDAS = re.compile(r"in pandas: (.*?)(?:, then --score|; |$)")


def rows(head: str, each: Sequence[tuple[object, ...]]) -> str:
    return "\n".join([head, *(",".join(map(str, row)) for row in each)]) + "\n"


def per_seed(names: str, more: str = "") -> str:
    lines = [f"{m},{','.join(map(str, own))}{more}"
             for m, own in (("mine", MINE), ("fedavg", THEIRS))]  # fmt: skip
    return "\n".join([f"method,{names}", *lines]) + "\n"


def per_round(names: str) -> str:
    """Mine lags by .05 in the first round, and leads by .1 in the last."""
    lag = {"mine": 0.45, "fedavg": 0.30}
    each = [(m, s, f"{v - lag[m]:.2f}", f"{v - 0.2:.2f}", v) for m, s, v in RUNS]
    return rows(f"method,seed,{names}", each)


def refused(text: str, tmp_path: Path) -> str:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RunsError) as error:
        judge_table(read_table(tmp_path / "a.csv"))
    assert "\n" not in str(error.value)
    return str(error.value)


PAIRS = list(zip(range(4), MINE, THEIRS))
WORSE = [(s, a, b, 1 - a, 1 - b) for s, a, b in PAIRS]


def of_lists(write: Callable[[Sequence[float]], object]) -> str:
    both = (("mine", MINE), ("fedavg", THEIRS))
    return "method;accuracy\n" + "".join(f"{m};{write(own)}\n" for m, own in both)


@pytest.mark.parametrize(
    ("text", "said", "difference"),
    [
        (rows("seed,mine,fedavg", PAIRS), "if there is one per method", 0.1),
        (rows("seed,mine_acc,fedavg_acc", PAIRS), "if there is one per method", 0.1),
        # Accuracies are not compared with losses.
        (rows("seed,acc_mine,acc_fedavg,loss_mine,loss_fedavg", WORSE), "['loss_mine', 'lo", 0.1),
        (rows('seed,"(\'acc\', \'m\')","(\'acc\', \'f\')","(\'loss\', \'m\')","(\'loss\', \'f\')"',
              WORSE), "if there is one per method", 0.1),
        (per_seed("seed_0,seed_1,seed_2,seed_3"), "if there is one per seed", 0.1),
        (per_seed("0,1,2,3"), "if there is one per seed", 0.1),
        (per_seed("seed0,seed1,seed2,seed3,avg", ",.8"), "table.drop(columns=['avg'])", 0.1),
        # One score of several is no single run.
        (per_seed("acc_seed0,acc_seed1,acc_seed2,acc_seed3"), "acc_seed3 differ in a number", 0.1),
        (per_round("1,2,10"), "if there is one per round", 0.1),
        (per_round("round_1,round_2,round_10"), "if there is one per round", 0.1),
        # The first was judged: fedavg was called better by .05.
        (per_round("acc_1,acc_2,acc_10"), "acc_1, acc_2, acc_10 differ in a number: --score=", 0.1),
        (per_round("acc_r10,acc_r50,acc_r100"), "differ in a number: --score= names one", 0.1),
        (per_round("acc@10,acc@50,acc@100"), "acc@10, acc@50, acc@100 differ in a", 0.1),
        # Decimal commas, a note, and row labels, as R and Excel write them.
        ("# of May\n;seed;mine;fedavg\n" + "".join(
            f"{s};{s};{a};{b}\n".replace(".", ",") for s, a, b in PAIRS), "one per method", 0.1),
        # Few distinct values, as of rounded scores.
        ("method,acc_1,acc_2,acc_3,acc_4\nmine,.8,.8,.8,.8\nfedavg,.7,.7,.7,.7\n",
         "differ in a number", 0.1),
        (of_lists(list), "if a list holds runs", 0.1),
        (of_lists(lambda own: f"[{' '.join(map(str, own))}]"), "if a list holds runs", 0.1),
        (of_lists(lambda own: [np.float64(v) for v in own]), "if a list holds runs", 0.1),
        ("method;seed;acc;loss\n" + "".join(f"{m};{s};[.9, {v}];[1, 2]\n" for m, s, v in RUNS),
         "if a list holds rounds", 0.1),
        # A column of their mean is no data set.
        (rows("method,seed,0,1,Average", [(m, s, v, v, v) for m, s, v in RUNS]).replace(
            "0,1,Av", "mnist,cifar,Av"), "table.drop(columns=['Average'])", 0.1),
        # Seeds of two data sets, beside losses.
        ("method," + ",".join(f"{n}_{s}" for n in ("mnist_acc", "cifar_acc", "loss")
                              for s in range(4)) + "\n" + "".join(
            ",".join(map(str, (m, *own, *own, *(1 - v for v in own)))) + "\n"
            for m, own in (("mine", MINE), ("fedavg", THEIRS))), "assign(dataset=", 0.1),
        ("method," + ",".join(f"{n}_{s}" for n in ("mnist", "cifar") for s in range(4)) + "\n"
         + "".join(",".join(map(str, (m, *own, *own))) + "\n"
                   for m, own in (("mine", MINE), ("fedavg", THEIRS))), "assign(dataset=", 0.1),
        # scikit-learn's cv_results_: folds, beside their means.
        (per_seed("split0_test_score,split1_test_score,split2_test_score,split3_test_score,"
                  "mean_test_score", ",.8").replace("method", "param_method"), "one per seed", 0.1),
        # OpenFL's log of an aggregator.
        *((rows(f"method,seed,{metric},{value}", [
            (m, s, name, v if name == "accuracy" else 1 - v)
            for m, s, v in RUNS for name in ("accuracy", "loss")]), f"a column per {metric}", 0.1)
          for metric, value in (("metric_name", "metric_value"), ("metric", "value"))),
    ],
)  # fmt: skip
def test_the_call_makes_rows_with_the_verdict(
    text: str, said: str, difference: float, tmp_path: Path
) -> None:
    """.10, .09, .10, .11 of four seeds, whichever the shape."""
    error = refused(text, tmp_path)
    assert said in error
    call = IN_PANDAS.search(error)
    assert call is not None
    long = eval(call[1], {"table": read_table(tmp_path / "a.csv")})
    columns = {"score": "value"} if "value" in long else {}
    row, *others = judge_table(long, columns=columns, higher=True).frame().to_dict("records")
    assert all(each["difference"] == pytest.approx(difference) for each in others)
    assert row["verdict"] == "better" and "mine" in row["a"] or "'m'" in row["a"]
    assert row["difference"] == pytest.approx(difference)
    assert "over 4 " in row["sentence"]


def test_a_column_per_data_set_makes_conditions(tmp_path: Path) -> None:
    """As seeds, two data sets would be two runs."""
    text = rows("method,seed,mnist,cifar10", [(m, s, v / 2 + 0.5, v) for m, s, v in RUNS])
    error = refused(text, tmp_path)
    assert "if there is one per dataset" in error
    call = IN_PANDAS.search(error)
    assert call is not None
    long = eval(call[1], {"table": read_table(tmp_path / "a.csv")})
    found = judge_table(long, columns={"score": "value"}, higher=True).frame().set_index("where")
    assert list(found["difference"]) == pytest.approx([0.05, 0.1])
    assert list(found.index) == ["dataset mnist", "dataset cifar10"]


MEANS = "means of runs are not judged, a row per run is needed"


@pytest.mark.parametrize(
    "text",
    [
        "method,acc_mean,acc_std\nmine,.815,.013\nfedavg,.715,.017\n",
        "method,\"('acc', 'mean')\",\"('acc', 'std')\"\nmine,.815,.013\nfedavg,.715,.017\n",
        # Three values of alpha were offered as seeds.
        rows("method,alpha,acc_mean,acc_std",
             [(m, a, b + a / 9, 0.01) for m, b in (("a", 0.5), ("b", 0.4)) for a in (0.1, 1, 2)]),
        rows("method,round,accuracy,std",
             [(m, t, b + t / 99, 0.01) for m, b in (("a", 0.5), ("b", 0.4)) for t in range(9)]),
        "method,acc\nmine,81.5 +- 1.3\nfedavg,71.5 +- 1.7\n",
        "method,acc\nmine,$81.5 \\pm 1.3$\nfedavg,$71.5 \\pm 1.7$\n",
        "method,accuracy\nmine,81.5 (1.3)\nfedavg,71.5 (1.7)\n",
        "method,mnist,cifar\nmine,81.5 ± 1.3,61 ± 2\nfedavg,71.5 ± 1.7,50 ± 2\n",
        ",acc,acc\n,mean,std\nmethod,,\nmine,.8,.1\nfedavg,.7,.1\n",
        # Of describe: quartiles were offered as seeds.
        "method,count,mean,std,min,25%,50%,75%,max\na,3,.8,.1,.7,.7,.8,.9,.9\n"
        "b,3,.7,.1,.6,.6,.7,.8,.8\n",
    ],
)  # fmt: skip
def test_means_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RunsError, match=MEANS):
        judge_table(read_table(tmp_path / "a.csv"))


def test_a_spread_over_clients_beside_a_seed_is_none(tmp_path: Path) -> None:
    text = rows("method,seed,acc_mean,acc_std", [(*run, 0.1 + run[1] / 50) for run in RUNS])
    (tmp_path / "a.csv").write_text(text)
    assert judge_table(read_table(tmp_path / "a.csv")).results[0].sentence == LEAD
    without = read_table(tmp_path / "a.csv").drop(columns="seed")
    found = judge_table(without, may_differ=["acc_std"])
    assert "4 and 4 runs, not paired" in found.results[0].sentence


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Wall time,Step,Value\n1.5,1,.1\n2.5,2,.2\n", "TensorBoard's file of one run, in pandas"),
        ("epoch,accuracy,loss,val_accuracy,val_loss\n0,.1,.9,.1,.9\n1,.2,.8,.2,.8\n", "of one run"),
        ("epoch,step,train_loss,val_acc\n0,9,.5,\n0,9,,.4\n1,19,.4,\n1,19,,.5\n", "of one run"),
        ("client_id,round_number,set,accuracy\nf1,0,test,.5\nf2,0,test,.6\n", "of one run"),
    ],
)
def test_a_file_of_one_run_is_given_its_method(text: str, said: str, tmp_path: Path) -> None:
    """Its measures are no methods; no call of `melt` is offered."""
    error = refused(text, tmp_path)
    assert said in error and "melt" not in error
    assert "table.assign(method='NAME', seed=0) for each run, then pd.concat of all" in error


def test_a_file_of_several_seeds_is_not_of_one_run(tmp_path: Path) -> None:
    """Its seeds would be overwritten; the method may be the column whose name is not known."""
    error = refused(rows("variant,seed,accuracy", RUNS), tmp_path)
    assert "--method= names one of variant, seed, accuracy" in error and "in pandas" not in error


@pytest.mark.parametrize("name", ["exp", "run_name", "method"])
@pytest.mark.parametrize("form", ["{}_seed{}", "{}-{}", "{}/seed={}", "{} (seed {})"])
def test_seeds_within_names_are_split(name: str, form: str, tmp_path: Path) -> None:
    text = rows(f"{name},accuracy", [(form.format(m, s), v) for m, s, v in RUNS])
    error = refused(text, tmp_path)
    call = re.search(r"in pandas: (table\[.*?'\))(?:;|$)", error)
    assert call is not None
    table = pd.read_csv(tmp_path / "a.csv")
    exec(call[1], {"table": table})
    assert judge_table(table[["method", "seed", "accuracy"]]).results[0].sentence == LEAD


def test_first_column_without_a_name_may_hold_the_methods(tmp_path: Path) -> None:
    text = per_seed("0,1,2,3").replace("method", "", 1)
    assert "--method=index if the first column" in refused(text, tmp_path)


def test_a_bare_measure_comes_first(tmp_path: Path) -> None:
    """The lower ends of intervals were judged."""
    text = rows("method,seed,acc_low,acc", [(m, s, 1 - v, v) for m, s, v in RUNS])
    (tmp_path / "a.csv").write_text(text)
    assert judge_table(read_table(tmp_path / "a.csv")).results[0].sentence == LEAD


def test_cells_that_are_merged_are_filled(tmp_path: Path) -> None:
    """Copies would go, and with them the second data set."""
    runs = [(m, s, v) for m, s, v in RUNS]
    both = [("mnist" if not n else "", *run) for n, run in enumerate(runs)]
    both += [("" if n else "cifar", *run) for n, run in enumerate(runs)]
    (tmp_path / "a.csv").write_text(rows("dataset,method,seed,accuracy", both))
    with pytest.raises(RunsError, match=r"if dataset is that of the row before, in pandas: tab"):
        judge_table(read_table(tmp_path / "a.csv"))


def test_scores_as_likely_are_named(tmp_path: Path) -> None:
    text = rows("method,seed,best_acc,final_acc", [(m, s, v, v / 2) for m, s, v in RUNS])
    (tmp_path / "a.csv").write_text(text)
    found = judge_table(read_table(tmp_path / "a.csv"))
    assert found.notes == ["not judged: final_acc, --score= names another score"]
    assert found.results[0].sentence == LEAD
    assert not judge_table(read_table(tmp_path / "a.csv"), columns={"score": "best_acc"}).notes


@pytest.mark.parametrize("names", ["top1_acc,top5_acc", "acc@1,acc@5"])
def test_top_5_is_another_measure(names: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(rows(f"method,seed,{names}", [(*r, 0.9) for r in RUNS]))
    assert judge_table(read_table(tmp_path / "a.csv")).results[0].sentence == LEAD
