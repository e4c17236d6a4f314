"""Rows left out with a line, or asked about: means, unfinished runs, other spellings, copies."""

from __future__ import annotations

import io
import re

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.core.errors import ParameterError
from tests.analysis.compare.test_judge_table import HEAD, LEAD, MINE, THEIRS
from tests.analysis.compare.test_table_shapes import RUNS

ROWS = HEAD + MINE + THEIRS


def table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


@pytest.mark.parametrize(
    "words",
    [("mean", "std"), ("Average", "SD"), ("median", "count"), ("min", "max"), ("sem", "50%"),
     ("0__MIN", "0__MAX")],
)  # fmt: skip
def test_means_of_seeds_are_no_seeds(words: tuple[str, str]) -> None:
    more = "".join(f"{m},{word},.{n}\n" for m in ("mine", "fedavg") for n, word in enumerate(words))
    found = judge_table(table(ROWS + more))
    assert found.results[0].sentence == LEAD
    said = f"left out: rows 8, 9, 10, 11, computed from others: seed {words[0]}, {words[1]}"
    assert found.notes == [said]


@pytest.mark.parametrize(
    ("more", "left"),
    [
        # (.81 + .71) / 2, ...: the means of both at each seed, and of all.
        ("mean,0,.76\nmean,1,.785\nmean,2,.75\nmean,3,.765\n", "mean"),
        ("Mean,0,.765\n", "Mean"),
        ("Average,,.77\nstd,,.06\n", "Average, std"),
        ("overall mean,0,.5\n", "overall mean"),
        ("Durchschnitt,0,.765\nStandardabweichung,0,.1\n", "Durchschnitt, Standardabweichung"),
    ],
)
def test_means_of_methods_are_no_methods(more: str, left: str) -> None:
    found = judge_table(table(ROWS + more))
    assert [each.sentence for each in found.results] == [LEAD]
    assert [note.partition("others: ")[2] for note in found.notes] == [f"method {left}"]


def test_the_mean_over_data_sets_is_none() -> None:
    """As a third data set it took part in Holm's rule."""
    runs = [line.split(",") for line in (MINE + THEIRS).split()]
    more = (("a", 0.1), ("b", -0.1), ("Average", 0.0))
    rows = [(m, s, d, float(v) + each) for m, s, v in runs for d, each in more]
    found = judge_table(pd.DataFrame(rows, columns=["method", "seed", "dataset", "accuracy"]))
    assert [each.where for each in found.results] == ["dataset a", "dataset b"]
    assert found.notes[0].endswith("computed from others: dataset Average")


def test_spreads_are_not_judged_beside_means() -> None:
    """As a condition a higher deviation was better; means of ranks would be data sets."""
    rows = [(m, s, k, v) for m, s, v in (line.split(",") for line in (MINE + THEIRS).split())
            for k in ("mean", "std", "min")]  # fmt: skip
    found = judge_table(pd.DataFrame(rows, columns=["method", "seed", "over_clients", "accuracy"]))
    assert [each.where for each in found.results] == ["over_clients mean", "over_clients min"]
    ranks = judge_table(table(ROWS + "mine,Avg. Rank,1\nfedavg,Avg. Rank,2\n"))
    assert [each.sentence for each in ranks.results] == [LEAD]
    assert ranks.notes[0].endswith("computed from others: seed Avg. Rank")


def test_robust_aggregations_are_methods() -> None:
    """Their names are of means; their scores are not those of the others."""
    more = "".join(f"{m},{s},.{v}{s}\n" for m, v in (("mean", 6), ("median", 7)) for s in range(4))
    found = judge_table(table(ROWS + more))
    assert len(found.results) == 6 and not found.notes
    asked = judge_table(
        table(ROWS + "Average,0,.6\nAverage,1,.61\nAverage,2,.6\n"), "mine > Average"
    )
    assert not asked.notes and asked.results[0].holds


