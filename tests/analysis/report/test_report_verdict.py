from __future__ import annotations

import math

import pytest

from f3ast_tff.analysis.paired_difference import PairedDifference
from f3ast_tff.analysis.report.comparison import DOES_NOT_HOLD, HOLDS, NOT_ENOUGH, judge


def found(low: float, high: float, num_seeds: int = 10) -> PairedDifference:
    return PairedDifference((low + high) / 2, low, high, 0.5, num_seeds)


@pytest.mark.parametrize(
    ("low", "high", "paper", "expected"),
    [
        (0.01, 0.2, 0.1, HOLDS),
        (0.01, 0.2, None, HOLDS),
        (-0.2, -0.01, 0.1, DOES_NOT_HOLD),
        # Holds 0 and the paper's 0.1: cannot tell.
        (-0.05, 0.15, 0.1, NOT_ENOUGH),
        # Holds 0, and 0.1 lies above it.
        (-0.05, 0.05, 0.1, DOES_NOT_HOLD),
        # The paper prints no number: a lead of 0.01 counts.
        (-0.05, 0.05, None, NOT_ENOUGH),
        (-0.05, 0.005, None, DOES_NOT_HOLD),
        (0.0, 0.0, 0.1, DOES_NOT_HOLD),
    ],
)
def test_better(low: float, high: float, paper: float | None, expected: str) -> None:
    assert judge("better", True, paper, found(low, high), 10, 3).verdict == expected
    # A loss: the same with every sign turned.
    turned = None if paper is None else -paper
    assert judge("better", False, turned, found(-high, -low), 10, 3).verdict == expected


@pytest.mark.parametrize(
    ("relation", "low", "high", "expected"),
    [
        ("same", -0.005, 0.009, HOLDS),
        ("same", 0.02, 0.03, DOES_NOT_HOLD),
        ("same", -0.03, -0.02, DOES_NOT_HOLD),
        ("same", -0.005, 0.02, NOT_ENOUGH),
        ("not worse", -0.009, 0.4, HOLDS),
        ("not worse", -0.02, 0.4, NOT_ENOUGH),
        ("not worse", -0.4, -0.001, DOES_NOT_HOLD),
    ],
)
def test_other_relations(relation: str, low: float, high: float, expected: str) -> None:
    assert judge(relation, True, None, found(low, high), 10, 3).verdict == expected


def test_too_few_seeds_never_decide() -> None:
    assert judge("better", True, 0.1, found(0.1, 0.2, 2), 2, 3).verdict == NOT_ENOUGH
    assert judge("better", True, 0.1, None, 1, 3).verdict == NOT_ENOUGH


def test_a_diverged_run_never_decides() -> None:
    nothing = PairedDifference(math.nan, math.nan, math.nan, math.nan, 5)
    assert judge("better", True, 0.1, nothing, 5, 3).verdict == NOT_ENOUGH
