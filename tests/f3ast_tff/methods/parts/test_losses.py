"""Loss estimates: eq. (17), running and known minima, Gamma'."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.parts.loss_estimates import LossEstimates


def report(estimates: LossEstimates, ids: list[int], losses: list[float]) -> LossEstimates:
    return estimates.after(np.array(ids), np.array(losses))


def test_nothing_reported() -> None:
    for minima in (None, np.array([0.5, 0.2])):
        estimates = LossEstimates(2, minima=minima)
        assert estimates.gap.tolist() == [0, 0]
        assert estimates.heterogeneity == 0


def test_first_reports_stand_for_everybody() -> None:
    """Clients 0 and 2 report 1 and 4; client 1 gets their mean, later eq. (17) with beta 1/4."""
    estimates = LossEstimates(3, beta=0.25)
    estimates = report(estimates, [2, 0], [4.0, 1.0])
    assert estimates.values.tolist() == [1, 2.5, 4]
    estimates = report(estimates, [1, 2], [0.5, 8.0])
    np.testing.assert_allclose(estimates.values, [1, 0.75 * 2.5 + 0.25 * 0.5, 0.75 * 4 + 2])


def test_minima_are_of_the_smoothed_losses() -> None:
    """beta 1/2, reports 4, 2, 6, 0: estimates 4, 3, 4.5, 2.25; minima 4, 3, 3, 2.25."""
    estimates = LossEstimates(1, beta=0.5)
    gaps = []
    for loss in (4.0, 2.0, 6.0, 0.0):
        estimates = report(estimates, [0], [loss])
        gaps.append(float(estimates.gap[0]))
    assert gaps == [0, 0, 1.5, 0]
    assert estimates.minima.tolist() == [2.25]


def test_known_minima_stay() -> None:
    estimates = LossEstimates(2, minima=np.array([0.5, 2.0]))
    estimates = report(estimates, [0, 1], [3.0, 1.0])
    assert estimates.minima.tolist() == [0.5, 2]
    assert estimates.gap.tolist() == [2.5, -1]
    assert estimates.heterogeneity == 2.5
    estimates = report(estimates, [0], [0.1])
    assert estimates.heterogeneity == 0


def test_a_loss_that_is_not_finite_is_no_report() -> None:
    estimates = LossEstimates(3)
    estimates = report(estimates, [0, 1], [np.nan, np.inf])
    assert estimates.gap.tolist() == [0, 0, 0]
    estimates = report(estimates, [0, 1], [np.nan, 2.0])
    assert estimates.values.tolist() == [2, 2, 2]
    estimates = report(estimates, [1], [np.inf])
    assert estimates.values.tolist() == [2, 2, 2]


def test_a_state_of_other_clients_is_refused() -> None:
    with pytest.raises(ValueError, match="saved losses lack minima, started, values"):
        LossEstimates(2).restore({})
    with pytest.raises(ValueError, match="saved values has shape"):
        LossEstimates(2).restore(LossEstimates(3).state())
