"""One method in two spellings, rows that are there twice, and dates."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from tests.analysis.compare.test_judge_table import LEAD
from tests.analysis.compare.test_table_shapes import RUNS

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
