"""Cumulative importance by class of clients, from small run folders."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.studies import cumulative_importance
from tests.analysis.class_runs import make
from tests.analysis.conftest import MakeRun


def ratios(folder: Path) -> dict[str, float]:
    table = cumulative_importance.cumulative_importance(load_runs(folder))
    return dict(zip(table["clients"], table["ratio"]))


def test_importance_by_class(make_run: MakeRun, tmp_path: Path) -> None:
    """Over two rounds client 0 has 0.15, client 2 has 0.3, client 3 has 0.15: 0.6 in total."""
    make(make_run, "unbiased", algorithm="unbiased")
    table = cumulative_importance.cumulative_importance(load_runs(tmp_path))
    assert table["clients"].tolist() == [
        "more_available",
        "less_available_weakly_correlated",
        "less_available_correlated",
    ]
    assert table["weight"].tolist() == [0.15, 0.15, 0.3]
    assert table["weight_share"].tolist() == [0.25, 0.25, 0.5]
    assert table["p"].tolist() == [0.5, 0.1, 0.4]
    assert table["ratio"].tolist() == [0.3, 1.5, 0.75]


def test_three_classes_are_the_same_groups(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "unbiased", markov_classes="three")
    assert ratios(tmp_path) == {
        "more_available": 0.3,
        "less_available_weakly_correlated": 1.5,
        "less_available_correlated": 0.75,
    }


def test_a_mean_has_weights_of_sum_one(make_run: MakeRun, tmp_path: Path) -> None:
    """Weights are 1/3 and 2/3, then 1: means 1/6, 1/3 and 1/2."""
    make(make_run, "fedavg", aggregation="mean")
    found = ratios(tmp_path)
    assert found["more_available"] == pytest.approx(1 / 6 / 0.5, abs=1e-6)
    assert found["less_available_weakly_correlated"] == pytest.approx(0.5 / 0.1, abs=1e-6)
    assert found["less_available_correlated"] == pytest.approx(1 / 3 / 0.4, abs=1e-6)


def test_late_updates_count(make_run: MakeRun, tmp_path: Path) -> None:
    run = make(make_run, "fedbuff")
    arrays = dict(np.load(run / "selection.npz"))
    late = {"late_clients": np.array([[-1], [1]]), "late_weights": np.array([[0.0], [0.1]])}
    np.savez(run / "selection.npz", **arrays, **late)
    assert ratios(tmp_path)["more_available"] == pytest.approx((0.3 + 0.1) / 2 / 0.5)


def test_no_weight_at_all(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "unbiased", scale=0)
    table = cumulative_importance.cumulative_importance(load_runs(tmp_path))
    assert table["ratio"].tolist() == [0, 0, 0]
    assert all(map(math.isnan, table["weight_share"]))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"availability": "always"}, "has availability always, not four_classes"),
        ({"availability_draws": "by_round_only"}, "availability_draws=by_round_only"),
    ],
)
def test_classes_that_are_not_known(
    make_run: MakeRun, tmp_path: Path, settings: dict[str, Any], says: str
) -> None:
    make(make_run, "unbiased", **settings)
    with pytest.raises(RunsError, match=says):
        ratios(tmp_path)
