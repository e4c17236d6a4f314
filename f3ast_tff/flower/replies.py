"""Replies of clients: what they hold is read here, and what does not fit is not delivered."""

from __future__ import annotations

import ast
import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from flwr.app import Array, Message, MetricRecord, RecordDict

_LOG = logging.getLogger("flwr")
_EXAMPLES = "num-examples"
# Encoding of `Array.numpy`: the format of `.npy` files.
_NUMPY = "numpy.ndarray"
_NUMBERS = "biuf"
_LONGEST_HEADER = 10_000

# A model: its arrays by name.
Model = dict[str, np.ndarray]


class ReplyError(ValueError):
    """A reply holds no model that fits; the message says what is wrong."""


def by_client(replies: Iterable[Message], nodes: Mapping[int, int]) -> dict[int, RecordDict]:
    """Returns the contents of the replies without an error, by client id."""
    client = {node: k for k, node in nodes.items()}
    contents = {}
    for reply in replies:
        k = client.get(reply.metadata.src_node_id)
        if reply.has_error():
            _LOG.warning("client %s failed: %s", k, reply.error.reason)
        elif k is not None:
            contents[k] = reply.content
    return contents


def models_of(contents: Mapping[int, RecordDict], sent: Model) -> dict[int, Model]:
    """Returns the models of the replies that fit the one sent, by client; logs the others.

    Args:
        contents: Content of each reply, by client.
        sent: The model sent to the clients.
    """
    found = {}
    for k, content in contents.items():
        try:
            found[k] = _model_of(content, sent)
        except ReplyError as error:
            _LOG.warning("client %d: %s, not delivered", k, error)
    return found


def _model_of(content: RecordDict, sent: Model) -> Model:
    records = list(content.array_records.values())
    matching = [record for record in records if record.keys() == sent.keys()]
    if not matching:
        raise ReplyError(f"its reply has no arrays of the names {', '.join(sent)[:80]}")
    return {name: _decoded(name, array, sent[name]) for name, array in matching[0].items()}


def _decoded(name: str, array: Array, sent: np.ndarray) -> np.ndarray:
    """An array of the shape sent; nothing is allocated before its shape and its bytes are known.

    Raises:
        ReplyError: If it has another encoding, shape, kind of numbers or size, or is not finite in
            the dtype of the model.
    """
    what = f"array {name[:80]!r}"
    if array.stype != _NUMPY:
        raise ReplyError(f"{what} is encoded as {str(array.stype)[:40]!r}: must be {_NUMPY}")
    try:
        shape, by_columns, dtype, begin = _header(array.data)
    except (ValueError, TypeError, KeyError, SyntaxError, MemoryError, RecursionError) as error:
        raise ReplyError(f"{what} is no .npy array") from error
    if dtype.kind not in _NUMBERS or dtype.hasobject:
        raise ReplyError(f"{what} has dtype {str(dtype)[:40]}: must be of real numbers")
    if shape != sent.shape:
        raise ReplyError(f"{what} has shape {str(shape)[:80]}: must be {sent.shape}")
    rest = memoryview(array.data)[begin:]
    if len(rest) != sent.size * dtype.itemsize:
        raise ReplyError(f"{what} has {len(rest)} bytes: must be {sent.size * dtype.itemsize}")
    value = np.frombuffer(rest, dtype).reshape(shape, order="F" if by_columns else "C")
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.isfinite(value).all() and (
            sent.dtype.kind in "biu" or np.isfinite(value.astype(sent.dtype)).all()
        )
    if not fits:
        raise ReplyError(f"{what} is not finite as {sent.dtype}")
    return value


def _header(data: bytes) -> tuple[Any, bool, np.dtype[Any], int]:
    """Shape, order by columns, dtype and place of the first byte of a `.npy` file.

    NumPy's own reader repairs headers of Python 2 by a tokenizer, which raises errors of its own.
    """
    if data[:6] != b"\x93NUMPY" or data[6:7] not in (b"\x01", b"\x02"):
        raise ValueError
    width = 2 if data[6:7] == b"\x01" else 4
    begin = 8 + width
    end = begin + int.from_bytes(data[8:begin], "little")
    if not begin < end <= min(len(data), _LONGEST_HEADER):
        raise ValueError
    told = ast.literal_eval(data[begin:end].decode("latin1").strip())
    if not isinstance(told["descr"], str):
        raise ValueError
    return told["shape"], bool(told["fortran_order"]), np.dtype(told["descr"]), end


def metric(content: RecordDict | None, name: str) -> float:
    """Returns a number of a reply, NaN if it has none or is about 0 examples."""
    if content is None or not _examples(content) > 0:
        return math.nan
    for record in content.metric_records.values():
        if is_number(value := record.get(name)):
            return float(value)
    return math.nan


def is_number(value: Any) -> bool:
    """Whether a value of a record is a number; a truth value is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _examples(content: RecordDict) -> float:
    """Returns `num-examples` of a reply; 1 if it has none, 0 if it is no number."""
    found = [r[_EXAMPLES] for r in content.metric_records.values() if _EXAMPLES in r]
    if not found:
        return 1.0
    return float(found[0]) if is_number(found[0]) else 0.0


def mean_metrics(contents: Iterable[RecordDict]) -> MetricRecord | None:
    """Returns the mean of each number over the replies that have it, weighted by `num-examples`.

    A reply of 0 examples says nothing. A mean is NaN if a client with examples says NaN.
    """
    told: dict[str, list[tuple[float, float]]] = {}
    for content in contents:
        size = _examples(content)
        if not 0 < size < np.inf:
            continue
        for record in content.metric_records.values():
            for name, value in record.items():
                if name != _EXAMPLES and is_number(value):
                    told.setdefault(name, []).append((float(value), size))
    if not told:
        return None
    means = {}
    for name, pairs in told.items():
        values, sizes = np.array(pairs).T
        means[name] = float(np.average(values, weights=sizes))
    return MetricRecord(means)