@pytest.mark.parametrize(
    ("name", "test", "other"),
    [("set", "test", "train"), ("split", "val", "train"), ("subset", "Test", "Val"),
     ("Teil", "test", "Training")],
)  # fmt: skip
def test_trainings_are_left_out_beside_tests(name: str, test: str, other: str) -> None:
    """In training mine is worse by .3: it counted as a condition of its own."""
    text = ROWS.replace("\n", f",{test}\n").replace(f"accuracy,{test}", f"accuracy,{name}")
    for m, v in (("mine", 0.6), ("fedavg", 0.9)):
        text += "".join(f"{m},{s},{v + s / 100},{other}\n" for s in range(4))
    found = judge_table(table(text))
    assert [each.sentence for each in found.results] == [LEAD]
    said = f"left out: {name} {other}, beside {test}; --within={name} judges each"
    assert found.notes == [said]
    assert len(judge_table(table(text), within=[name]).results) == 2


def test_means_of_folds_and_ranges_of_methods_are_none() -> None:
    more = "".join(f"{m},all,.1\n" for m in ("mine", "fedavg")) + "mine__MIN,0,.1\nmine__MIN,1,.1\n"
    found = judge_table(table((ROWS + more).replace("seed", "fold")))
    assert [each.sentence for each in found.results] == [LEAD]
    assert [note.partition("others: ")[2] for note in found.notes] == [
        "method mine__MIN",
        "fold all",
    ]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [("State", "finished", "crashed"), ("state", "COMPLETE", "PRUNED"), ("status", "FINISHED",
     "KILLED"), ("state", "TrialState.COMPLETE", "TrialState.FAIL")],
)  # fmt: skip
def test_runs_that_did_not_finish_are_left_out(name: str, good: str, bad: str) -> None:
    """Seeds 4 and 5 of fedavg had .1 when they ended; seed 4 ran again later."""
    text = ROWS.replace("\n", f",{good}\n").replace(f"accuracy,{good}", f"accuracy,{name}")
    text += f"fedavg,4,.1,{bad}\nfedavg,5,.1,{bad}\nmine,4,.81,{good}\nfedavg,4,.71,{good}\n"
    found = judge_table(table(text))
    # .1, .09, .10, .11, .10.
    assert found.results[0].sentence.startswith("mine is better than fedavg by .100 [.091, .109]")
    assert found.notes == [f"left out: runs not finished by {name}: 2 of 6 of fedavg (seed 4, 5)"]
    assert list(found.frame()["difference"]) == pytest.approx([0.1])


def test_a_state_of_each_round_is_that_of_the_last() -> None:
    rows = [
        (m, s, t, 0.4 + lead + s / 100 + t / 10, "running" if t < 3 else "finished")
        for m, lead in (("a", 0.1), ("b", 0.0))
        for s in range(4)
        for t in (1, 2, 3)
    ]
    frame = pd.DataFrame(rows, columns=["method", "seed", "round", "accuracy", "status"])
    found = judge_table(frame)
    assert not found.notes and found.results[0].sentence.endswith("at round 3 over 4 seeds.")
    cut = judge_table(frame.drop(index=frame.index[-1]))
    assert cut.notes == ["left out: runs not finished by status: 1 of 4 of b (seed 3)"]


def test_a_run_that_diverged_counts_if_it_crashed() -> None:
    """To leave it out would flatter the method."""
    text = ROWS.replace("\n", ",finished\n").replace("accuracy,finished", "accuracy,State")
    found = judge_table(table(text.replace("mine,0,.81,finished", "mine,0,nan,crashed")))
    assert not found.notes and "mine diverged in 1 of 4 runs" in found.results[0].sentence
    rounds = HEAD.replace("accuracy", "round,accuracy,State")
    for m, v in (("a", 0.5), ("b", 0.4)):
        rounds += "".join(f"{m},{s},{t},{v},ok\n" for s in range(3) for t in (1, 2))
    lost = rounds.replace("a,0,2,0.5,ok", "a,0,2,inf,failed").replace(
        "b,1,2,0.4,ok", "b,1,2,0,failed"
    )
    found = judge_table(table(lost))
    assert found.notes == ["left out: runs not finished by State: 1 of 3 of b (seed 1)"]
    assert "a diverged in 1 of 2 runs" in found.results[0].sentence


def test_a_method_of_which_no_run_finished() -> None:
    text = ROWS.replace("\n", ",failed\n").replace("accuracy,failed", "accuracy,status")
    said = "no run of mine has finished by status: failed; --may_differ=status counts them"
    with pytest.raises(RunsError, match=said):
        judge_table(table(text))
    found = judge_table(table(text), may_differ=["status"])
    assert found.results[0].sentence == LEAD and not found.notes
    with pytest.raises(ParameterError, match="must be a column"):
        judge_table(table(text), columns={"seed": "none"})


