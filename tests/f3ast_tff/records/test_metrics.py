"""Rows of `metrics.csv` and their summary."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.engines import EMPTY_ROUND, ClientScores, RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import Totals
from f3ast_tff.records.metrics import COLUMNS, append_csv, metrics_row, summarise, write_csv


def row(number: int, loss: float = 0.0) -> dict[str, float]:
    return {**dict.fromkeys(COLUMNS, 1.5), "round": number, "train_loss": loss}


def read(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_sample_and_user_means_by_hand() -> None:
    """Two clients of 10 and 30 examples with 5 and 27 correct, and one without examples.

    Over examples the accuracy is 32 / 40 = 0.8; over clients (0.5 + 0.9) / 2 = 0.7. Losses 20 and
    30 give 50 / 40 = 1.25 and (2 + 1) / 2 = 1.5.
    """
    scores = ClientScores(
        np.array([20.0, 30.0, 0.0]), np.array([5.0, 27.0, 0.0]), np.array([10.0, 30.0, 0.0])
    )
    delivered = np.array([True, True, False])
    cohort = Cohort(np.array([1, 2]), np.ones(2))
    delivered_round = RoundDelivery(7, np.array([1, 2, 5]), delivered, cohort, 60.0, 30, 20)
    total = Totals(90, 80, 240.0)
    got = metrics_row(4, scores, RoundOutcome(0.25, 3.0), delivered_round, total, 1.23456)
    assert tuple(got) == COLUMNS
    assert list(got.values()) == [4, 0.25, 0.8, 1.25, 0.7, 1.5, 7, 3, 2, 90, 80, 240.0, 3.0, 1.235]


def test_empty_round_has_no_training_loss() -> None:
    scores = ClientScores(np.ones(1), np.ones(1), np.ones(1))
    nobody = Cohort(np.zeros(0, int), np.zeros(0))
    delivered_round = RoundDelivery(0, nobody.ids, np.zeros(0, bool), nobody, math.nan, 0, 0)
    got = metrics_row(1, scores, EMPTY_ROUND, delivered_round, Totals(0, 0, math.nan), 0.0)
    assert math.isnan(got["train_loss"]) and math.isnan(got["simulated_seconds"])
    assert (got["num_selected"], got["num_delivered"], got["update_norm"]) == (0, 0, 0)


def test_csv_written_appended_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    write_csv(path, [row(1), row(2, 1 / 3)])
    append_csv(path, row(3, math.nan))
    rows = read(path)
    assert tuple(rows[0]) == COLUMNS
    assert [r["round"] for r in rows] == ["1", "2", "3"]
    assert float(rows[1]["train_loss"]) == 1 / 3
    assert math.isnan(float(rows[2]["train_loss"]))
    write_csv(path, [row(1)])
    assert len(read(path)) == 1
    assert b"\r" not in path.read_bytes()


@pytest.mark.parametrize(("number", "averaged"), [(1, 1), (9, 1), (10, 1), (20, 2), (100, 10)])
def test_summary_averages_the_last_tenth(number: int, averaged: int) -> None:
    """Losses 1..n; the mean of the last m is n - (m - 1) / 2."""
    summary = summarise([row(i, float(i)) for i in range(1, number + 1)])
    assert summary["evaluations_averaged"] == averaged
    means = summary["mean_of_last_10_percent"]
    assert means["train_loss"] == number - (averaged - 1) / 2
    assert means["test_user_loss"] == 1.5
    sums = {"bytes_down", "bytes_up", "simulated_seconds", "wall_seconds"}
    assert set(COLUMNS) - set(means) == {"round", *sums}
    assert summary["final"]["round"] == number


@pytest.mark.parametrize("score", [math.nan, math.inf])
@pytest.mark.parametrize("column", [name for name in COLUMNS if name.startswith("test_")])
def test_a_score_that_is_not_finite_is_not_left_out(column: str, score: float) -> None:
    """A diverged run has no mean, whatever its earlier scores."""
    rows = [row(i) for i in range(1, 31)]
    rows[-2][column] = score
    means = summarise(rows)["mean_of_last_10_percent"]
    assert math.isnan(means.pop(column))
    assert not any(map(math.isnan, means.values()))


def test_rounds_without_a_loss_do_not_enter_its_mean() -> None:
    """The last two of 20 evaluations are 19 and an empty round's NaN."""
    rows = [row(i, float(i)) for i in range(1, 20)] + [row(20, math.nan)]
    assert summarise(rows)["mean_of_last_10_percent"]["train_loss"] == 19
    assert math.isnan(summarise(rows[-1:])["mean_of_last_10_percent"]["train_loss"])
