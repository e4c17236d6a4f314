"""What a table of scores lacks: rows that a round, a clock or a label tells apart."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_files import read_table
from f3ast_tff.core.errors import ParameterError


def one_curve_each(mine: int, column: str, places: int = 0, pace: float = 1.0) -> str:
    """A curve of 8 rounds and one of `mine`; the longer one has the higher mean."""
    rows = [f"{column},method,accuracy"]
    for method, last, width in (("fedavg", 8, 1.0), ("mine", mine, pace)):
        rows += [f"{t * width:.{places}f},{method},{0.3 + t / 50}" for t in range(1, last + 1)]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (one_curve_each(8, "comm_rounds"), "--step=comm_rounds says what comm_rounds is; --may_"),
        (one_curve_each(16, "comm_rounds"), "--step=comm_rounds says what comm_rounds is; --may_"),
        (one_curve_each(16, "t"), "no column is known as the seed: --seed=t, --step=t or --within"),
        (one_curve_each(16, "time_s", 1, 0.37), "and time_s rises from row to row of a method as"),
        (one_curve_each(16, ""), "--seed=index, --step=index or --within=index says what index"),
        (one_curve_each(8, "client_id"), "known as the seed: --within=client_id says what"),
        # Subjects, or data sets: the pairs of both methods.
        (
            "method,subject,f1\n" + "".join(f"{m},S{n},.{n}\n" for m in "ab" for n in range(1, 9)),
            "--seed=subject or --within=subject says what subject is; --may_differ=subject if",
        ),
    ],
)
def test_rows_that_may_be_one_run_are_asked(text: str, said: str, tmp_path: Path) -> None:
    """A longer run, or another clock, makes no independent runs of the rounds."""
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RunsError) as refused:
        judge_table(read_table(tmp_path / "a.csv"))
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_rounds_that_are_named_are_one_run_each(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(one_curve_each(16, ""))
    with pytest.raises(RunsError, match="mine and fedavg have 1 run each: a verdict needs 3"):
        judge_table(read_table(tmp_path / "a.csv"), columns={"step": "index"})


def seeds() -> pd.DataFrame:
    """Seeds differ by .1, methods by .02, .021, .022, ...: paired, the lead is certain."""
    rows = [(m, 0.5 + s / 10 + lead * (0.02 + s / 1000)) for m, lead in (("a", 1), ("b", 0))
            for s in range(5)]  # fmt: skip
    return pd.DataFrame(rows, columns=["method", "f1"], index=[*range(5)] * 2)


def test_labels_that_are_seeds_pair_the_runs(tmp_path: Path) -> None:
    """They are not dropped: unpaired, .022 is lost in the spread of the seeds."""
    table = seeds()
    table.to_csv(tmp_path / "a.csv")
    table.to_parquet(tmp_path / "a.parquet")
    for each in (read_table(tmp_path / "a.csv"), read_table(tmp_path / "a.parquet"), table):
        with pytest.raises(RunsError, match="--seed=index, --step=index or --within=index"):
            judge_table(each)
        found = judge_table(each, columns={"seed": "index"}).frame().iloc[0]
        assert found["verdict"] == "better" and found["difference"] == pytest.approx(0.022)
        said = judge_table(each, may_differ=["index"]).results[0].sentence
        assert "too close to call" in said and "5 and 5 runs, not paired" in said
    # A name is kept, and recognised.
    named = judge_table(table.rename_axis(index="seed")).results[0]
    assert named.sentence.endswith("over 5 seeds.")


def test_labels_that_number_the_rows_say_nothing(tmp_path: Path) -> None:
    table = seeds().reset_index(drop=True)
    for each in (table, table[::-1], table.set_axis(range(3, 33, 3))):
        each.to_csv(tmp_path / "a.csv")
        found = judge_table(read_table(tmp_path / "a.csv")).results[0]
        assert "5 and 5 runs, not paired" in found.sentence


def test_labels_beside_a_seed_are_no_condition(tmp_path: Path) -> None:
    """Frames of runs one after the other, each with labels of its own: one for each round."""
    rows = [(m, s, t, 0.4 + lead + s / 100 + t / 10) for m, lead in (("a", 0.1), ("b", 0.0))
            for s in range(3) for t in (1, 2)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", "round", "f1"], index=[0, 1] * 6)
    table.to_csv(tmp_path / "a.csv")
    found = judge_table(read_table(tmp_path / "a.csv"))
    assert "conditions" not in found.heading and len(found.results) == 1


def test_a_result_that_rises_by_chance_is_a_run(tmp_path: Path) -> None:
    """Two runs each are in order every other time; scores are no clock."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"method": ["a"] * 6 + ["b"] * 6, "f1": rng.random(12)})
    table["train_loss"] = np.sort(rng.random(12))
    assert len(judge_table(table).results) == 1
    with pytest.raises(RunsError, match="duration rises"):
        judge_table(table.assign(duration=np.sort(rng.random(12))))


