"""How often a family without effect has a direction."""

from __future__ import annotations

import math

import numpy as np
import pytest

from f3ast_tff.analysis.compare.judge import CLOSE, OF_SIGNS, Claim, judge
from f3ast_tff.analysis.compare.null_families import null_rejections
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.scored import Pair


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
