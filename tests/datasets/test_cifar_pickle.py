"""CIFAR's pickles from Python 2 and 3, and pickles that try to do more."""

from __future__ import annotations

import os
import pickle
import pickletools
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.datasets.cifar_pickle import load_batch
from tests.datasets.tiny_files import images, python2_pickle


def test_a_pickle_of_python_2() -> None:
    pixels, labels = images(7, 10, seed=0)
    content = python2_pickle(pixels, {"labels": labels})
    names = {argument for opcode, argument, _ in pickletools.genops(content)}
    assert {"numpy.core.multiarray _reconstruct", "numpy ndarray", "numpy dtype"} < names
    found = load_batch(content)
    np.testing.assert_array_equal(found["data"], pixels.transpose(0, 3, 1, 2).reshape(7, 3072))
    assert found["data"].dtype == np.uint8
    assert found["labels"] == labels.tolist()


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_pickle_of_python_3(protocol: int) -> None:
    data = np.arange(6, dtype=np.uint8).reshape(2, 3) + 200
    found = load_batch(pickle.dumps({b"data": data, "labels": [1, 2]}, protocol))
    np.testing.assert_array_equal(found["data"], data)
    assert found["labels"] == [1, 2]


class Runs:
    """An object that runs a command if it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_runs_a_command_is_refused(tmp_path: Path, protocol: int) -> None:
    proof = tmp_path / "it-ran"
    content = pickle.dumps({"data": Runs(os.system, f"touch {proof}")}, protocol)
    # Protocol 0 writes dictionaries with an opcode that CIFAR files lack.
    why = "it has the opcode" if protocol == 0 else "it asks for posix.system"
    with pytest.raises(ValueError, match=why):
        load_batch(content)
    assert not proof.exists()
    pickle.loads(content)
    assert proof.exists(), "the pickle is harmless: the test shows nothing"


def test_encodings_other_than_latin1_are_refused() -> None:
    content = b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13tR."
    assert pickle.loads(content) == "n"
    with pytest.raises(ValueError, match="encoding 'rot13'"):
        load_batch(content)


def test_damaged_pickles_are_value_errors() -> None:
    """A cut pickle gives a value error; a changed byte gives a value error or a dictionary."""
    pixels, labels = images(1, 10, seed=0)
    content = python2_pickle(pixels, {"labels": labels})
    for cut in (0, 1, 2, 10, 100, 1000, len(content) - 1):
        with pytest.raises(ValueError, match="cannot be unpickled"):
            load_batch(content[:cut])
    header = content.index(b"tb\x89T")
    for place in (*range(header), *range(len(content) - 20, len(content))):
        for change in (1, 128):
            changed = bytearray(content)
            changed[place] ^= change
            try:
                load_batch(bytes(changed))
            except ValueError as error:
                assert "it " in str(error)


def string(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def wide_dtype(name: bytes) -> bytes:
    return b"cnumpy\ndtype\n" + string(name) + b"K\x00K\x01\x87R"


def state(itemsize: int) -> bytes:
    return b"(K\x03U\x01|NNNJ" + struct.pack("<i", itemsize) + b"J\x01\x00\x00\x00K\x00tb"


ONE_ITEM = b"cnumpy\nndarray\nK\x01\x85h\x01\x86R"
ATTACKS: dict[str, tuple[bytes, str]] = {
    # NumPy's own unpickling takes this: an array over 16 MiB of a buffer of 8 bytes.
    "an array laid beyond its buffer": (
        wide_dtype(b"V8") + b"q\x01" + string(b"a") + ONE_ITEM + string(b"b") + b"h\x01",
        "not 8-bit pixels",
    ),
    "a dtype's item size": (wide_dtype(b"V8") + state(1 << 24), "not 8-bit pixels"),
    "the size of uint8": (wide_dtype(b"u1") + state(1 << 24), "not 8-bit pixels"),
    "a new array": (wide_dtype(b"u1") + b"q\x01" + string(b"a") + ONE_ITEM, "it calls something"),
    "a function's defaults": (
        b"cnumpy\ndtype\nN}X\x0c\x00\x00\x00__defaults__K\x07K\x09\x86s\x86b",
        "it changes something else",
    ),
    "a type's attributes": (
        b"cnumpy\nndarray\nN}X\x05\x00\x00\x00shapeNs\x86b",
        "it changes something else",
    ),
    "a string of 2 GiB": (b"T\xff\xff\xff\x7fabc", "only 5 remain"),
    "a string of negative length": (b"T\xff\xff\xff\xffabc", "byte count < 0"),
    "endless opcodes": (b"]" * 20_000, "too many opcodes"),
    "a key that cannot be hashed": (b"]]s", "does not support item assignment"),
}


@pytest.mark.parametrize(("value", "why"), ATTACKS.values(), ids=ATTACKS)
def test_no_array_or_function_is_within_reach(value: bytes, why: str) -> None:
    content = b"\x80\x02}(" + string(b"x") + value + b"u."
    with pytest.raises(ValueError, match=why) as raised:
        load_batch(content)
    assert "\n" not in str(raised.value)


def test_a_memo_takes_no_memory_for_its_gaps() -> None:
    """Python's unpickler makes room for all places below the largest."""
    with pytest.raises(ValueError, match="its memo has gaps"):
        load_batch(b"\x80\x02}U\x01xNr\xff\xff\xff\xffs.")
    assert load_batch(b"\x80\x02}U\x01xNr\x03\0\0\0s.") == {"x": None}


