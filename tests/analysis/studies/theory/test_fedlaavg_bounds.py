"""FedLaAvg's longest absence and first step, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.analysis.studies.theory.fedlaavg_bounds import absences, longest_absence, mean_square
from f3ast_tff.availability import Turns


def test_longest_absence_of_five_clients() -> None:
    """All are available in rounds 3, 6, 9, ..., and two are selected: the fifth waits until 9."""
    process = Turns(np.full(5, 2), np.ones(5, int), 3)
    assert longest_absence(process, 2, 8, seed=0) == 6
    assert longest_absence(process, 2, 9, seed=0) == 9
    assert longest_absence(process, 2, 60, seed=0) == 9


@pytest.mark.long
def test_lemma_1_is_attained_and_needs_its_assumption() -> None:
    """Random availability gives no guarantee: with chance 1/2 a client may be away beyond any E."""
    rows = absences(2, 300)
    for found in rows:
        if found["setting"] == "together":
            assert found["measured"] == found["bound"]
        if found["setting"] == "apart":
            assert found["measured"] <= found["bound"]
    random = [r for r in rows if "random" in r["setting"]]
    assert any(r["measured"] > r["bound"] for r in random)


def test_mean_square_gradient() -> None:
    """The model starts at distance 1 from the optimum in each of four dimensions."""
    assert mean_square(4, 1, seed=0) == pytest.approx(4)
    assert mean_square(8, 200, seed=0) < 1
