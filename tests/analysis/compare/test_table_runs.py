"""Scores of two units in one column."""

from __future__ import annotations

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from tests.analysis.compare.test_judge_table import HEAD, MINE, THEIRS, table


def test_shares_and_percentages_are_not_compared() -> None:
    text = HEAD + MINE + THEIRS.replace(",.", ",")
    with pytest.raises(RunsError) as refused:
        judge_table(table(text))
    said = "column accuracy holds at most 0.83 for mine (row 1) and 74.0 for fedavg (row 5): "
    assert said in str(refused.value)
    # Percentages of both, of which one is small; a loss may be any number.
    small = HEAD + "".join(
        f"{m},{s},{v + s}\n" for m, v in (("a", 50), ("b", 0.5)) for s in range(3)
    )
    assert judge_table(table(small)).results
    assert judge_table(table(text.replace("accuracy", "loss"))).results


def test_nor_are_runs_of_one_method_in_both() -> None:
    """A failed run of few percent is no share: 100 times as much is not as the others."""
    table = pd.DataFrame({"method": ["a"] * 4 + ["b"] * 4, "seed": [*range(4)] * 2})
    table["accuracy"] = [61.0, 60.0, 62.0, 0.9, 64.0, 65.0, 66.0, 0.8]
    judge_table(table)
    table.loc[7, "accuracy"] = 0.655
    with pytest.raises(RunsError, match=r"0\.655 \(row 7\) and 64 \(row 4\) of b: shares of 1 and"):
        judge_table(table)
    # A seed of both, of which the mean was taken.
    table["accuracy"] = [0.61, 0.60, 0.62, 61.0, 0.54, 0.55, 0.56, 54.0]
    with pytest.raises(RunsError, match="shares of 1 and percentages are not compared"):
        judge_table(table)


def test_shares_of_one_condition_and_percentages_of_another_are() -> None:
    """Each verdict is within a condition."""
    text = "method,data,seed,accuracy\n"
    for data, width in (("x", 1.0), ("y", 100.0)):
        for method, value in (("a", 0.6), ("b", 0.5)):
            text += "".join(f"{method},{data},{s},{width * (value + s / 100)}\n" for s in range(3))
    assert list(judge_table(table(text)).frame()["difference"]) == pytest.approx([0.1, 10.0])


def test_percentages_of_a_first_round_may_be_below_1() -> None:
    """Of a hundred classes .9% in round 1, and 95% in the last."""
    rows = [(m, s, t, v + s / 10) for m in "ab" for s in range(3)
            for t, v in ((1, 0.85), (2, 40.0), (3, 95.0))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["method", "seed", "round", "accuracy"])
    assert judge_table(table).results
