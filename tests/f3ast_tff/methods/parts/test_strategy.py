"""Cohorts."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.parts.strategy import Cohort


def test_length_is_the_number_of_clients() -> None:
    assert len(Cohort(np.array([3, 1, 3]), np.ones(3))) == 3
    assert len(Cohort(np.zeros(0, np.int64), np.zeros(0))) == 0


@pytest.mark.parametrize(("ids", "weights"), [((3,), (2,)), ((3,), (3, 1)), ((3, 1), (3, 1))])
def test_ids_and_weights_of_other_shapes_are_refused(
    ids: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"must be \[m\]"):
        Cohort(np.zeros(ids, np.int64), np.zeros(weights))


def test_a_list_is_named() -> None:
    with pytest.raises(ValueError, match=r"weights must be an array \[m\], not list"):
        Cohort(np.arange(2), [0.5, 0.5])  # type: ignore[arg-type]
