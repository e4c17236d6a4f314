"""Names of clients, whichever program wrote them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.client_names import client_name, client_names, listed, numbers_if_all


@pytest.mark.parametrize(
    ("value", "name"),
    [
        *((value, "2") for value in (2, 2.0, np.float32(2), np.int64(2), "2", "2.0", " 2.00 ")),
        *((text, text) for text in ("02", "02.0", "2.5", "1.10", "ann", "2.0.0", "nan")),
        (356938035643809.0, "356938035643809"),
        (1e16, "10000000000000000"),
        ("-3.0", "-3"),
    ],
)
def test_one_client_has_one_name(value: Any, name: str) -> None:
    assert client_name(value) == name and client_names([value, value]) == [name, name]


def test_names_are_numbers_if_all_are() -> None:
    assert numbers_if_all(["10", "9"]).dtype == np.int64
    for names in (["10", "09"], ["10", "a"], ["1" * 19]):
        assert numbers_if_all(names).tolist() == names


def test_a_message_shows_a_few_names() -> None:
    assert listed(["a", 1]) == "a, 1"
    assert listed(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert len(listed(["x" * 10**6] * 10**5)) < 500
