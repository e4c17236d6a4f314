"""Conditions of a table of scores: numbers and texts that two methods must share."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.core.errors import ParameterError

# Runs by (method, alpha): mine leads by .03 in each alpha, and has more runs in the hard one.
UNEVEN = {("fedavg", 1.0): 7, ("fedavg", 0.1): 3, ("mine", 1.0): 3, ("mine", 0.1): 7}
NOISE = (0.0, 0.011, -0.007, 0.004, -0.009, 0.006, -0.002)
EASY = "alpha 1.0"


def uneven() -> pd.DataFrame:
    rows = [
        (method, alpha, (0.8 if alpha == 1 else 0.5) + 0.03 * (method == "mine") + noise)
        for (method, alpha), number in UNEVEN.items()
        for noise in NOISE[:number]
    ]
    return pd.DataFrame(rows, columns=["method", "alpha", "accuracy"])


def with_ids(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(run_id=[f"r{n}" for n in range(len(table))])


def with_seeds(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(seed=table.groupby("method").cumcount())


def with_curves(table: pd.DataFrame) -> pd.DataFrame:
    """Three rounds; alpha is the same in each."""
    parts = [with_seeds(table).assign(round=n, accuracy=table["accuracy"] - 0.3 + n / 10)
             for n in (1, 2, 3)]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("as_table", [with_ids, with_seeds, with_curves])
def test_a_number_is_a_condition_if_runs_differ_in_it(
    as_table: Callable[[pd.DataFrame], pd.DataFrame],
) -> None:
    """Pooled, fedavg has .71 and mine .62: the contrary of both conditions."""
    table = uneven()
    pooled = table.groupby("method")["accuracy"].mean()
    assert pooled["fedavg"] - pooled["mine"] > 0.08
    found = judge_table(as_table(table))
    assert "conditions alpha" in found.heading
    rows = found.frame().set_index("where")
    assert list(rows.index) == [EASY, "alpha 0.1"]
    sign = np.where(rows["a"] == "mine", 1.0, -1.0)
    assert (sign * rows["difference"] > 0).all()
    if as_table is with_ids:
        own = table[table["alpha"] == 1].groupby("method")["accuracy"]
        theirs = stats.ttest_ind(own.get_group("mine"), own.get_group("fedavg"), equal_var=False)
        # Of two claims the one of the smaller p, which Holm's rule takes twice.
        assert rows.loc[EASY, "p"] == pytest.approx(2 * float(theirs.pvalue))


def test_no_value_is_a_value_of_a_condition() -> None:
    """Half of the runs have no noise; the others are worse."""
    table = with_ids(uneven())
    lacking = table.assign(alpha=table["alpha"].mask(table["alpha"] == 1))
    found = judge_table(lacking.rename(columns={"alpha": "noise"}))
    rows = found.frame()
    assert not found.notes
    assert rows["where"].tolist() == ["noise nan", "noise 0.1"]
    assert (np.where(rows["a"] == "mine", 1, -1) * rows["difference"] > 0).all()


def test_a_target_is_a_setting() -> None:
    table = with_ids(uneven()).rename(columns={"alpha": "target_accuracy", "accuracy": "needed"})
    with pytest.raises(RunsError, match="no column is known as the score"):
        judge_table(table)
    found = judge_table(table, columns={"score": "needed"}, higher=False)
    assert "conditions target_accuracy" in found.heading


def test_pairs_of_a_seed_need_no_condition() -> None:
    """The number follows from the seed, as the place of a split does: each pair has the same."""
    table = pd.DataFrame(
        [(m, s, 80 + s, 0.5 + s / 50 + lead) for m, lead in (("a", 0.1), ("b", 0.0))
         for s in range(5)],
        columns=["method", "seed", "port", "f1"],
    )  # fmt: skip
    found = judge_table(table)
    assert "conditions" not in found.heading
    assert found.frame()["difference"].tolist() == pytest.approx([0.1])


def test_results_are_no_conditions() -> None:
    """Two runs of a method may have the same best round, and the same rounded loss."""
    table = with_seeds(uneven()[lambda each: each["alpha"] == 1])
    extra = table.assign(best_round=[50, 51] * 5, train_loss=[0.1, 0.2] * 5, epochs_run=[9, 8] * 5)
    assert "conditions" not in judge_table(extra.drop(columns="alpha")).heading


def test_a_number_that_methods_share_in_part_is_asked() -> None:
    table = with_ids(uneven())
    only = table.assign(alpha=table["alpha"].mask(table.index < 7, 5.0))
    with pytest.raises(RunsError, match=r"^fedavg has alpha 5.0, 0.1: --within=alpha if it is a "):
        judge_table(only)
    assert len(judge_table(only, within=["alpha"]).results) == 1
    assert "conditions" not in judge_table(only, may_differ=["alpha"]).heading


@pytest.mark.parametrize("number", [5, 15])
def test_a_seed_of_unknown_name_is_asked_beside_ids(number: int) -> None:
    """By ids the runs are not paired; by the column that both share they are."""
    table = pd.DataFrame(
        [(f"{m}{s}", m, s, 0.5 + s / 10 + lead + s * s / 1000)
         for m, lead in (("a", 0.02), ("b", 0.0)) for s in range(number)],
        columns=["run_id", "method", "rng", "f1"],
    )  # fmt: skip
    with pytest.raises(RunsError, match=r"has rng 0, 1, 2, 3, 4.*: --seed=rng if it is the seed"):
        judge_table(table)
    found = judge_table(table, columns={"seed": "rng"}).results[0]
    assert f"a is better than b by .020 [.020, .020] over {number} seeds" in found.sentence


def rounds(**more: object) -> pd.DataFrame:
    table = pd.DataFrame(
        [(m, s, t, 0.4 + lead + s / 100 + t / 10) for m, lead in (("a", 0.1), ("b", 0.0))
         for s in range(3) for t in (1, 2, 3)],
        columns=["method", "seed", "round", "accuracy"],
    )  # fmt: skip
    return table.assign(**more)


@pytest.mark.parametrize(
    "values",
    [[False, False, True], ["False", "False", "True"], ["warm-up", "main", "main"],
     [True, False, True]],
)  # fmt: skip
@pytest.mark.parametrize("seeds", [True, False])
def test_what_changes_within_a_run_is_no_condition(values: list[object], seeds: bool) -> None:
    table = rounds(done=values * 6)
    if not seeds:
        table = table[table["seed"] == 0].drop(columns="seed")
        with pytest.raises(RunsError, match="a and b have 1 run each, which show nothing"):
            judge_table(table)
        return
    found = judge_table(table)
    assert "conditions" not in found.heading
    sentences = [each.sentence for each in found.results]
    assert sentences == ["a is better than b by .100 [.100, .100] at round 3 over 3 seeds."]


def test_conditions_of_one_seed_stay() -> None:
    """Also of rounds that lie side by side: a data set of odd rounds, one of even rounds."""
    parts = [rounds(data="x"), rounds(data="y")]
    for shift in (0, 0.5):
        second = parts[1].assign(round=2 * (parts[1]["round"] + shift))
        table = pd.concat([parts[0].assign(round=2 * parts[0]["round"]), second])
        found = judge_table(table.reset_index(drop=True).astype({"round": int}))
        assert "conditions data" in found.heading and len(found.results) == 2


def test_a_score_whose_name_stands_in_a_column() -> None:
    """As after `melt`: the direction is that of the value, or must be given."""
    text = "method,seed,metric,score\n"
    for method, lead in (("a", 0.2), ("b", 0.1)):
        text += "".join(f"{method},{s},loss,{lead + s / 100}\n" for s in range(4))
    table = pd.read_csv(io.StringIO(text))
    with pytest.raises(ParameterError, match="which is better: metric is loss"):
        judge_table(table)
    found = judge_table(table, higher=False).results[0]
    assert found.sentence.startswith("b is better than a by .100")
    both = pd.concat([table, table.assign(metric="accuracy")], ignore_index=True)
    with pytest.raises(RunsError, match="in column metric are loss, accuracy, of which higher or"):
        judge_table(both, higher=True)
    parts = both.assign(metric=both["metric"].replace("loss", "f1"))
    assert len(judge_table(parts).results) == 2
