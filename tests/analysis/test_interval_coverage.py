"""Simulated coverage of intervals, and the kept coverage numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.interval_coverage import (
    CHOSEN,
    DRAWS,
    KEPT,
    LAWS,
    LEVELS,
    METHODS,
    ends,
    interval_coverage,
    main,
)
from f3ast_tff.analysis.paired_difference import paired_difference
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.analysis.tidy_scores import final_scores, kept_groups, read_scores

RESULTS = Path(__file__).resolve().parents[2] / "analysis" / "results"
NORMAL, EXPONENTIAL, GAMMA, LOGNORMAL, OF_KEPT = LAWS


def kept() -> pd.DataFrame:
    table = pd.read_csv(RESULTS / "interval_coverage.csv")
    return table.set_index(["law", "draws", "level", "method"])


def test_the_chosen_interval_is_that_of_a_paired_difference() -> None:
    values = -np.random.default_rng(0).exponential(size=(20, 12))
    for level in LEVELS:
        low, high = ends(CHOSEN, values, level, 1)
        for place, study in enumerate(values):
            a = {Pair(draw, 0): value for draw, value in enumerate(study)}
            found = paired_difference(a, dict.fromkeys(a, 0.0)).interval(level)
            assert found == pytest.approx((low[place], high[place]), rel=1e-9)


@pytest.mark.parametrize("law", [NORMAL, EXPONENTIAL, GAMMA, LOGNORMAL])
def test_at_12_draws_95_percent_intervals_cover_at_least_93(law: str) -> None:
    """Coverage, simulated again and as kept; 20,000 studies have standard error 0.0017."""
    values = LAWS[law].draw(np.random.default_rng(1), (20_000, 12))
    low, high = ends(CHOSEN, values, 0.95, 1)
    covered = np.mean((low <= LAWS[law].mean) & (LAWS[law].mean <= high))
    assert covered >= 0.93
    row = kept().loc[(law, 12, 0.95, CHOSEN)]
    assert row["coverage"] >= 0.93
    assert row["coverage"] == pytest.approx(covered, abs=0.012)
    # At most a third longer than Student's t.
    assert row["length"] < 1.4


def test_students_t_covers_less_where_draws_are_skewed() -> None:
    table = kept()
    for law in (EXPONENTIAL, GAMMA, LOGNORMAL, OF_KEPT):
        t, chosen = (table.loc[(law, 12, 0.95, m), "coverage"] for m in ("t", CHOSEN))
        assert t < 0.92 < chosen or (law == OF_KEPT and t < 0.81 < 0.86 < chosen)


def test_of_the_kept_differences_no_interval_covers_93() -> None:
    """Of 12 draws from 12 values, (11/12)^12 = 35% miss the value in the tail."""
    table = kept()
    for method in METHODS:
        assert table.loc[(OF_KEPT, 12, 0.95, method), "coverage"] < 0.93


@pytest.mark.parametrize(
    ("law", "skewness"), [(EXPONENTIAL, -2.0), (GAMMA, -2.3), (LOGNORMAL, -2.3), (OF_KEPT, -2.25)]
)
def test_laws_have_the_mean_and_skewness_that_they_say(law: str, skewness: float) -> None:
    values = LAWS[law].draw(np.random.default_rng(2), (1000, 1000)).ravel()
    assert values.mean() == pytest.approx(LAWS[law].mean, abs=0.005)
    assert stats.skew(values) == pytest.approx(skewness, abs=0.1)


def test_the_kept_differences_are_those_of_the_kept_scores() -> None:
    scores: dict[str, dict[Pair, float]] = {}
    table = final_scores(kept_groups(read_scores(RESULTS / "table3_synthetic.csv")))
    for run in table.to_dict("records"):
        if (run["reading"], run["availability"]) == ("released", "uneven"):
            pair = Pair(run["draw"], run["seed"])
            scores.setdefault(run["algorithm"], {})[pair] = run["sample_accuracy"]
    ours = sorted(scores["f3ast"][pair] - scores["fedavg"][pair] for pair in scores["f3ast"])
    assert ours == pytest.approx(KEPT, abs=5.1e-5)


def test_sign_flips_by_hand() -> None:
    """Three draws 0, 1, 5 at 50%: the second smallest and second largest of the 7 subset means.

    The means are 0, 1/2, 1, 2, 5/2, 3, 5, and the rank is 0.25 * 8 = 2. At 95% the rank is 0:
    nothing is rejected.
    """
    low, high = ends("sign flips", np.array([[0.0, 1.0, 5.0]]), 0.5, 1)
    assert (low[0], high[0]) == (0.5, 3.0)
    low, high = ends("sign flips", np.array([[0.0, 1.0, 5.0]]), 0.95, 1)
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_bootstrap_t_of_normal_draws_is_close_to_t() -> None:
    found = interval_coverage(300, 199, draws=(12,), methods=("t", "bootstrap-t"))
    normal = found[(found["law"] == NORMAL) & (found["level"] == 0.95)].set_index("method")
    assert normal.loc["bootstrap-t", "length"] == pytest.approx(1.0, abs=0.1)
    assert normal.loc["bootstrap-t", "coverage"] == pytest.approx(0.95, abs=0.04)


def test_the_command_writes_a_row_for_each_law_draws_level_and_method(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert main(["x", f"--out={out}", "--studies=5", "--resamples=9"]) == 0
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(LAWS) * len(DRAWS) * len(LEVELS) * len(METHODS)
    assert len(rows) == len(kept())


def test_the_page_has_the_files_figures() -> None:
    page = (RESULTS / "interval_coverage.md").read_text()
    table = kept()
    for law in LAWS:
        for level, methods, draws in (
            (0.95, METHODS, (12,)),
            (0.95, (CHOSEN,), DRAWS),
            (0.995, METHODS, (12,)),
        ):
            rows = [table.loc[(law, n, level, m)] for m in methods for n in draws]
            cells = [f"{row['coverage']:.3f} / {row['length']:.2f}" for row in rows]
            assert f"| {law} | {' | '.join(cells)} |" in page
