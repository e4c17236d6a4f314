"""Verdicts on direction and size of claims, Holm's correction, and families without effect."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.compare.judge import (
    AS_PRINTED,
    BETTER,
    CLOSE,
    LARGER,
    NOT_JUDGED,
    OF_SIGNS,
    OPEN,
    SMALLER,
    UNCORRECTED,
    WORSE,
    Claim,
    judge,
)
from f3ast_tff.analysis.compare.null_families import null_rejections
from f3ast_tff.analysis.compare.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.render import grounds
from f3ast_tff.analysis.compare.scored import Pair
from tests.analysis.compare.given import claim


def found(low: float, high: float, draws: int = 10) -> PairedDifference:
    """Returns a difference over draws with this 95% interval."""
    error = (high - low) / 2 / stats.t.ppf(0.975, draws - 1)
    return PairedDifference((low + high) / 2, error, draws, draws)


def alone(
    relation: str, upwards: bool, paper: float | None, low: float, high: float
) -> tuple[str | None, str | None]:
    """Direction and size in a family of one, judged by its 95% interval."""
    (verdict,) = judge([claim(found(low, high), relation, upwards, paper)])
    assert verdict.level == (None if relation == "same" else 0.95)
    assert verdict.size_level == (None if paper is None else 0.95)
    return verdict.word, verdict.size


@pytest.mark.parametrize("relation", ["better", "not worse"])
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0001, 0.2, BETTER),
        (0.03, 0.05, BETTER),
        (-0.2, -0.0001, WORSE),
        (-0.0001, 0.2, CLOSE),
        (-0.2, 0.0001, CLOSE),
        (0.0, 0.0, CLOSE),
        (0.001, 0.001, BETTER),
    ],
)
def test_directions(relation: str, low: float, high: float, expected: str) -> None:
    """Without a margin, "not worse" is judged like "better"."""
    assert alone(relation, True, None, low, high) == (expected, None)
    # For a loss every sign is reversed.
    assert alone(relation, False, None, -high, -low) == (expected, None)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        # The interval holds the paper's 0.1, and is no longer than 0.1.
        (0.06, 0.14, AS_PRINTED),
        (0.01, 0.101, AS_PRINTED),
        (0.1, 0.1, AS_PRINTED),
        # The interval is so long that it also allows 0.2 or almost nothing.
        (0.02, 0.18, OPEN),
        # The interval holds both 0 and the paper's value.
        (-0.02, 0.12, OPEN),
        (-0.05, 0.05, SMALLER),
        (-0.2, -0.1, SMALLER),
        (0.01, 0.09, SMALLER),
        (0.11, 0.4, LARGER),
    ],
)
def test_sizes(low: float, high: float, expected: str) -> None:
    assert alone("better", True, 0.1, low, high)[1] == expected
    assert alone("better", False, -0.1, -high, -low)[1] == expected


@pytest.mark.parametrize(
    ("low", "high", "paper", "expected"),
    [
        (0.001, 0.1, 0.0, LARGER),
        (-0.1, -0.001, 0.0, SMALLER),
        # However short, an interval around 0 does not show that both are equal.
        (-0.001, 0.001, 0.0, OPEN),
        (0.0, 0.0, 0.0, AS_PRINTED),
        # The paper prints 0.281 and 0.282.
        (-0.1, -0.002, -0.001, SMALLER),
        (0.0, 0.1, -0.001, LARGER),
        (-0.01, 0.01, -0.001, OPEN),
    ],
)
def test_the_same_has_a_size_alone(low: float, high: float, paper: float, expected: str) -> None:
    assert alone("same", True, paper, low, high) == (None, expected)
    assert alone("same", False, -paper, -high, -low) == (None, expected)


def test_reasons_say_how_large_against_the_papers_difference() -> None:
    """0.01 [0.005, 0.015] of 0.05; for a loss, -0.01 [-0.015, -0.005] of -0.05."""
    share = "0.20 [0.10, 0.30] of the paper's"
    for upwards, paper, low, high, says in (
        (True, 0.05, 0.005, 0.015, f"better, {share}"),
        (False, -0.05, -0.015, -0.005, f"better, {share}"),
        (True, -0.05, -0.015, -0.005, f"worse, {share}"),
        (True, None, 0.005, 0.015, "better"),
        (True, None, -0.005, 0.015, "the interval contains 0"),
    ):
        (verdict,) = judge([claim(found(low, high), upwards=upwards, printed=paper)])
        assert grounds(verdict) == says


def of_p(p_value: float) -> Claim:
    """A claim over 10 draws with this p value."""
    distance = float(stats.t.isf(p_value / 2, 9))
    return claim(PairedDifference(distance, 1.0, 10, 10))


def test_holm_by_hand() -> None:
    """0.05 over 4, 3, 2: 0.01 <= 0.0125, 0.016 <= 0.0167, 0.03 > 0.025 stops; 0.5 has its level.

    Corrected p values: 4 * .01, 3 * .016 = .048, 2 * .03 = .06, and .5, which none falls below.
    """
    verdicts = judge([of_p(p) for p in (0.03, 0.01, 0.5, 0.016)])
    assert [v.error for v in verdicts] == pytest.approx([0.025, 0.0125, 0.025, 0.05 / 3])
    assert [v.p for v in verdicts] == pytest.approx([0.06, 0.04, 0.5, 0.048])
    assert [v.word for v in verdicts] == [CLOSE, BETTER, CLOSE, BETTER]
    # A later p value is never below an earlier one: 2 * .026 = .052, then .051 alone.
    assert [v.p for v in judge([of_p(0.051), of_p(0.026)])] == pytest.approx([0.052, 0.052])
    assert [v.error for v in judge([of_p(0.2)])] == [0.05]
    assert judge([]) == []
    plain = judge([of_p(0.03), of_p(0.5), of_p(0.04)], UNCORRECTED)
    assert [v.p for v in plain] == pytest.approx([0.03, 0.5, 0.04])
    assert [v.word for v in plain] == [BETTER, CLOSE, BETTER]


def test_the_interval_is_at_the_level_of_its_test() -> None:
    """Two claims of p .01: the first is judged at 97.5%, the second at 95%."""
    for verdict, level in zip(judge([of_p(0.01), of_p(0.011)]), (0.975, 0.95)):
        difference = verdict.claim.found
        assert difference is not None and verdict.level == level
        assert (verdict.low, verdict.high) == difference.interval(level)


def test_a_claim_that_holds_alone_may_not_hold_in_a_family() -> None:
    """p just below 0.05 holds alone; beside three claims without effect it would need 0.0125."""
    barely = claim(found(0.001, 0.2), printed=0.1)
    nothing = claim(found(-0.2, 0.2))
    assert barely.found is not None and 0.0125 < barely.found.p_value < 0.05
    assert judge([barely])[0].word == BETTER
    verdict = judge([nothing, barely, nothing, nothing])[1]
    assert verdict.word == CLOSE
    assert verdict.level == 1 - 0.05 / 4
    # It is the only claim with a size.
    assert verdict.size_level == 0.95
    # A claim that cannot be judged is no member of the family.
    without = claim(None, obstacle="not run")
    assert judge([without, barely, without])[1].word == BETTER


def test_sizes_are_a_family_beside_the_directions() -> None:
    """Two intervals end just below 0.1: one alone is smaller, but in a family of two neither is."""
    asked = claim(found(0.01, 0.0999), printed=0.1)
    assert judge([asked])[0].size == SMALLER
    assert [v.size for v in judge([asked] * 2)] == [OPEN] * 2
    short = claim(found(0.06, 0.0999), printed=0.1)
    assert judge([short])[0].size == SMALLER
    assert [v.size for v in judge([short] * 2)] == [AS_PRINTED] * 2


@pytest.mark.parametrize("relation", ["better", "not worse"])
@pytest.mark.parametrize("upwards", [True, False])
def test_a_direction_is_found_exactly_if_the_p_value_is_rejected(
    relation: str, upwards: bool
) -> None:
    for low in (-0.03, -0.0112, -0.0099, -0.0021, 0.0012, 0.02):
        for width in (0.001, 0.012, 0.05):
            difference = found(low, low + width)
            (verdict,) = judge([claim(difference, relation, upwards)])
            assert (verdict.word != CLOSE) == (difference.p_value <= 0.05)
            assert (verdict.word != CLOSE) == (low > 0 or low + width < 0)


def test_no_usable_difference() -> None:
    verdicts = judge([claim(None, printed=0.1), claim(None, "same", printed=0.1)])
    assert {v.reason for v in verdicts} == {"fewer than 2 common pairs of draw and seed"}
    assert [(v.word, v.size) for v in verdicts] == [(NOT_JUDGED, OPEN), (None, OPEN)]
    assert {v.level for v in verdicts} == {None}
    assert all(math.isnan(v.mean) and math.isnan(v.low) and math.isnan(v.p) for v in verdicts)


def diverging(
    a: int, b: int, runs: int, difference: PairedDifference | None = None, upwards: bool = True
) -> Claim:
    nan = PairedDifference(
        math.nan, math.nan, runs, runs, num_diverged=a + b, num_above=runs - a, num_below=a
    )
    return claim(difference or nan, upwards=upwards, printed=0.1, diverged=(a, b))


def test_a_method_that_diverges_in_more_than_half_of_the_runs_loses() -> None:
    for a, b, word, reason in (
        (7, 0, WORSE, "A diverged in 7 of 12 runs"),
        (7, 6, WORSE, "A diverged in 7 of 12 and B diverged in 6 of 12 runs"),
        (0, 7, BETTER, "B diverged in 7 of 12 runs"),
        (7, 12, CLOSE, "A diverged in 7 of 12 and B diverged in 12 of 12 runs"),
    ):
        (verdict,) = judge([diverging(a, b, 12)])
        assert (verdict.word, verdict.size, verdict.reason) == (word, OPEN, reason)
        assert verdict.level is None
    # It does not count in the correction; and with too few runs nothing is judged.
    tested = claim(found(0.01, 0.2))
    assert judge([diverging(7, 0, 12), tested])[1].level == 0.95
    few = diverging(2, 0, 2)
    assert judge([few])[0].word == NOT_JUDGED


def test_diverging_in_half_of_the_runs_or_fewer_leaves_a_sign_test() -> None:
    """2 of 12 are worse: p = 2 * 79 / 4096 = 0.039, which holds alone but not among two claims."""
    asked = diverging(2, 0, 12)
    (verdict,) = judge([asked])
    assert (verdict.word, verdict.size) == (BETTER, OPEN)
    assert (verdict.level, verdict.size_level) == (0.95, None)
    assert grounds(verdict) == (
        "better in 10 and worse in 2 of 12 draws (sign test); A diverged in 2 of 12 runs"
    )
    assert judge([asked, asked])[0].word == CLOSE
    assert judge([diverging(6, 0, 12)])[0].word == CLOSE
    # For a loss, above is worse.
    assert judge([diverging(2, 0, 12, upwards=False)])[0].word == WORSE


def test_a_number_in_place_of_a_diverged_run_is_tested() -> None:
    (verdict,) = judge([diverging(2, 0, 10, found(-0.2, -0.1))])
    assert (verdict.word, verdict.size) == (WORSE, SMALLER)
    assert grounds(verdict).endswith("of the paper's; A diverged in 2 of 10 runs")


@pytest.mark.parametrize(
    ("draws", "pairs", "generated", "reason"),
    [
        (1, 30, True, "1 draw of the data, 5 are needed"),
        (2, 30, True, "2 draws of the data, 5 are needed"),
        (5, 5, True, ""),
        (1, 2, False, "2 common pairs of draw and seed, 3 are needed"),
        (1, 3, False, ""),
    ],
)
def test_fewest_draws(draws: int, pairs: int, generated: bool, reason: str) -> None:
    """Generated data need 5 draws, other data 3 runs."""
    asked = claim(PairedDifference(0.1, 0.01, pairs, draws), generates_data=generated)
    (verdict,) = judge([asked])
    assert verdict.reason == reason
    assert verdict.word == (NOT_JUDGED if reason else BETTER)


def test_generated_data_need_no_more_draws_where_the_paper_has_more_runs() -> None:
    """CA-Fed averages over 10 runs; other data need as many."""
    for generated, word in ((True, BETTER), (False, NOT_JUDGED)):
        asked = claim(PairedDifference(0.1, 0.01, 6, 6), generates_data=generated)
        assert judge([replace(asked, fewest_pairs=10)])[0].word == word


def test_a_verdict_turned() -> None:
    """B against A: the same p, with interval, mean and word turned."""
    a = {Pair(draw, 0): 0.6 + 0.01 * draw for draw in range(1, 9)}
    b = dict.fromkeys(a, 0.6)
    verdict, back = (judge([Claim(Paired(*both, True))])[0] for both in ((a, b), (b, a)))
    turned = verdict.turned
    assert (turned.word, back.word) == (WORSE, WORSE)
    assert (turned.low, turned.high, turned.p) == pytest.approx((back.low, back.high, back.p))
    assert turned.mean == pytest.approx(-0.045)


def test_a_close_verdict_says_median_signs_and_outliers() -> None:
    """Nine of ten draws are .01 to .018 above, draw 9 is .5 below: 2 (1 + 10) / 2^10 = .0215."""
    leads = [0.01 + 0.001 * draw for draw in range(9)] + [-0.5]
    a = {Pair(draw, 0): 0.6 + lead for draw, lead in enumerate(leads)}
    (verdict,) = judge([claim(paired_difference(a, dict.fromkeys(a, 0.6)))])
    assert verdict.word == CLOSE
    assert grounds(verdict) == (
        "the interval contains 0; median +0.0135, 9 of 10 draws above 0 (sign test p = 0.021), "
        "outliers: draw 9 (-0.5000)"
    )


def family(values: np.ndarray) -> list[Claim]:
    """Claims of shape [claims, draws]."""
    return [
        Claim(
            Paired(
                {Pair(draw, 0): float(value) for draw, value in enumerate(row)},
                {Pair(draw, 0): 0.0 for draw in range(len(row))},
                higher_is_better=True,
                generates_data=True,
            )
        )
        for row in values
    ]


@pytest.mark.long
def test_a_family_of_normal_differences_keeps_its_level() -> None:
    """100 claims over 40 draws: 5% of families have a direction; an effect changes nothing."""
    values = np.random.default_rng(0).normal(size=(100, 40))
    assert null_rejections(family(values), repeats=400) == pytest.approx(0.05, abs=0.04)
    shifted = null_rejections(family(values + 3), repeats=400)
    assert shifted == null_rejections(family(values), repeats=400)


def test_a_family_with_single_outliers_does_not() -> None:
    """One draw of 40 is 50 deviations away. (39/40)^40 = 36% of resamples lack it.

    Without it the mean of the others is far from 0 in their own deviations, in each claim.
    """
    values = np.random.default_rng(1).normal(size=(30, 40))
    values[np.arange(30), np.arange(30)] = -50.0
    assert null_rejections(family(values), repeats=200) > 0.9


def test_a_sign_test_is_not_decided_by_one_draw() -> None:
    """Nine draws of ten are above 0 by .1, one is below by 5: p = 2 * 11 / 1024, shown alone."""
    (asked,) = family(np.array([[0.1] * 9 + [-5.0]]))
    assert judge([asked])[0].word == CLOSE
    (verdict,) = judge([asked], test=OF_SIGNS)
    assert verdict.p == pytest.approx(22 / 1024)


def test_what_cannot_be_tested_is_left_out() -> None:
    assert math.isnan(null_rejections(family(np.ones((3, 2)))))
