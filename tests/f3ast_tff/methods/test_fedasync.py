"""FedAsync: shares of arriving models by their staleness, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.methods.fedasync import FedAsync
from tests.f3ast_tff.methods.test_fedbuff import FOUR, round_with


@pytest.mark.parametrize(
    ("given", "shares"),
    [
        ({"fedasync_weight": "constant"}, [0.6, 0.6, 0.6]),
        # 0.6 / sqrt(1 + tau), tau = 0, 1, 3.
        ({}, [0.6, 0.6 / np.sqrt(2), 0.3]),
        # 0.6 / (1 + tau), tau = 0, 1, 3.
        ({"fedasync_power": 1.0}, [0.6, 0.3, 0.15]),
        # 1 up to tau = 1, then 1 / (2 (3 - 1) + 1).
        (
            {"fedasync_weight": "hinge", "fedasync_hinge_a": 2.0, "fedasync_hinge_b": 1.0},
            [0.6, 0.6, 0.12],
        ),
    ],
    ids=str,
)
def test_shares_by_hand(given: dict[str, Any], shares: list[float]) -> None:
    """Steps in rounds 1, 2, 3, 4; a model of round 1 in round 4 is 3 steps old."""
    strategy = FedAsync(**given).build(FOUR)
    found = [round_with(t, [asked], strategy).weights for t, asked in ((1, 1), (2, 1), (3, 3))]
    np.testing.assert_allclose(
        np.concatenate([*found[:2], round_with(4, [1], strategy).weights]), shares
    )
    np.testing.assert_allclose(found[2], [0.6])
