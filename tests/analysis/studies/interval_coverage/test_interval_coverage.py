"""Simulated coverage of intervals, and the kept coverage numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.judge import CLOSE, ERROR, judge
from f3ast_tff.analysis.compare.paired_difference import mean_interval, paired_difference
from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.studies.interval_coverage.__main__ import (
    DRAWS,
    FAMILIES,
    KEPT,
    LAWS,
    LEVELS,
    OF_FAMILIES,
    family_coverage,
    interval_coverage,
    main,
)
from f3ast_tff.analysis.studies.interval_coverage.mean_intervals import CHOSEN, METHODS, ends
from f3ast_tff.analysis.tidy_scores import final_scores, kept_groups, read_scores
from tests.analysis.compare.given import claim

STUDIES = Path(__file__).resolve().parents[4] / "analysis" / "studies"
NORMAL, EXPONENTIAL, GAMMA, LOGNORMAL, LONG_TAIL, OUTLIER, OF_KEPT = LAWS


def kept() -> pd.DataFrame:
    table = pd.read_csv(STUDIES / "interval_coverage/scores.csv")
    return table[table["claims"] == 1].set_index(["law", "draws", "level", "method"])


def kept_families() -> pd.DataFrame:
    table = pd.read_csv(STUDIES / "interval_coverage/scores.csv")
    return table[table["claims"] > 1].set_index(["law", "draws", "claims", "method"])


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
    ("law", "skewness"),
    [(EXPONENTIAL, -2.0), (GAMMA, -2.3), (LOGNORMAL, -2.3), (OUTLIER, -2.87), (OF_KEPT, -2.25)],
)
def test_laws_have_the_mean_and_skewness_that_they_say(law: str, skewness: float) -> None:
    values = LAWS[law].draw(np.random.default_rng(2), (1000, 1000)).ravel()
    assert values.mean() == pytest.approx(LAWS[law].mean, abs=0.005 * max(values.std(), 1))
    assert stats.skew(values) == pytest.approx(skewness, abs=0.1)


def test_the_kept_differences_are_those_of_the_kept_scores() -> None:
    scores: dict[str, dict[Pair, float]] = {}
    table = final_scores(kept_groups(read_scores(STUDIES / "table3_synthetic/scores.csv")))
    for run in table.to_dict("records"):
        if (run["reading"], run["availability"]) == ("released", "uneven"):
            pair = Pair(run["draw"], run["seed"])
            scores.setdefault(run["algorithm"], {})[pair] = run["sample_accuracy"]
    ours = sorted(scores["f3ast"][pair] - scores["fedavg"][pair] for pair in scores["f3ast"])
    assert ours == pytest.approx(KEPT, abs=5.1e-5)


def test_one_outlier_in_12_is_missed_where_no_draw_shows_it() -> None:
    """(11/12)^12 = 35.2% of samples hold no outlier; no interval of such a sample reaches the mean.

    The mean is -20/12, five of its standard errors away from the other draws.
    """
    law = LAWS[OUTLIER]
    values = law.draw(np.random.default_rng(4), (20_000, 12))
    without = (values > -10).all(axis=1)
    assert without.mean() == pytest.approx((11 / 12) ** 12, abs=0.01)
    low, high = ends(CHOSEN, values, 0.95, 1)
    holds = (low <= law.mean) & (law.mean <= high)
    assert holds[without].mean() < 0.02
    assert holds.mean() == pytest.approx(0.65, abs=0.01)
    assert kept().loc[(OUTLIER, 12, 0.95, CHOSEN), "coverage"] == pytest.approx(0.65, abs=0.02)


@pytest.mark.parametrize(
    ("law", "of_8", "of_48"),
    [
        (NORMAL, 0.033, 0.043),
        (EXPONENTIAL, 0.17, 0.028),
        (GAMMA, 0.22, 0.030),
        (LONG_TAIL, 0.35, 0.093),
    ],
)
def test_thirteen_claims_without_effect(law: str, of_8: float, of_48: float) -> None:
    """The chance of a false verdict, simulated again and as kept."""
    again = family_coverage(1000, sizes=((8, 13),), methods=(CHOSEN,)).set_index("law")
    assert 1 - again.loc[law, "coverage"] == pytest.approx(of_8, abs=0.04)
    families = kept_families()["coverage"]
    assert 1 - families[(law, 8, 13, CHOSEN)] == pytest.approx(of_8, abs=0.015)
    assert 1 - families[(law, 48, 13, CHOSEN)] == pytest.approx(of_48, abs=0.015)


@pytest.mark.long
def test_a_family_errs_where_holms_rule_gives_a_direction() -> None:
    """The verdicts of `judge` on 200 families of exponential draws, one by one."""
    law, claims = LAWS[EXPONENTIAL], 13
    values = law.draw(np.random.default_rng(3), (200 * claims, 8)) - law.mean
    low, high = ends(CHOSEN, values, 1 - ERROR / claims, 1)
    errs = ((low > 0) | (high < 0)).reshape(-1, claims).any(axis=1)
    found = []
    for family in values.reshape(-1, claims, 8):
        questions = []
        for differences in family:
            scores = {Pair(draw, 0): value for draw, value in enumerate(differences)}
            questions.append(claim(mean_interval(scores)))
        found.append(any(each.word != CLOSE for each in judge(questions)))
    assert found == errs.tolist()
    assert 0.1 < np.mean(found) < 0.3


def test_johnsons_interval_by_hand() -> None:
    """0, 1, 5: mean 2, s = sqrt(7), g = sqrt(6) 6 / (14/3)^1.5. The shift is g s / (6 * 3)."""
    g = 6**0.5 * 6 / (14 / 3) ** 1.5
    low, high = ends("Johnson", np.array([[0.0, 1.0, 5.0]]), 0.95, 1)
    middle, reach = 2 + g * 7**0.5 / 18, 4.302653 * (7 / 3) ** 0.5
    assert (low[0], high[0]) == pytest.approx((middle - reach, middle + reach), rel=1e-6)


def test_the_bca_bootstrap_is_scipys() -> None:
    """By other resamples, so the ends differ by their noise."""
    for values in -np.random.default_rng(5).exponential(size=(3, 12)):
        low, high = ends("BCa", values[None], 0.95, 19_999)
        theirs = stats.bootstrap(
            (values,), np.mean, n_resamples=19_999, method="BCa", random_state=0
        ).confidence_interval
        width = theirs.high - theirs.low
        assert (low[0], high[0]) == pytest.approx(tuple(theirs), abs=0.03 * width)


def test_sign_flips_by_hand() -> None:
    """Three draws 0, 1, 5 at 50%: the second smallest and second largest of the 7 subset means.

    The means are 0, 1/2, 1, 2, 5/2, 3, 5, and the rank is 0.25 * 8 = 2. At 95% the rank is 0:
    nothing is rejected.
    """
    low, high = ends("sign flips", np.array([[0.0, 1.0, 5.0]]), 0.5, 1)
    assert (low[0], high[0]) == (0.5, 3.0)
    low, high = ends("sign flips", np.array([[0.0, 1.0, 5.0]]), 0.95, 1)
    assert (low[0], high[0]) == (-np.inf, np.inf)


@pytest.mark.long
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
    single = len(LAWS) * len(DRAWS) * len(LEVELS) * len(METHODS)
    assert len(rows) == single + len(LAWS) * len(FAMILIES) * len(OF_FAMILIES)
    assert len(rows) == len(kept()) + len(kept_families())


def test_the_page_has_the_files_figures() -> None:
    page = (STUDIES / "interval_coverage/page.md").read_text()
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
    families = kept_families()["coverage"]
    for law in LAWS:
        cells = [
            f"{1 - families[(law, n, claims, method)]:.3f}"
            for n, claims in FAMILIES
            for method in OF_FAMILIES
        ]
        assert f"| {law} | {' | '.join(cells)} |" in page
