"""TensorFlow Federated's own Shakespeare data, where its file is present."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from f3ast_tff.core.federated_data import FederatedData

from .cache import prepared
from .characters import federated_snippets
from .tff_database import damaged, find_database, hash_of_database, read_split

_LOGGER = logging.getLogger(__name__)

FILE = "shakespeare.sqlite"
# Clients and examples per split, as TFF documents them.
NUM_CLIENTS = 715
NUM_EXAMPLES = {"train": 16_068, "test": 2_356}
_FEATURE = "snippets"
# Part of the cache's key: raise it when the same file gives other data.
_READING = 1


def shakespeare_from_tff(data_dir: Path) -> FederatedData:
    """Opens the data of `tff.simulation.datasets.shakespeare.load_data`, without TFF.

    The 715 clients, their snippets and the split are TFF's; clients are sorted by name, as in TFF.
    Sequences, and the limit of 128 per client for training, are as in `shakespeare`. TFF shuffles
    a client's snippets; here they keep the order of the file.

    No checksum of the file is published. Its clients and examples are counted, but a changed
    letter is not noticed.

    Args:
        data_dir: The data folder. It receives the prepared data and, unless TFF has put
            `shakespeare.sqlite` into `.tff` in the home folder, holds `shakespeare.sqlite` or
            `shakespeare.sqlite.lzma`.

    Returns:
        Features `uint8 [n, 80]`, labels `int8 [n, 80]` (-1: does not count), 90 classes.

    Raises:
        DataError: If the file is missing, damaged or another one; names the file and the place.
    """
    path = find_database(data_dir, FILE)
    key: dict[str, int | str] = {
        "reading": _READING,
        "sha256": hash_of_database(path),
    }
    return prepared(data_dir, "shakespeare_from_tff", key, lambda: _prepare(path))


def _prepare(path: Path) -> FederatedData:
    train, test = (read_split(path, split, _snippet) for split in ("train", "test"))
    odd = sorted(train.keys() ^ test.keys())
    if odd:
        raise damaged(path, f"{odd[0]} has examples in one split only")
    counts = {"train": sum(map(len, train.values())), "test": sum(map(len, test.values()))}
    if len(train) != NUM_CLIENTS or counts != NUM_EXAMPLES:
        raise damaged(path, f"it has {len(train)} clients with {counts} examples")
    _LOGGER.warning("%s: counted, not compared: TFF publishes no checksum of it", path)
    return federated_snippets(train.values(), test.values())


def _snippet(features: Mapping[str, Any]) -> bytes:
    found = features.get(_FEATURE, [])
    if len(found) != 1 or not isinstance(found[0], bytes):
        raise ValueError(f"an example has {len(found)} {_FEATURE}, not one")
    return found[0]