WIDE = "Step,a - loss,a - loss__MIN,a - loss__MAX,b - loss,b - loss__MIN,b - loss__MAX\n"


def test_the_hint_for_a_column_per_method_names_no_direction() -> None:
    """What it makes is asked for its direction, and has no ranges of W&B."""
    rows = [
        f"{t},{v},{v - 0.1},{v + 0.1},{v / 2},{v / 3},{v}" for t, v in enumerate((0.9, 0.8, 0.7))
    ]
    table = pd.read_csv(io.StringIO(WIDE + "\n".join(rows)))
    with pytest.raises(RunsError) as refused:
        judge_table(table)
    call = str(refused.value).partition("in pandas: ")[2].partition(", then --score=value")[0]
    long = eval(call, {"table": table})
    assert sorted(set(long["method"])) == ["a - loss", "b - loss"]
    with pytest.raises(ParameterError, match="give --higher or --lower, which is better"):
        judge_table(long, columns={"score": "value"})


def test_rounds_of_an_unknown_name_are_no_conditions() -> None:
    rows = [(m, s, t, 0.5 + t / 100) for m in "ab" for s in range(3) for t in range(1, 5)]
    with pytest.raises(RunsError, match="they differ in fl_round: --step=fl_round if it is the"):
        judge_table(pd.DataFrame(rows, columns=["method", "seed", "fl_round", "accuracy"]))


@pytest.mark.parametrize("beside", [("Wall time", "Value"), ("number", "value")])
def test_columns_of_services_are_no_methods(beside: tuple[str, str]) -> None:
    table = pd.DataFrame({"run": ["a", "b"], beside[0]: [1.5, 2.5], beside[1]: [0.1, 0.2]})
    with pytest.raises(RunsError, match="no column is known as the method") as refused:
        judge_table(table)
    assert "melt" not in str(refused.value)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("client", "they differ in client: a row per run, such as their mean, and a seed"),
        ("num_samples", "they differ in num_samples: a row per run"),
        ("local_round", "they differ in local_round: a row per run"),
        ("rng", "--seed= names the column of the seed, of rng"),
    ],
)
def test_clients_are_not_offered_as_seeds(column: str, said: str) -> None:
    """Clients of one run, taken as seeds, would be as many runs."""
    rows = [(m, t, n, 0.5 + n / 100) for m in "ab" for t in (10, 20) for n in range(6)]
    with pytest.raises(RunsError) as refused:
        judge_table(pd.DataFrame(rows, columns=["method", "round", column, "accuracy"]))
    assert said in str(refused.value)


