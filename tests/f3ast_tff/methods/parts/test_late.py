"""Weights of late updates, and which of them enter."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.parts.late import staleness_weight


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("constant", [1, 1, 1]), ("root", [1, 1 / 2, 1 / 3]), ("inverse", [1, 1 / 4, 1 / 9])],
)
def test_staleness_weights_by_hand(kind: str, expected: list[float]) -> None:
    """tau = 0, 3, 8: 1 + tau = 1, 4, 9."""
    np.testing.assert_allclose(staleness_weight(kind, np.array([0, 3, 8])), expected)
