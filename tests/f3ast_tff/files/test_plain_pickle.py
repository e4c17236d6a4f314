"""Pickles of plain values, read as data."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from f3ast_tff.files.plain_pickle import load_plain

PLAIN: Any = {
    1: {"a": [0, 255, 65_535, -1, 2**31 - 1, 2**40, -(2**40), 1.5], b"b": ()},
    "x": [None, True, False, (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), "ü" * 300, b"c" * 300],
}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_values(protocol: int) -> None:
    # Protocol 2 writes bytes as a call.
    value = {1: PLAIN[1]["a"], "y": PLAIN["x"][:-1]} if protocol == 2 else PLAIN
    found = load_plain(pickle.dumps(value, protocol), 1000)
    assert found == value
    assert [type(each) for each in found[1]] == [type(each) for each in value[1]]


def test_one_list_under_two_names_is_one_list() -> None:
    shared = [1, 2]
    found = load_plain(pickle.dumps({"a": shared, "b": shared}), 1000)
    assert found["a"] is found["b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({1, 2}), "it has the opcode"),
        (pickle.dumps(print), "it has the opcode"),
        (pickle.dumps([1] * 2000), "too many opcodes"),
        (pickle.dumps(PLAIN)[:-5], "it cannot be unpickled"),
        (b"\x80\x04h\x05.", "Memo value not found at index 5"),
        (b"\x80\x04K\x01a.", "it cannot be unpickled"),
        (b"\x80\x04N(K\x01u.", "odd number of items"),
        (b"", "exhausted before seeing STOP"),
    ],
)
def test_all_else_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_plain(content, 1000)
