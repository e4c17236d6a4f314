"""Masks of a round: checked, and not to be changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability.round_clients import available_clients, present_clients
from f3ast_tff.core.errors import ComponentError

N = 12


def test_nobody_may_change_who_is_available() -> None:
    """The process itself may keep its array, and change it."""
    kept = np.array([True, False])
    process = SimpleNamespace(mask=lambda round_number: kept)
    mask = available_clients(process, 2, 1)
    with pytest.raises(ValueError, match="read-only"):
        mask[1] = True
    kept[1] = True


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        (np.ones(N + 1, bool), rf"shape \({N + 1},\) and dtype bool"),
        (np.ones((1, N), bool), rf"shape \(1, {N}\) and dtype bool"),
        (np.ones(N), rf"shape \({N},\) and dtype float64"),
        ([True] * N, "returned list"),
    ],
)
def test_process_whose_mask_is_wrong_is_named(mask: Any, says: str) -> None:
    process = SimpleNamespace(mask=lambda round_number: mask)
    with pytest.raises(ComponentError, match=f"availability SimpleNamespace: mask.* {says}.*must"):
        available_clients(process, N, 1)


def test_process_whose_presence_is_wrong_is_named() -> None:
    class Wrong:
        def present(self, round_number: int) -> np.ndarray:
            return np.ones(2)

    with pytest.raises(ComponentError, match=r"Wrong: present\(4\) returned shape \(2,\)"):
        present_clients(Wrong(), 3, 4)
