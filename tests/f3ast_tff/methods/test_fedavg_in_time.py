"""FedAvg in time: late updates that enter, and those dropped."""

from __future__ import annotations

import numpy as np

from f3ast_tff.methods import Round, RoundConstraint
from tests.f3ast_tff.methods.small_world import N, config, small_world


def test_updates_enter_up_to_their_rounds() -> None:
    """Round 9, at most two rounds late: those of rounds 9 and 7 enter, that of 6 is dropped."""
    strategy = config("fedavg_in_time", in_time_rounds=2).build(small_world())
    now = Round(9, np.ones(N, bool), RoundConstraint(3))
    found = strategy.admit(now, np.array([9, 7, 6]))
    assert found.enters.tolist() == [True, True, False]
    assert found.dropped.tolist() == [False, False, True]
