"""Values of tuned parameters, and the next one beyond an end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from f3ast_tff.advice.ladders import ends_of, next_value


@pytest.mark.parametrize(
    ("ladder", "end", "value"),
    [
        # .01 * .03 / .003, and .003 * .001 / .01.
        ([0.001, 0.003, 0.01, 0.03], 0.03, 0.1),
        ([0.001, 0.003, 0.01, 0.03], 0.001, 0.0003),
        ([30, 1, 10, 3], 30, 100),
        ([1, 3, 10], 1, 0.3),
        ([1, 2, 4], 4, 8),
        ([0.5, 1, 2], 2, 4),
        ([0, 0.1, 1], 1, None),
        ([-1, 1, 3], -1, None),
    ],
)
def test_the_next_value_goes_on_by_the_ladders_ratio(
    ladder: Sequence[float], end: float, value: float | None
) -> None:
    found = next_value(ladder, end)
    assert found == value
    assert value is None or isinstance(found, int) == (isinstance(end, int) and value >= 1)


@pytest.mark.parametrize(
    ("ladder", "ends"),
    [([3, 1, 2], (1, 3)), ([1, 2], ()), (["a", "b", "c"], ()), ([0.1, "mean", 1], ())],
)
def test_ends(ladder: Sequence[object], ends: tuple[object, ...]) -> None:
    assert ends_of(ladder) == ends