@pytest.mark.parametrize("column", ["client", "client_id", "cid", "User ID"])
@pytest.mark.parametrize("of_client", [int, "c{}".format], ids=["numbers", "texts"])
@pytest.mark.parametrize("clients", [2, 20])
def test_clients_of_a_run_are_no_conditions(
    column: str, of_client: Callable[[int], object], clients: int
) -> None:
    """As conditions they would be tests of single clients, and Holm's rule would hide the lead."""
    rows = [
        (m, s, of_client(k), 0.5 + 0.1 * (m == "b") + s / 100 + k / 50)
        for m in "ab" for s in range(5) for k in range(clients)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", column, "accuracy"])
    with pytest.raises(RunsError, match=f"{column} is of clients") as refused:
        judge_table(table)
    means = table.groupby(["method", "seed"], as_index=False)["accuracy"].mean()
    said = "table.groupby(['method', 'seed'], as_index=False)['accuracy'].mean()"
    assert said in str(refused.value)
    (row,) = judge_table(means).frame().to_dict("records")
    assert row["verdict"] == "better" and abs(row["difference"]) == pytest.approx(0.1)
    if clients == 2:
        each = judge_table(table, within=[column])
        assert len(each.frame()) == 2


def test_a_number_of_clients_is_a_condition() -> None:
    rows = [(m, s, k, 0.5 + 0.1 * (m == "b") + s / 100) for m in "ab" for s in range(5)
            for k in (10, 100)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", "clients", "accuracy"])
    assert "conditions clients" in judge_table(table).heading


@pytest.mark.parametrize(
    ("column", "value_of", "conditions"),
    [
        ("uid", lambda n, alpha: f"r{n}", "conditions alpha"),
        ("uid", lambda n, alpha: n, "conditions alpha"),
        ("device", lambda n, alpha: f"cuda:{int(alpha)}", "conditions device, alpha"),
    ],
)
def test_ids_of_runs_and_processors_are_no_clients(
    column: str, value_of: Callable[[int, float], object], conditions: str
) -> None:
    rows = [(m, s, a, 0.5 + 0.1 * (m == "b") + s / 100) for m in "ab" for s in range(5)
            for a in (0.1, 1.0)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", "alpha", "accuracy"])
    table[column] = [value_of(n, alpha) for n, alpha in enumerate(table["alpha"])]
    assert conditions in judge_table(table).heading


@pytest.mark.parametrize(
    ("column", "value_of"),
    [("site", "site_{}".format), ("hospital", "h{}".format), ("Center", int),
     ("Test", "client_test_{}".format), ("split", "Silo {}".format)],
)  # fmt: skip
def test_sites_are_asked(column: str, value_of: Callable[[int], object]) -> None:
    """Ten sites waver by .06; ten tests by Holm's rule hide a certain mean lead of .05."""
    rng = np.random.default_rng(3)
    rows = [
        (m, s, value_of(k), 0.5 + 0.05 * (m == "b") + s / 100 + 0.06 * rng.normal())
        for m in "ab" for s in range(5) for k in range(10)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", column, "accuracy"])
    with pytest.raises(RunsError, match=f"{column} is of (sites|clients), and rows of") as refused:
        judge_table(table)
    call = str(refused.value).partition("in pandas: ")[2].partition("; --within=")[0]
    means = eval(call, {"table": table})
    (row,) = judge_table(means).frame().to_dict("records")
    by_hand = table.groupby("method")["accuracy"].mean()
    assert row["verdict"] == "better" and "over 5 seeds" in row["sentence"]
    assert row["difference"] == pytest.approx(by_hand["b"] - by_hand["a"])
    each = judge_table(table, within=[column]).frame()
    assert len(each) == 10 and not each["verdict"].eq("better").any()
    # Of one run each, sites are no seeds.
    with pytest.raises(RunsError, match=f"the seed: --within={column} says what"):
        judge_table(table[table["seed"] == 0].drop(columns="seed"))


def test_the_pooled_test_of_flamby_is_no_site() -> None:
    rows = [
        (m, s, test, 0.5 + 0.1 * (m == "b") + s / 100 + n / 50)
        for m in "ab" for s in range(5)
        for n, test in enumerate(("client_test_0", "client_test_1", "Pooled Test"))
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["Method", "seed", "Test", "Metric"])
    with pytest.raises(RunsError, match="Test is of clients") as refused:
        judge_table(table, columns={"score": "Metric"}, higher=True)
    calls = str(refused.value).partition("in pandas: ")[2].partition("; --within=")[0]
    for call in calls.split(", or Pooled Test alone: "):
        found = judge_table(eval(call, {"table": table}), columns={"score": "Metric"}, higher=True)
        assert list(found.frame()["difference"]) == pytest.approx([0.1])


def test_the_mean_over_clients_keeps_the_rounds() -> None:
    """LEAF's table: its rounds are known; those of another name are kept in the call."""
    rows = [
        (m, s, t, f"f{k}", 0.5 + 0.1 * (m == "b") + t / 100 + s / 100)
        for m in "ab" for s in range(3) for t in (10, 20) for k in range(4)
    ]  # fmt: skip
    for name in ("round_number", "fl_round"):
        head = ["algorithm", "seed", name, "client_id", "accuracy"]
        table = pd.DataFrame(rows, columns=head)
        with pytest.raises(RunsError, match="client_id is of clients") as refused:
            judge_table(table)
        call = str(refused.value).partition("in pandas: ")[2].partition("; --within=")[0]
        found = judge_table(eval(call, {"table": table}), columns={"step": name})
        assert found.results[0].sentence.endswith("at round 20 over 3 seeds.")


def test_the_mean_over_clients_is_not_over_trainings_too() -> None:
    """LEAF's: in tests b leads by .1, in trainings a by .4; the mean of both is a's by .15."""
    rows = [
        (m, s, f"f{k}", part, first + lead * (m == "b"))
        for m in "ab" for s in range(3) for k in range(4)
        for part, first, lead in (("train", 0.9, -0.4), ("test", 0.5, 0.1))
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", "client_id", "set", "accuracy"])
    with pytest.raises(RunsError, match="client_id is of clients") as refused:
        judge_table(table)
    call = str(refused.value).partition("in pandas: ")[2].partition("; --within=")[0]
    found = judge_table(eval(call, {"table": table}))
    assert found.results[0].sentence.startswith("b is better than a by .100")


def test_cells_below_a_method_that_are_empty() -> None:
    """As spreadsheets and frames with several indices write it."""
    text = "method,seed,accuracy\na,0,.8\n,1,.82\n,2,.81\nb,0,.7\n,1,.72\n,2,.72\n"
    for table in (pd.read_csv(io.StringIO(text)), pd.read_csv(io.StringIO(text)).fillna("")):
        with pytest.raises(RunsError, match="column method is empty in rows 1, 2, 4, 5") as refused:
            judge_table(table)
        exec(str(refused.value).partition("in pandas: ")[2], {"table": table})
        assert judge_table(table).results[0].sentence.startswith("a is better than b by .097")
