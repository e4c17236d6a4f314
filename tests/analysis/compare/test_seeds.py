"""Seeds that show a difference, against the numbers of textbooks at a power of 80%."""

from __future__ import annotations

import pytest

from f3ast_tff.analysis.compare.seeds import seeds_needed


@pytest.mark.parametrize(
    ("difference", "spread", "paired", "number"),
    [
        (1.0, 1.0, True, 10),
        (-0.5, 1.0, True, 34),
        (0.5, 1.0, False, 64),
        (0.8, 1.0, False, 26),
        (1.0, 0.0, True, 3),
        (1e-9, 1.0, True, 10_000),
    ],
)
def test_numbers(difference: float, spread: float, paired: bool, number: int) -> None:
    assert seeds_needed(difference, spread, paired=paired) == number
