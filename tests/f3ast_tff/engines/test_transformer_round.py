"""The plain loop of the decoder's rounds is the suite's, whole and by each rule for factors."""

from __future__ import annotations

import pytest

from benchmarks.hand_written_transformer import RULES
from benchmarks.transformer_round import AGREE, SIZES, Case, cut_data, measured


@pytest.mark.long
@pytest.mark.parametrize("rule", RULES)
def test_both_sides_agree_and_are_timed(rule: str) -> None:
    size = SIZES["tiny"]
    case = Case(rule, cut_data(None, size), size)
    assert case.difference(rounds=2) < AGREE
    (times,) = measured([case], 2)
    assert times.suite.shape == times.loop.shape == (2, 2)
    assert (times.loop[:, 0] > 0).all()
