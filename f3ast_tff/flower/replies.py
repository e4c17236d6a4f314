"""Reads the replies of clients; a reply that does not fit is not delivered."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from flwr.app import Message, MetricRecord, RecordDict

from f3ast_tff.files.messages import one_line
from f3ast_tff.flower.arrays import ArrayError, Model, fitting

_LOG = logging.getLogger("flwr")
# Flower's name, and that of its older strategies.
_EXAMPLES = ("num-examples", "num_examples")
# Methods square losses, and add them up.
_LARGEST = 1e38


def by_client(replies: Iterable[Message], nodes: Mapping[int, int]) -> dict[int, RecordDict]:
    """Returns the contents of the replies without an error, by client id; logs the errors."""
    client = {node: k for k, node in nodes.items()}
    contents = {}
    for reply in replies:
        k = client.get(reply.metadata.src_node_id)
        if reply.has_error():
            who = "a client" if k is None else f"client {k}"
            _LOG.warning("%s failed: %s", who, one_line(reply.error.reason))
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
        except ArrayError as error:
            _LOG.warning("client %d: %s, not delivered", k, error)
    return found


def _model_of(content: RecordDict, sent: Model) -> Model:
    records = list(content.array_records.values())
    matching = [record for record in records if record.keys() == sent.keys()]
    if len(matching) != 1:
        has = f"{len(matching)} records" if matching else ", ".join(map(str, map(list, records)))
        raise ArrayError(f"its reply has {has[:80] or 'none'}: must be {', '.join(sent)[:80]}")
    return {name: fitting(name, array, sent[name]) for name, array in matching[0].items()}


def metric(content: RecordDict | None, name: str) -> float:
    """Returns a number of a reply; NaN without one, or with 0 examples.

    A number beyond 1e38 counts as missing: a method could compute no weights from such a loss.
    """
    if content is None or not _examples(content) > 0:
        return math.nan
    for record in content.metric_records.values():
        if is_number(value := record.get(name)):
            return float(value) if abs(value) <= _LARGEST else math.nan
    return math.nan


def losses_of(
    contents: Mapping[int, RecordDict], ids: np.ndarray, name: str, needed: bool = True
) -> np.ndarray:
    """Returns each client's loss, see `metric`; logs if none of the replies has a needed one."""
    found = np.array([metric(contents.get(k), name) for k in ids.tolist()], np.float64)
    if needed and contents and np.isnan(found).all():
        _LOG.warning("no reply with examples has the number %s, which the method needs", name)
    return found


def is_number(value: Any) -> bool:
    """Whether a value of a record is a number within the range of floats; no truth value."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known and (isinstance(value, float) or abs(value) <= sys.float_info.max)


def _is_metric(value: Any) -> bool:
    return all(map(is_number, value)) if isinstance(value, list) else is_number(value)


def _told_examples(content: RecordDict) -> list[Any]:
    return [r[name] for r in content.metric_records.values() for name in _EXAMPLES if name in r]


def _examples(content: RecordDict) -> float:
    """Returns `num-examples` of a reply; 1 if it has none, 0 if it is no number."""
    found = _told_examples(content)
    if not found:
        return 1.0
    return float(found[0]) if is_number(found[0]) else 0.0


def mean_metrics(contents: Iterable[RecordDict]) -> MetricRecord | None:
    """Returns the mean of each number over the replies that have it, weighted by `num-examples`.

    A reply of 0 examples says nothing. A mean is NaN if a client with examples says NaN. The mean
    of lists of one length is a list.
    """
    told: dict[str, list[tuple[Any, float]]] = {}
    contents = list(contents)
    without = sum(not _told_examples(content) for content in contents)
    if 0 < without < len(contents):
        said = "%d of %d replies have no %s: their metrics count as those of 1 example"
        _LOG.warning(said, without, len(contents), _EXAMPLES[0])
    for content in contents:
        size = _examples(content)
        if not 0 < size < np.inf:
            continue
        for record in content.metric_records.values():
            for name, value in record.items():
                if name not in _EXAMPLES and _is_metric(value):
                    told.setdefault(name, []).append((value, size))
    means = {}
    for name, pairs in told.items():
        values, sizes = zip(*pairs)
        if len(set(map(np.shape, values))) > 1:
            _LOG.warning("no mean of %s: its lists differ in length", name)
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            means[name] = np.average(np.array(values, float), axis=0, weights=sizes).tolist()
    return MetricRecord(means) if means else None
