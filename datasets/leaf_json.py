"""LEAF's JSON: the examples of each user in one object (Caldas et al. 2018).

`{"users": [NAME, ...], "num_samples": [n, ...], "user_data": {NAME: {"x": [...], "y": [...]}}}`,
where x holds numbers or arrays of equal shape, and y the labels. Other keys are ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from f3ast_tff.core.client_names import listed
from f3ast_tff.files.data_files import first_twice, read_json

_LOG = logging.getLogger(__name__)

_KEYS = ("users", "num_samples", "user_data")


class LeafExamples(NamedTuple):
    """Content of a file.

    Attributes:
        frame: pandas DataFrame with the columns `client`, `label` and `x`, a row per example.
        num_left_out: Number of users that have no row: users without an example, and users of
            `user_data` that `users` does not list.
    """

    frame: Any
    num_left_out: int


def read_leaf(path: Path | str) -> LeafExamples:
    """Reads a file of at most 256 MiB; warns of users that have no row.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it has another form; names the user.
    """
    import pandas as pd

    content = read_json(path)
    if not isinstance(content, Mapping) or not set(_KEYS) <= set(content):
        raise ValueError(f"must be LEAF's: an object of {', '.join(_KEYS)}")
    users, sizes, examples = (content[key] for key in _KEYS)
    if not isinstance(users, list) or not isinstance(sizes, list) or len(users) != len(sizes):
        raise ValueError("users and num_samples must be lists of one length")
    if not isinstance(examples, Mapping):
        raise ValueError("user_data must be an object")
    names = [str(user) for user in users]
    if len(set(names)) < len(names):
        raise ValueError(f"users names {first_twice(names)[:80]!r} twice")
    clients: list[str] = []
    labels: list[Any] = []
    features: list[Any] = []
    for name, size in zip(names, sizes):
        x, y = _of_user(name, size, examples.get(name))
        clients += [name] * len(x)
        features += x
        labels += y
    without_row = {
        "have no example": [name for name, size in zip(names, sizes) if not size],
        "are not listed in users": sorted(examples.keys() - set(names)),
    }
    for why, users in without_row.items():
        if users:
            _LOG.warning("%d users %s and are left out: %s", len(users), why, listed(users))
    # A column of objects: pandas must not make columns of the arrays.
    frame = pd.DataFrame(
        {"client": clients, "label": pd.Series(labels), "x": pd.Series(features, dtype=object)}
    ).infer_objects()
    return LeafExamples(frame, sum(map(len, without_row.values())))


def _of_user(name: str, size: Any, examples: Any) -> tuple[list[Any], list[Any]]:
    who = f"user {name[:80]!r}"
    if not isinstance(examples, Mapping):
        raise ValueError(f"{who} has no examples in user_data")
    x, y = examples.get("x"), examples.get("y")
    if not isinstance(x, list) or not isinstance(y, list):
        raise ValueError(f"{who} has no lists x and y")
    if not len(x) == len(y) == size:
        raise ValueError(f"{who} has {len(x)} x and {len(y)} y, num_samples says {size}")
    return x, y
