"""Files in the form of `tff.simulation.datasets`, written without TensorFlow."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np


def example(name: str, value: bytes) -> bytes:
    """A serialized `tf.train.Example` of one feature of bytes."""
    return features({name: field(1, field(1, value))})


def image_example(image: np.ndarray, label: int, coarse_label: int) -> bytes:
    """A serialized `tf.train.Example` of integers, in packed lists as TensorFlow writes them."""
    values = {"coarse_label": [coarse_label], "image": image.ravel().tolist(), "label": [label]}
    return features({n: field(3, field(1, b"".join(map(varint, v)))) for n, v in values.items()})


def features(values: dict[str, bytes]) -> bytes:
    """A serialized `tf.train.Example` of serialized features.

    The features are field 1 of the Example, each entry is field 1 of them. In an entry, the name is
    field 1 and the feature field 2.
    """
    entries = (field(1, field(1, n.encode()) + field(2, value)) for n, value in values.items())
    return field(1, b"".join(entries))


def field(number: int, content: bytes) -> bytes:
    """A field of bytes: its tag, the length and the content."""
    return bytes([number << 3 | 2]) + varint(len(content)) + content


@cache
def varint(value: int) -> bytes:
    """An integer, 7 bits per byte, the lowest first."""
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def write_database(path: Path, rows: Iterable[tuple[str, str, bytes]]) -> None:
    """Writes a database of (split, client, example) in TFF's form."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)"
        )
        database.execute(
            "CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER)"
        )
        database.executemany("INSERT INTO examples VALUES (?, ?, ?)", rows)
        database.execute(
            "INSERT INTO client_metadata SELECT client_id, split_name, COUNT(*) FROM examples "
            "GROUP BY client_id, split_name"
        )


def statement(text: str, *values: bytes) -> Callable[[Path], None]:
    """Returns an edit that executes a statement."""

    def edit(path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute(text, values)

    return edit


def other_message(message: bytes) -> Callable[[Path], None]:
    """Returns an edit that replaces the first example."""
    return statement("UPDATE examples SET serialized_example_proto = ? WHERE rowid = 1", message)
