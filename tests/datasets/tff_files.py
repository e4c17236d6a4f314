"""Files in the form of `tff.simulation.datasets`, written without TensorFlow."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path


def example(feature: str, value: bytes) -> bytes:
    """A serialized `tf.train.Example` of one bytes feature.

    Features, the map's entry, Feature and BytesList are all field 1 of their parent. In an entry,
    the name is field 1 and the Feature is field 2.
    """
    bytes_list = _field(1, _field(1, value))
    entry = _field(1, feature.encode()) + _field(2, bytes_list)
    return _field(1, _field(1, entry))


def _field(number: int, content: bytes) -> bytes:
    length, size = len(content), b""
    while length > 127:
        size, length = size + bytes([length % 128 + 128]), length // 128
    return bytes([8 * number + 2]) + size + bytes([length]) + content


def write_database(path: Path, rows: Iterable[tuple[str, str, bytes]]) -> None:
    """Writes a database of (split, client, example) in TFF's form."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)"
        )
        database.execute(
            "CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER)"
        )
        counts: dict[tuple[str, str], int] = {}
        for split, client, message in rows:
            database.execute("INSERT INTO examples VALUES (?, ?, ?)", (split, client, message))
            counts[client, split] = counts.get((client, split), 0) + 1
        for (client, split), count in counts.items():
            values = (client, split, count)
            database.execute("INSERT INTO client_metadata VALUES (?, ?, ?)", values)


def other_message(message: bytes) -> Callable[[Path], object]:
    """Returns an edit that replaces the first example."""

    def edit(path: Path) -> None:
        with sqlite3.connect(path) as database:
            database.execute(
                "UPDATE examples SET serialized_example_proto = ? WHERE rowid = 1", (message,)
            )
        database.close()

    return edit


def statement(text: str) -> Callable[[Path], object]:
    """Returns an edit that executes a statement."""

    def edit(path: Path) -> None:
        with sqlite3.connect(path) as database:
            database.execute(text)
        database.close()

    return edit
