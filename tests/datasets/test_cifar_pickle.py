"""CIFAR's pickles, of both Pythons, and pickles that ask for more."""

from __future__ import annotations

import os
import pickle
import pickletools
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
    """Unpickled, it runs a command."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_runs_a_command_is_refused(tmp_path: Path, protocol: int) -> None:
    proof = tmp_path / "it-ran"
    content = pickle.dumps({"data": Runs(os.system, f"touch {proof}")}, protocol)
    with pytest.raises(ValueError, match=r"it asks for posix.system"):
        load_batch(content)
    assert not proof.exists()
    pickle.loads(content)
    assert proof.exists(), "the pickle is harmless: the test shows nothing"


@pytest.mark.parametrize(
    "wanted",
    [
        Runs(eval, "1 + 1"),
        Runs(getattr, "", "upper"),
        Runs(np.load, "file"),
        Runs(open, "file"),
        np.float64(1),
        {1}.__class__,
    ],
    ids=["eval", "getattr", "np.load", "open", "scalar", "set"],
)
def test_only_arrays_are_built(wanted: Any) -> None:
    with pytest.raises(ValueError, match="it asks for"):
        load_batch(pickle.dumps({"data": wanted}, 2))


def test_encodings_other_than_latin1_are_refused() -> None:
    content = b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13tR."
    assert pickle.loads(content) == "n"
    with pytest.raises(ValueError, match="encoding rot13"):
        load_batch(content)


def test_damaged_pickles_are_value_errors() -> None:
    """Cut anywhere, and with any byte changed: an error or a dictionary, never anything else."""
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


def test_a_pickle_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="does not hold a dictionary"):
        load_batch(pickle.dumps([1, 2]))
