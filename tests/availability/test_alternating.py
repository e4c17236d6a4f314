"""Two groups that take turns."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import Alternating
from f3ast_tff.errors import ParameterError


def test_turns_by_hand() -> None:
    """E = 2, ratio 1.5: two rounds of the first half, three of the second, and again."""
    process = Alternating(5, period=2, ratio=1.5)
    first, second = [True, True, True, False, False], [False, False, False, True, True]
    assert [process.mask(t).tolist() for t in range(1, 9)] == (
        [first] * 2 + [second] * 3 + [first] * 2 + [second]
    )
    np.testing.assert_allclose(process.stationary, [0.4, 0.4, 0.4, 0.6, 0.6])


def test_given_groups() -> None:
    process = Alternating(3, period=1, group=np.array([1, 0, 1]))
    assert process.mask(1).tolist() == [False, True, False]
    assert process.mask(2).tolist() == [True, False, True]


def test_a_changed_mask_changes_no_other() -> None:
    process = Alternating(4, period=1)
    for t in (1, 2):
        process.mask(t)[:] = False
        assert process.mask(t).sum() == 2


@pytest.mark.parametrize(
    ("setting", "changed"),
    [
        ("alternating_period", {"period": 0}),
        ("alternating_ratio", {"ratio": 0.04}),
        ("alternating_ratio", {"ratio": -1.0}),
        ("alternating_ratio", {"ratio": float("nan")}),
        ("alternating_ratio", {"ratio": float("inf")}),
    ],
)
def test_a_group_without_a_round_is_refused(setting: str, changed: dict) -> None:
    with pytest.raises(
        ParameterError, match=f"^{setting} = {next(iter(changed.values()))}: must be"
    ):
        Alternating(4, **changed)


@pytest.mark.parametrize("group", [[0, 1], [0, 1, 2, 0]])
def test_groups_that_do_not_fit_are_refused(group: list[int]) -> None:
    with pytest.raises(ValueError, match="4 zeros and ones"):
        Alternating(4, group=np.array(group))
