"""TFF's file read without TFF; equality with TFF itself is in test_equality_with_tff.py."""

from __future__ import annotations

import importlib
import lzma
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.datasets.characters import sequences
from f3ast_tff.datasets.shakespeare_from_tff import shakespeare_from_tff
from f3ast_tff.errors import DataError
from tests.datasets.tff_files import example, write_database

LONG = b"A snippet of more than 127 bytes, so that its length takes two bytes. " * 5
ROWS = [
    ("train", "Z", b"Hark!"),
    ("train", "A", b"When?"),
    ("train", "Z", LONG),
    ("test", "A", b"Never.\nNo."),
    ("test", "Z", b""),
]


module = importlib.import_module("f3ast_tff.datasets.shakespeare_from_tff")


@pytest.fixture(autouse=True)
def numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUM_CLIENTS", "NUM_EXAMPLES"):
        monkeypatch.setattr(module, name, getattr(module, name))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without TFF's files."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(folder: Path, rows: list[tuple[str, str, bytes]] = ROWS) -> Path:
    """Writes the file and makes its numbers of clients and examples the right ones."""
    splits = [split for split, _, _ in rows]
    module.NUM_CLIENTS = len({who for _, who, _ in rows})
    module.NUM_EXAMPLES = {split: splits.count(split) for split in ("train", "test")}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "shakespeare.sqlite"
    write_database(path, [(split, who, example("snippets", text)) for split, who, text in rows])
    return path


def assert_rows(data_dir: Path) -> None:
    """Clients by name; a client's snippets in the order of the file."""
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


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        shakespeare_from_tff(tmp_path)
    for part in (str(tmp_path), "shakespeare.sqlite.lzma", "https://storage.googleapis.com/"):
        assert part in str(raised.value)


def test_not_compressed_as_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "shakespeare.sqlite.lzma").write_bytes(b"no such thing")
    with pytest.raises(DataError, match=f"cannot decompress {tmp_path}/shakespeare.sqlite.lzma"):
        shakespeare_from_tff(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["shakespeare.sqlite.lzma"]


def test_compressed_and_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.with_name(f"{path.name}.lzma").write_bytes(lzma.compress(path.read_bytes())[:-50])
    path.unlink()
    with pytest.raises(DataError, match="cannot decompress"):
        shakespeare_from_tff(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to look at" * 40])
def test_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "shakespeare.sqlite").write_bytes(content)
    with pytest.raises(DataError, match="shakespeare.sqlite is damaged or is not TFF's"):
        shakespeare_from_tff(tmp_path)


def test_truncated_database(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match="shakespeare.sqlite is damaged or is not TFF's"):
        shakespeare_from_tff(tmp_path)


@pytest.mark.parametrize(
    "message, why",
    [
        (example("pixels", b"1"), "has 0 snippets, not one"),
        (example("snippets", b"Hark!")[:-3], "damaged"),
        (b"\xff\xff\xff", "damaged"),
        (b"", "has 0 snippets, not one"),
    ],
)
def test_examples_of_something_else(tmp_path: Path, message: bytes, why: str) -> None:
    write_database(tmp_path / "shakespeare.sqlite", [("train", "A", message)])
    with pytest.raises(DataError, match=why) as raised:
        shakespeare_from_tff(tmp_path)
    assert str(tmp_path / "shakespeare.sqlite") in str(raised.value)


def test_an_example_that_is_no_bytes(tmp_path: Path) -> None:
    path = write(tmp_path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE examples SET serialized_example_proto = NULL")
    database.close()
    with pytest.raises(DataError, match="damaged"):
        shakespeare_from_tff(tmp_path)


def test_a_split_is_missing(tmp_path: Path) -> None:
    write(tmp_path, ROWS[:3])
    with pytest.raises(DataError, match="it has no test examples"):
        shakespeare_from_tff(tmp_path)


def test_a_client_is_in_one_split_only(tmp_path: Path) -> None:
    write(tmp_path, ROWS[:-1])
    with pytest.raises(DataError, match="Z has examples in one split only"):
        shakespeare_from_tff(tmp_path)


def test_missing_examples_are_noticed(tmp_path: Path) -> None:
    path = write(tmp_path)
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM examples WHERE rowid = 3")
    database.close()
    with pytest.raises(DataError, match="2 clients with {'train': 2, 'test': 2} examples"):
        shakespeare_from_tff(tmp_path)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'train' AS"
SCHEMAS = {
    "an endless view": f"CREATE VIEW examples AS {ENDLESS} split_name, 'A' AS client_id, "
    "zeroblob(9) AS serialized_example_proto, i AS rowid FROM n",
    "a computed column": "CREATE TABLE examples (split_name TEXT, client_id TEXT, "
    "serialized_example_proto AS (zeroblob(1000000000)))",
    "a virtual table": "CREATE VIRTUAL TABLE examples USING fts5(split_name, client_id, "
    "serialized_example_proto)",
}


def test_a_number_is_no_message(tmp_path: Path) -> None:
    """`bytes` of it would be as many zeros."""
    path = write(tmp_path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE examples SET serialized_example_proto = 6000000000")
    database.close()
    with pytest.raises(DataError, match="not a client's name and a message"):
        shakespeare_from_tff(tmp_path)


def test_a_compressed_file_takes_no_more_than_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("f3ast_tff.datasets.tff_database._MOST_DATABASE_BYTES", 2**20)
    path = tmp_path / "shakespeare.sqlite.lzma"
    path.write_bytes(lzma.compress(bytes(2**21), lzma.FORMAT_ALONE))
    with pytest.raises(DataError, match="holds more than 1048576 bytes"):
        shakespeare_from_tff(tmp_path)
    # A dictionary of 4 GiB, declared in the header.
    path.write_bytes(path.read_bytes()[:1] + b"\xff\xff\xff\xff" + path.read_bytes()[5:])
    with pytest.raises(DataError, match="cannot decompress .*[Mm]emory"):
        shakespeare_from_tff(tmp_path)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