def an_array(shape: bytes, raw: bytes, version: bytes = b"K\x01", order: bytes = b"\x89") -> bytes:
    made = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R("
    uint8 = wide_dtype(b"u1")
    built = b"T" + struct.pack("<i", len(raw)) + raw + b"tb"
    return b"\x80\x02}(U\x04data" + made + version + shape + uint8 + order + built + b"u."


def test_an_arrays_state_must_fit_its_bytes() -> None:
    assert load_batch(an_array(b"K\x02K\x03\x86", b"abcdef"))["data"].tolist() == [
        [97, 98, 99],
        [100, 101, 102],
    ]
    for shape in (b"K\x02K\x04\x86", b"J\xff\xff\xff\xffJ\xfa\xff\xff\xff\x86", b"N", b"K\x06"):
        with pytest.raises(ValueError, match="its array"):
            load_batch(an_array(shape, b"abcdef"))
    for kwargs in ({"version": b"K\x02"}, {"order": b"\x88"}):
        with pytest.raises(ValueError, match="another form"):
            load_batch(an_array(b"K\x02K\x03\x86", b"abcdef", **kwargs))


ONCE = an_array(b"K\x06\x85", b"abcdef")
REFUSED: dict[str, tuple[bytes, str]] = {
    # Only arrays are built.
    **{
        name: (pickle.dumps({"data": wanted}, 2), "it asks for")
        for name, wanted in {
            "eval": Runs(eval, "1 + 1"),
            "getattr": Runs(getattr, "", "upper"),
            "np.load": Runs(np.load, "file"),
            "open": Runs(open, "file"),
            "scalar": np.float64(1),
            "set": {1}.__class__,
        }.items()
    },
    "a list": (pickle.dumps([1, 2]), "does not hold a dictionary"),
    # No key takes for ever to hash: a tuple in a tuple in a tuple, or one that holds the one
    # before twice, 50 times.
    "deep": (b"\x80\x02})" + b"\x85" * 5000 + b"Ns.", "it has too many tuples"),
    "twice": (
        b"\x80\x02})" + b"".join(b"q%ch%c\x86" % (i, i) for i in range(50)) + b"Ns.",
        "it has too many tuples",
    ),
    "an array filled twice": (
        ONCE[:-2] + ONCE[ONCE.index(b"(K\x01") : -2] + b"u.",
        "something else than a new array",
    ),
}


@pytest.mark.parametrize(("content", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        load_batch(content)
