"""Uneven availability."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import Uneven
from f3ast_tff.errors import ParameterError


def test_q_is_inverse_to_the_share() -> None:
    """p = 0.1, 0.2, 0.3, 0.4: q = 0.1 / p = 1, 1/2, 1/3, 1/4."""
    np.testing.assert_allclose(
        Uneven(np.array([0.1, 0.2, 0.3, 0.4]), seed=0).q, [1, 1 / 2, 1 / 3, 1 / 4]
    )


def test_the_smallest_client_is_always_available() -> None:
    process = Uneven(np.array([0.6, 0.1, 0.3]), seed=0)
    assert all(process.mask(t)[1] for t in range(1, 300))


@pytest.mark.parametrize("share", [0.0, -0.1, float("nan")])
def test_share_that_has_no_inverse_is_refused(share: float) -> None:
    with pytest.raises(ParameterError, match=f"availability = uneven: .*above 0.* p_1 is {share}"):
        Uneven(np.array([0.5, share]), seed=0)
