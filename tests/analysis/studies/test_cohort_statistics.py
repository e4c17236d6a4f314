"""Sums of weights, shares of picks and importance by class, from small run folders."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.studies import cumulative_importance
from f3ast_tff.analysis.studies.cohort_statistics import cohort_statistics, main
from tests.analysis.class_runs import make
from tests.analysis.conftest import MakeRun

P = np.array([0.7, 0.1, 0.1, 0.1])


def write(run: Path, **changed: Any) -> None:
    arrays = {
        "selected": np.array([[0, 1]] * 10 + [[0, -1]] * 5),
        "weight_sum": np.array([3.0] * 10 + [1.5] * 5),
        "p": P,
        **changed,
    }
    np.savez(run / "selection.npz", **{n: a for n, a in arrays.items() if a is not None})


def test_sums_by_span_and_shares_of_picks(make_run: MakeRun, tmp_path: Path) -> None:
    """15 rounds: 25 picks, 15 of client 0, the largest; clients 2 and 3 are never picked.

    The largest tenth of 4 clients is one client.
    """
    write(make_run("f3ast"))
    (row,) = cohort_statistics(load_runs(tmp_path)).to_dict("records")
    assert row["weight_sum_from_1"] == 3 and row["weight_sum_from_11"] == 1.5
    assert np.isnan(row["weight_sum_from_101"])
    assert row["largest_clients"] == 0.6 and row["largest_p"] == 0.7
    assert row["never_picked"] == 0.5 and row["runs"] == 1


@pytest.mark.parametrize(
    "of_mean",
    [
        {"aggregation": "mean"},
        {"aggregation": "fedvarp", "cohort_weights": "mean"},
        {"aggregation": "mimic"},
    ],
    ids=lambda given: given["aggregation"],
)
def test_a_mean_has_weights_of_sum_one(
    of_mean: dict[str, str], make_run: MakeRun, tmp_path: Path
) -> None:
    """An empty round has no weights."""
    run = make_run("fedavg", **of_mean)
    write(run, weight_sum=np.array([3.0] * 10 + [1.5] * 4 + [0.0]))
    (row,) = cohort_statistics(load_runs(tmp_path)).to_dict("records")
    assert row["weight_sum_from_1"] == 1 and row["weight_sum_from_11"] == 0.8


def test_a_plug_in_does_not_say(make_run: MakeRun, tmp_path: Path) -> None:
    write(make_run("fedavg", aggregation="smoothed"))
    with pytest.raises(RunsError, match="has aggregation smoothed, which may be a sum or a mean"):
        cohort_statistics(load_runs(tmp_path))


def test_late_updates(make_run: MakeRun, tmp_path: Path) -> None:
    """7 updates are asked for: 0's four are in time, 1's and 2's two rounds late, 3's is lost.

    Six enter, on average 4 / 6 rounds stale. Clients 3 and 1, the rarest half, have one of the six.
    """
    write(
        make_run("fedbuff"),
        selected=np.array([[0, 1], [0, 2], [0, 3], [0, -1]]),
        delivered=np.array([[True, False]] * 4),
        weight_sum=np.ones(4),
        late_clients=np.array([-1, -1, 1, 2])[:, None],
        late_asked_in=np.array([-1, -1, 1, 2])[:, None],
        late_lost=np.array([0, 0, 0, 1]),
    )
    (row,) = cohort_statistics(load_runs(tmp_path)).to_dict("records")
    assert row["mean_staleness"] == pytest.approx(4 / 6, abs=1e-6)
    assert row["not_taken"] == pytest.approx(1 / 7, abs=1e-6)
    assert row["rarest_half"] == pytest.approx(1 / 6, abs=1e-6)


def test_the_command_writes_a_file(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(make_run("f3ast"))
    out = tmp_path / "cohorts.csv"
    assert main(["cohort_statistics", f"--runs={tmp_path}", f"--out={out}"]) == 0
    assert out.read_text().startswith("task,algorithm,runs,weight_sum_from_1,")
    assert capsys.readouterr() == (f"1 rows: {out}\n", "")


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


def test_importance_under_a_mean(make_run: MakeRun, tmp_path: Path) -> None:
    """Weights are 1/3 and 2/3, then 1: means 1/6, 1/3 and 1/2."""
    make(make_run, "fedavg", aggregation="mean")
    found = ratios(tmp_path)
    assert found["more_available"] == pytest.approx(1 / 6 / 0.5, abs=1e-6)
    assert found["less_available_weakly_correlated"] == pytest.approx(0.5 / 0.1, abs=1e-6)
    assert found["less_available_correlated"] == pytest.approx(1 / 3 / 0.4, abs=1e-6)


def test_late_updates_count_in_importance(make_run: MakeRun, tmp_path: Path) -> None:
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