def test_other_states_are_none() -> None:
    """A state of the USA, say."""
    text = ROWS.replace("\n", ",CA\n").replace("accuracy,CA", "accuracy,state")
    assert not judge_table(table(text)).notes


TABLE = pd.DataFrame(RUNS, columns=["method", "seed", "accuracy"])


@pytest.mark.parametrize("other", ["Mine", "mine ", "MINE", "mi_ne"])
def test_two_spellings_are_asked(other: str) -> None:
    """As two methods they had one run and three, and no verdict."""
    table = TABLE.copy()
    table.loc[2, "method"] = other
    with pytest.raises(RunsError, match=f"'{other}' and 'mine' may be one method") as refused:
        judge_table(table)
    call = re.search(r"table = (table\.replace\(.*\));", str(refused.value))
    assert call is not None
    assert judge_table(eval(call[1], {"table": table})).results[0].sentence == LEAD


@pytest.mark.parametrize("values", [("MNIST", "mnist"), ("0.1", "0.10"), ("1", "1.0")])
def test_nor_are_conditions_told_apart_by_spelling(values: tuple[str, str]) -> None:
    table = pd.concat([TABLE, TABLE.assign(accuracy=TABLE["accuracy"] / 2)])
    table["data"] = [values[0]] * 8 + ["other"] * 8
    table.iloc[:4, table.columns.get_loc("data")] = values[1]
    with pytest.raises(RunsError, match="may be one data"):
        judge_table(table, within=["data"])


def test_rows_that_are_all_there_twice_are_no_runs() -> None:
    """Of 8 and 8 runs the interval would be narrower than of 4 and 4."""
    table = TABLE.drop(columns="seed")
    twice = pd.concat([table, table], ignore_index=True)
    with pytest.raises(RunsError, match=r"each row of mine is there twice or more \(rows 0, 8\)"):
        judge_table(twice)
    assert "4 and 4 runs" in judge_table(twice[:8]).results[0].sentence
    named = twice.assign(seed=range(16))
    assert "8 and 8 runs" in judge_table(named).results[0].sentence
    # Scores that are alike by chance.
    table.loc[1, "accuracy"] = table.loc[0, "accuracy"]
    assert "4 and 4 runs" in judge_table(table).results[0].sentence


def test_a_copy_of_a_row_is_named() -> None:
    twice = pd.concat([TABLE, TABLE[:1]], ignore_index=True)
    said = r"rows 0, 8; they are alike, in pandas table\.drop_duplicates\(\) keeps one"
    with pytest.raises(RunsError, match=said):
        judge_table(twice)
    assert judge_table(twice.drop_duplicates()).results[0].sentence == LEAD
    other = twice.assign(accuracy=[*TABLE["accuracy"], 0.5])
    with pytest.raises(RunsError, match="seed 0 is there twice for mine: rows 0, 8$"):
        judge_table(other)


def test_a_run_that_was_repeated_is_asked() -> None:
    """Seed 0 ran again a day later: of the last runs the lead is that by hand."""
    first = TABLE[:1].assign(accuracy=0.1, Created="2026-01-01 12:00")
    table = pd.concat([TABLE.assign(Created="2026-01-02 12:00"), first], ignore_index=True)
    with pytest.raises(RunsError, match="differ in Created, if the last run counts") as refused:
        judge_table(table)
    call = str(refused.value).partition("in pandas: ")[2]
    assert judge_table(eval(call, {"table": table})).results[0].sentence == LEAD


@pytest.mark.parametrize(
    "form", ["2026-01-0{}", "2026-01-0{}_12-00-00", "0{}.01.2026", "1/{}/26 12:00", "12:0{}:11"]
)
def test_dates_of_runs_are_no_conditions(form: str) -> None:
    """As conditions each would have one run of a method."""
    table = TABLE.assign(begun=[form.format(s + 1) for s in TABLE["seed"]])
    assert judge_table(table).results[0].sentence == LEAD


def test_another_name_of_the_seed_is_asked() -> None:
    table = TABLE.assign(part=[f"p{s}" for s in TABLE["seed"]])
    with pytest.raises(RunsError, match="--within=part if it is a condition, --may_differ=part"):
        judge_table(table)
    assert judge_table(table, may_differ=["part"]).results[0].sentence == LEAD
