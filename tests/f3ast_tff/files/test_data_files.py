"""Files from others are read up to a limit, and as data only; pickles of plain values too."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.files.data_files import Limited, hash_of, read_bytes, read_json, read_text, read_toml
from f3ast_tff.files.plain_pickle import load_plain


def test_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(ValueError, match="it has 5 bytes, more than 4"):
        read_bytes(path, 4)
    os.truncate(path, 6 * 2**30)
    with pytest.raises(ValueError, match="it has 6442450944 bytes"):
        read_text(path)


def test_only_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        for read in (read_text, read_json, hash_of):
            with pytest.raises(ValueError, match="not a regular file"):
                read(path)
    with pytest.raises(IsADirectoryError):
        read_text(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "gone")


def test_texts_are_utf_8_without_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbf\xc3\xa9")
    assert read_text(path) == "é"
    path.write_bytes(b"\xe9")
    with pytest.raises(ValueError, match="utf-8"):
        read_text(path)


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (read_json, "[" * 200_000, "nested too deeply"),
        (read_json, '{"a":' * 200_000, "nested too deeply"),
        (read_json, '{"a": 1, "b": 2, "a": 3}', "it names 'a' twice"),
        (read_json, "{", "Expecting"),
        (read_json, "", "Expecting"),
        (read_toml, "a = " + "[" * 5000, "nested too deeply"),
        (read_toml, "a = " + "{a=" * 5000, "nested too deeply"),
        (read_toml, "a = 1\na = 2", "overwrite"),
        (read_toml, "a = " + "9" * 5000, "digits"),
        (read_toml, "#" * 2**21, "more than 1048576"),
        (read_toml, 'x = "' + '\\"' * 50_000, "(?i)unterminated|illegal|expected"),
    ],
)
def test_texts_that_are_refused(
    read: Callable[[Path], object], text: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(ValueError, match=why):
        read(tmp_path / "file")


def test_json(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"a": [1, {"b": 0.5}]}')
    assert read_json(tmp_path / "file") == {"a": [1, {"b": 0.5}]}


def test_hashes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = os.urandom(3 * 2**20 + 7)
    path.write_bytes(content)
    assert hash_of(path) == hashlib.sha256(content).hexdigest()
    assert hash_of(path, "md5", start=9) == hashlib.md5(content[9:]).hexdigest()


def test_a_limited_stream() -> None:
    assert Limited(io.BytesIO(b"12345"), 5).read() == b"12345"
    stream = Limited(io.BytesIO(b"12345"), 4)
    assert stream.read(3) == b"123"
    with pytest.raises(ValueError, match="it holds more than 4 bytes"):
        stream.read(3)


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
