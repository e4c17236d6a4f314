"""Communication constraints."""

from __future__ import annotations

from availability import FixedK


def test_fixed_k_is_the_same_every_round() -> None:
    assert {FixedK(12).k(t) for t in range(1, 50)} == {12}
