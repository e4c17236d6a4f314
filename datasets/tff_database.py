"""The SQLite files of `tff.simulation.datasets`, read without TFF."""

from __future__ import annotations

import contextlib
import lzma
import sqlite3
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np

from f3ast_tff.core.errors import DataError
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import hash_of, open_regular
from f3ast_tff.files.progress import progress

from .source import Download, SourceFile, locate


def features_of(message: bytes) -> dict[str, np.ndarray | list[bytes]]:
    """Returns the features of an Example by name, except floating-point features.

    Args:
        message: A serialized `tf.train.Example`.

    Returns:
        `int64 [number of values]`, or a list of bytes, for each name.

    Raises:
        ValueError: If the message is damaged.
    """
    from google.protobuf.message import DecodeError

    try:
        example = _example_class().FromString(message)
    except DecodeError as error:
        raise ValueError(f"damaged tf.train.Example: {error}") from error
    found: dict[str, np.ndarray | list[bytes]] = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "int64_list":
            values = feature.int64_list.value
            found[name] = np.fromiter(values, np.int64, len(values))
        elif kind == "bytes_list":
            found[name] = list(feature.bytes_list.value)
    return found


@lru_cache(maxsize=1)
def _example_class() -> Any:
    """The class of messages that TensorFlow's example.proto and feature.proto declare."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="example.proto", package="tensorflow", syntax="proto3"
    )
    pool = descriptor_pool.DescriptorPool()

    def add(owner: Any, name: str, number: int, kind: Any, repeated: bool = False) -> Any:
        label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
        of_message = {"type": field.TYPE_MESSAGE, "type_name": f".tensorflow.{kind}"}
        of = of_message if isinstance(kind, str) else {"type": kind}
        return owner.field.add(name=name, number=number, label=label, **of)

    kinds = {
        "BytesList": field.TYPE_BYTES,
        "FloatList": field.TYPE_FLOAT,
        "Int64List": field.TYPE_INT64,
    }
    for name, kind in kinds.items():
        add(file.message_type.add(name=name), "value", 1, kind, repeated=True)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (name, list_kind) in enumerate(
        (("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")), 1
    ):
        add(feature, name, number, list_kind).oneof_index = 0
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    add(entry, "key", 1, field.TYPE_STRING)
    add(entry, "value", 2, "Feature")
    add(features, "feature", 1, "Features.FeatureEntry", repeated=True)
    add(file.message_type.add(name="Example"), "features", 1, "Features")

    pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindMessageTypeByName("tensorflow.Example")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


_ORIGIN = "https://storage.googleapis.com/tff-datasets-public/"
_CHUNK = 2**20
# Ten times the largest of TFF's files used here.
_MAX_DATABASE_BYTES = 2**32
_MAX_LZMA_MEMORY = 2**28
_MAX_EXAMPLE_BYTES = 2**20
_Row = TypeVar("_Row")


def database_source(name: str) -> SourceFile:
    """Returns the places of one of TFF's files, `NAME.sqlite`; see `find_database`."""
    compressed = f"{name}.lzma"
    in_home = str(Path.home() / ".tff" / name)
    return SourceFile((name, in_home, compressed), Download(_ORIGIN + compressed))


def find_database(data_dir: Path, name: str) -> Path:
    """Returns the path of one of TFF's files, decompressed into `data_dir` if necessary.

    Args:
        data_dir: The data folder.
        name: `NAME.sqlite`. It is searched in `data_dir`, then in `.tff` in the home folder, where
            TFF puts it, then as `NAME.sqlite.lzma` in `data_dir`.

    Raises:
        DataError: If the file is missing or cannot be decompressed; names the file and the place.
            A missing file is not fetched, because its checksum is not published.
    """
    found = locate(data_dir, database_source(name))
    return found if found.name == name else _decompressed(found, data_dir / name)


def _decompressed(source: Path, target: Path) -> Path:
    unpacking = lzma.LZMADecompressor(memlimit=_MAX_LZMA_MEMORY)
    left = _MAX_DATABASE_BYTES
    try:
        with open_regular(source) as packed, atomic_write(target, "wb") as file:
            while not unpacking.eof:
                chunk = packed.read(_CHUNK) if unpacking.needs_input else b""
                if unpacking.needs_input and not chunk:
                    raise EOFError("it is cut short")
                found = unpacking.decompress(chunk, _CHUNK)
                left -= len(found)
                if left < 0:
                    raise ValueError(f"it holds more than {_MAX_DATABASE_BYTES} bytes")
                file.write(found)
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise DataError(f"cannot decompress {source} to {target}: {error}") from error
    return target


def hash_of_database(path: Path) -> str:
    """Returns the SHA-256 of a database.

    Raises:
        DataError: If it is too large, or cannot be read.
    """
    try:
        return hash_of(path, most=_MAX_DATABASE_BYTES)
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error


def read_split(
    path: Path, split: str, row_of: Callable[[dict[str, np.ndarray | list[bytes]]], _Row]
) -> dict[str, list[_Row]]:
    """Returns the examples of each client of a split, in the order of the file.

    Args:
        path: A file of TFF's.
        split: `"train"` or `"test"`.
        row_of: Function from an example's features by name to the row to keep; it raises
            `ValueError` or `KeyError` if the example does not belong to this file.

    Returns:
        Rows by client id; ids are sorted as text, as in TFF.

    Raises:
        DataError: If the file is damaged, is another database or lacks the split.
    """
    query = "FROM examples WHERE split_name = ?"
    by_client: dict[str, list[_Row]] = {}
    try:
        uri = f"file:{quote(str(path.absolute()))}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            ((total,),) = database.execute(f"SELECT COUNT(*) {query}", (split,))
            columns = f"SELECT client_id, serialized_example_proto {query} ORDER BY rowid"
            with progress(f"reading {split} of {path.name}", total, "example") as bar:
                for client, message in database.execute(columns, (split,)):
                    if not isinstance(client, str) or not isinstance(message, bytes):
                        raise ValueError("an example is not a client's name and a message")
                    if len(message) > _MAX_EXAMPLE_BYTES:
                        raise ValueError(f"an example has {len(message)} bytes")
                    by_client.setdefault(client, []).append(row_of(features_of(message)))
                    bar.update(1)
    except (OSError, sqlite3.Error, KeyError, TypeError, ValueError) as error:
        why = f"an example has no {error.args[0]}" if isinstance(error, KeyError) else error
        raise damaged(path, why) from error
    if not by_client:
        raise damaged(path, f"it has no {split} examples")
    return {client: by_client[client] for client in sorted(by_client)}


def damaged(path: Path, why: object) -> DataError:
    """Returns the error of a file that is not what TFF distributes."""
    return DataError(f"{path} is damaged or is not TFF's {path.name}: {why}")
