"""Clients that join and leave: from a file, as a Poisson process, inside combinations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.availability import IndependentAvailability, Mix, Product, Stays
from f3ast_tff.availability.stays import FOREVER, StaysFileConfig, read_stays
from f3ast_tff.core.errors import DataError

FILE = "client,first,last\n2,3,5\n0,1,2\n3,4,\n"


def test_a_file_by_hand(tmp_path: Path) -> None:
    """Client 0: rounds 1-2; 1: not listed; 2: rounds 3-5; 3: from round 4 on."""
    path = tmp_path / "stays.csv"
    path.write_text(FILE)
    process = StaysFileConfig(1.0, 6, str(path)).build(np.full(4, 0.25), 0)
    assert np.array([process.mask(t) for t in range(1, 7)]).astype(int).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [0, 1, 1, 0],
        [0, 1, 1, 1],
        [0, 1, 1, 1],
        [0, 1, 0, 1],
    ]
    np.testing.assert_allclose(process.stationary, [2 / 6, 1, 3 / 6, 3 / 6])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("client,from,to\n", "line 1 must be client,first,last"),
        ("client,first,last\n0,1\n", r"line 2: \['0', '1'\] is not a client, a first"),
        ("client,first,last\nx,1,2\n", "line 2: .* is not a client"),
        ("client,first,last\n0,1,z\n", "line 2: last round 'z' is not a round"),
        ("client,first,last\n0,5,4\n", "line 2: rounds 5 to 4: must rise from 1 on"),
        ("client,first,last\n0,0,4\n", "line 2: rounds 0 to 4"),
        ("client,first,last\n4,1,2\n", "line 2: client 4 of 4"),
        ("client,first,last\n1,1,2\n1,4,5\n", "line 3: client 1 was there before"),
        ('client,first,last\n1,1,"2\n', "unexpected end of data"),
        ("", "line 1 must be"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "stays.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as raised:
        read_stays(path, 4)
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)
    with pytest.raises(DataError, match="gone.csv: there is no such file"):
        read_stays(tmp_path / "gone.csv", 4)


def test_combinations_are_present_where_their_parts_are() -> None:
    stays = Stays(np.array([1, 1, 3, 3]), np.array([2, FOREVER, 5, 2]), 0, 5)
    scarce = IndependentAvailability(np.full(4, 0.2), 0)
    product = Product([scarce, stays])
    mix = Mix([scarce, stays], np.array([0, 1, 1, 1]))
    for t in range(1, 7):
        there = stays.present(t)
        assert np.array_equal(product.present(t), there)
        assert np.array_equal(mix.present(t), there | np.array([True, False, False, False]))
        assert not (product.mask(t) & ~product.present(t)).any()
        assert not (mix.mask(t) & ~mix.present(t)).any()
