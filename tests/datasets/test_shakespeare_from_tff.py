"""TFF's files read without TFF; equality with TFF itself is in test_equality_with_tff.py."""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.datasets import shakespeare as module
from f3ast_tff.datasets.characters import sequences
from f3ast_tff.datasets.shakespeare import shakespeare_from_tff
from f3ast_tff.datasets.tff_database import features_of
from tests.datasets.tff_files import (
    example,
    features,
    field,
    other_message,
    statement,
    write_database,
)

LONG = b"A snippet of more than 127 bytes, so that its length takes two bytes. " * 5
ROWS = [
    ("train", "Z", b"Hark!"),
    ("train", "A", b"When?"),
    ("train", "Z", LONG),
    ("test", "A", b"Never.\nNo."),
    ("test", "Z", b""),
]


@pytest.fixture(autouse=True)
def numbers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TFF_CLIENTS", "TFF_EXAMPLES"):
        monkeypatch.setattr(module, name, getattr(module, name))


def write(folder: Path, rows: list[tuple[str, str, bytes]] = ROWS) -> Path:
    """Writes the file, and adapts the expected numbers of clients and examples."""
    splits = [split for split, _, _ in rows]
    module.TFF_CLIENTS = len({who for _, who, _ in rows})
    module.TFF_EXAMPLES = {split: splits.count(split) for split in ("train", "test")}
    path = folder / "shakespeare.sqlite"
    write_database(path, [(split, who, example("snippets", text)) for split, who, text in rows])
    return path


def assert_rows(data_dir: Path) -> None:
    """Clients are in the order of their names; a client's snippets in the order of the file."""
    data = shakespeare_from_tff(data_dir)
    assert data.num_classes == 90
    for part, snippets in (
        (data.train, [[b"When?"], [b"Hark!", LONG]]),
        (data.test, [[b"Never.\nNo."], [b""]]),
    ):
        assert part.num_clients == 2
        for k, client in enumerate(snippets):
            for found, wanted in zip(part.client(k), sequences(client)):
                np.testing.assert_array_equal(found, wanted)


def test_snippets_become_sequences(tmp_path: Path) -> None:
    write(tmp_path)
    assert_rows(tmp_path)
    assert_rows(tmp_path)


def test_tffs_own_folder(tmp_path: Path, home: Path) -> None:
    write(home / ".tff")
    assert_rows(tmp_path / "data")


def test_the_compressed_file(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.with_name(f"{path.name}.lzma").write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()
    assert_rows(tmp_path)


def test_128_sequences_at_most_for_training(tmp_path: Path) -> None:
    rows = [(split, "A", b"One.") for split in 150 * ["train"] + 140 * ["test"]]
    write(tmp_path, rows)
    data = shakespeare_from_tff(tmp_path)
    assert (data.train.sizes.tolist(), data.test.sizes.tolist()) == ([128], [140])


@pytest.mark.parametrize("content", [b"no such thing", lzma.compress(bytes(9999))[:-50]])
def test_not_compressed_as_its_name_says(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "shakespeare.sqlite.lzma").write_bytes(content)
    with pytest.raises(DataError, match=f"cannot decompress {tmp_path}/shakespeare.sqlite.lzma"):
        shakespeare_from_tff(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["shakespeare.sqlite.lzma"]


UPDATE = "UPDATE examples SET serialized_example_proto = "
EDITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda path: path.write_bytes(b""), "no such table"),
    "not a database": (lambda path: path.write_bytes(b"nothing of the kind" * 99), "not a data"),
    "truncated": (lambda path: os.truncate(path, 5000), "damaged"),
    "another feature": (other_message(example("pixels", b"1")), "has 0 snippets, not one"),
    "a cut message": (other_message(example("snippets", b"Hark!")[:-3]), "damaged tf.train"),
    "an empty message": (other_message(b""), "has 0 snippets, not one"),
    "no message": (statement(f"{UPDATE}NULL"), "not a client's name and a message"),
    "a number": (statement(f"{UPDATE}6000000000"), "not a client's name and a message"),
    "no test part": (statement("DELETE FROM examples WHERE rowid > 3"), "it has no test examples"),
    "a client of one part": (statement("DELETE FROM examples WHERE rowid = 5"), "Z has examples"),
    "an example less": (
        statement("DELETE FROM examples WHERE rowid = 3"),
        "2 clients with {'train': 2, 'test': 2} examples",
    ),
}


@pytest.mark.parametrize(("edit", "message"), EDITS.values(), ids=EDITS)
def test_damaged_files_are_named(
    tmp_path: Path, edit: Callable[[Path], object], message: str
) -> None:
    path = write(tmp_path)
    edit(path)
    with pytest.raises(DataError, match=message) as raised:
        shakespeare_from_tff(tmp_path)
    assert str(path) in str(raised.value)


def test_a_compressed_file_takes_no_more_than_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("f3ast_tff.datasets.tff_database._MAX_DATABASE_BYTES", 2**20)
    path = tmp_path / "shakespeare.sqlite.lzma"
    path.write_bytes(lzma.compress(bytes(2**21), lzma.FORMAT_ALONE))
    with pytest.raises(DataError, match="holds more than 1048576 bytes"):
        shakespeare_from_tff(tmp_path)
    # The header declares a dictionary of 4 GiB.
    path.write_bytes(path.read_bytes()[:1] + b"\xff\xff\xff\xff" + path.read_bytes()[5:])
    with pytest.raises(DataError, match="cannot decompress .*[Mm]emory"):
        shakespeare_from_tff(tmp_path)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


# `SerializeToString(deterministic=True)` of TensorFlow 2.14 for the Example with image = [0, 127,
# 128, 255, 300000, -1], none = [] (integers), text = [b"abc"] and x = [1.5].
FROM_TENSORFLOW = bytes.fromhex(
    "0a4e0a200a05696d61676512171a150a13007f8001ff01e0a712ffffffffffffffffff010a0a0a046e6f6e6512021a"
    "000a0f0a047465787412070a050a036162630a0d0a0178120812060a040000c03f"
)


def test_what_tensorflow_wrote() -> None:
    found = features_of(FROM_TENSORFLOW)
    assert set(found) == {"image", "none", "text"}
    image, none = np.asarray(found["image"]), np.asarray(found["none"])
    assert image.tolist() == [0, 127, 128, 255, 300000, -1] and image.dtype == np.int64
    assert none.tolist() == [] and none.dtype == np.int64
    assert found["text"] == [b"abc"]


def test_values_that_are_not_packed() -> None:
    """Each value has its own tag, as version 2 of protocol buffers wrote them: 5 and 300."""
    message = features({"a": field(3, b"\x08\x05\x08\xac\x02")})
    assert list(features_of(message)["a"]) == [5, 300]


@pytest.mark.parametrize("cut", [1, 3, 10, 20, 30, len(FROM_TENSORFLOW) - 1])
def test_a_message_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="damaged tf.train.Example"):
        features_of(FROM_TENSORFLOW[:cut])


@pytest.mark.parametrize(
    "message",
    [b"\x0b", b"\xff" * 11, b"\x0a\x08\x0a\x06\x12\x04\x1a\x02\x0a\xff"],
    ids=["wire type", "endless tag", "endless length"],
)
def test_damaged_messages_are_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="damaged tf.train.Example"):
        features_of(message)


@pytest.mark.parametrize("raw", [b"\x80", b"\x01\xff", b"\x80" * 10 + b"\x01"])
def test_damaged_lists_are_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="damaged tf.train.Example"):
        features_of(features({"a": field(3, field(1, raw))}))
