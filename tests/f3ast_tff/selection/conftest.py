"""Shared by the tests of selection strategies."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.selection import Losses


@pytest.fixture
def no_losses() -> Losses:
    """For strategies that ask nobody: fails if they do."""

    def refuse(ids: np.ndarray) -> np.ndarray:
        raise AssertionError(f"asked clients {ids} for their losses")

    return refuse
