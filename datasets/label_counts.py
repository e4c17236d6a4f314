"""A federation mirrored on another task's examples: a table says how many each site has.

CSV: the first column, `site`, holds names; each further column is a class, with the site's number
of examples. Without classes a column `examples` holds the sizes.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from f3ast_tff.core.client_names import client_name, listed
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.files.csv_rows import csv_rows
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, file_state, read_bytes

_LOGGER = logging.getLogger(__name__)
_NAME = "label_counts"
# Names of the first column.
SITE_COLUMNS = ("site", "clinic", "hospital", "client", "name")
SIZES = "examples"
_LARGEST = 10**9


@dataclass(frozen=True)
class SiteCounts:
    r"""Number of examples of each class at each site.

    Attributes:
        sites: Names of the N sites.
        classes: Names of the C columns; only `examples` for sizes without classes.
        counts: `int64 [N, C]`, at least 0, every row with an example.

    Examples:
        >>> from pathlib import Path
        >>> from f3ast_tff.datasets.label_counts import read_counts
        >>> _ = Path("sites.csv").write_text("site,0,1\nA,30,10\nB,5,0\n")
        >>> table = read_counts("sites.csv")
        >>> table.sites, table.counts.tolist()
        (('A', 'B'), [[30, 10], [5, 0]])
    """

    sites: tuple[str, ...]
    classes: tuple[str, ...]
    counts: np.ndarray


def read_counts(path: str) -> SiteCounts:
    """Reads a table of sites.

    Raises:
        ParameterError: If the file is missing or has a fault; names the line.
    """
    try:
        return _read(path, *file_state(Path(path)))
    except FileNotFoundError as error:
        raise ParameterError(_NAME, path, "not found") from error
    except (OSError, ValueError, csv.Error) as error:
        raise ParameterError(_NAME, path, str(error)) from error


@lru_cache(maxsize=2)
def _read(path: str, *_: int) -> SiteCounts:
    """The table in a file, read once for the check, the number of clients and the data."""
    text = read_bytes(Path(path), MAX_TEXT_BYTES)
    (site, *classes), rows = csv_rows(text) if text.strip() else ([""], [])
    if site.lower() not in SITE_COLUMNS or not classes:
        names = ", ".join(SITE_COLUMNS)
        raise ValueError(f"must begin with a line of site (or {names[6:]}) and its classes")
    if not rows:
        raise ValueError("has no site")
    lines: dict[str, int] = {}
    counts = np.zeros((len(rows), len(classes)), np.int64)
    for place, (line, row) in enumerate(rows):
        name = client_name(row[site])
        if not name:
            raise ValueError(f"line {line}: the site has no name")
        if name in lines:
            raise ValueError(f"line {line}: site {name} is in line {lines[name]} too")
        lines[name] = line
        counts[place] = [_count(row[each], each, f"line {line}: site {name}") for each in classes]
        if not counts[place].any():
            raise ValueError(f"line {line}: site {name} has no example")
    return SiteCounts(tuple(lines), tuple(classes), counts)


def _count(text: str, label: str, where: str) -> int:
    number = client_name(text)
    if not number:
        raise ValueError(f"{where} has no count of {label}")
    if not (number.isascii() and number.isdigit() and int(number) <= _LARGEST):
        must = f"must be a whole number, at least 0 and at most {_LARGEST}"
        raise ValueError(f"{where} has {label} {text[:40]}: {must}")
    return int(number)


def mirrored(data: FederatedData, path: str, scale: float | None, seed: int) -> FederatedData:
    """Deals the examples of a task to sites with the sizes and classes of a table.

    A class's number of examples is the table's times the scale, rounded down; the largest parts of
    an example are rounded up. Test examples are dealt by the same table, as many as there are.

    Args:
        data: The task's data; who holds what in it does not count.
        path: Table, see `read_counts`.
        scale: Examples of a site over its examples in the table. `None`: 1, or less if a class has
            too few examples. A class that has too few for a given scale alone is made smaller.
        seed: Seed of which examples a site gets.

    Returns:
        Data of the sites, in the table's order. Says in one line what was scaled or short.

    Raises:
        ParameterError: If the task lacks a class, or a site would have no example.
    """
    table = read_counts(path)
    labels = _columns(table, data, path)
    of_rows = [_column_of(part.labels, labels) for part in (data.train, data.test)]
    held, tested = (np.bincount(of[of >= 0], minlength=len(table.classes)) for of in of_rows)
    full = table.counts.sum(axis=0)
    there = held[full > 0] / full[full > 0]
    for place in np.flatnonzero((full > 0) & (held == 0)):
        site = table.sites[int(np.argmax(table.counts[:, place] > 0))]
        has = f"the task has no training example of class {table.classes[place]} (site {site})"
        raise ParameterError(_NAME, path, has)
    used = float(min(1.0, there.min())) if scale is None else scale
    train = apportioned(table.counts, np.minimum(used, held / np.maximum(full, 1)))
    empty = [name for name, size in zip(table.sites, train.sum(axis=1)) if size == 0]
    if empty:
        allowed = f"leaves no example to site {listed(empty)}: must be larger"
        raise ParameterError("scale", round(used, 6), allowed)
    _say(table, used, train)
    # One scale for all classes: a site's test examples have the proportions of its table.
    of_test = tested[full > 0] / full[full > 0]
    test = apportioned(table.counts, np.full(len(full), min(used, float(of_test.min()))))
    parts = [
        _dealt(part, of, counts, table.sites, generator(seed, f"{name} label counts"))
        for name, part, of, counts in zip(
            ("train", "test"), (data.train, data.test), of_rows, (train, test)
        )
    ]
    classes = data.num_classes
    if labels is not None and not data.label_names:
        classes = max(labels) + 1
    return replace(data, train=parts[0], test=parts[1], num_classes=classes, clients_to_score=None)


def apportioned(counts: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Returns counts times the scale of their class, `int64 [N, C]`, by largest remainders.

    Args:
        counts: `int64 [N, C]`, at least 0.
        scales: At least 0, `float64 [C]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.datasets.label_counts import apportioned
        >>> apportioned(np.array([[30, 4], [10, 0], [7, 0]]), np.array([0.1, 0.5])).tolist()
        [[3, 2], [1, 0], [0, 0]]
    """
    exact = counts * scales
    # A product such as 0.29 * 100 is a little below 29.
    found = np.floor(exact + 1e-9).astype(np.int64)
    left = np.floor(exact.sum(axis=0) + 1e-9).astype(np.int64) - found.sum(axis=0)
    order = np.argsort(found - exact, axis=0, kind="stable")
    rank = np.argsort(order, axis=0, kind="stable")
    return found + (rank < left)


def _columns(table: SiteCounts, data: FederatedData, path: str) -> list[int] | None:
    """The class of each column; `None` for sizes only."""
    names = table.classes
    if names == (SIZES,):
        return None
    if not data.num_classes or data.train.labels.ndim > 1:
        allowed = (
            f"has classes {listed(names)}, and the task's examples have none: must have {SIZES}"
        )
        raise ParameterError(_NAME, path, allowed)
    known = list(data.label_names) or [str(label) for label in range(data.num_classes)]
    numbers = [client_name(name) for name in names]
    lacking = [name for name, number in zip(names, numbers) if number not in known]
    if not lacking:
        return [known.index(number) for number in numbers]
    words = not any(number.lstrip("-").isdigit() for number in numbers)
    # Classes of another federation have other names: they stand for the task's in their order.
    if words and len(lacking) == len(names) <= len(known) and not data.label_names:
        stand = ", ".join(f"{name} is {label}" for label, name in enumerate(names))
        _LOGGER.warning("label_counts: classes in order, %s", stand)
        return list(range(len(names)))
    place = names.index(lacking[0])
    site = table.sites[int(np.argmax(table.counts[:, place] > 0))]
    allowed = f"the task lacks class {lacking[0]} (site {site}); it has {listed(known)}"
    raise ParameterError(_NAME, path, allowed)


def _column_of(labels: np.ndarray, columns: Sequence[int] | None) -> np.ndarray:
    """The table's column of each example, -1 for a class that the table lacks, `int64 [n]`."""
    if columns is None:
        return np.zeros(len(labels), np.int64)
    place = np.full(max(int(labels.max(initial=0)), *columns) + 1, -1)
    place[list(columns)] = np.arange(len(columns))
    return np.where(labels >= 0, place[labels], -1)


def _say(table: SiteCounts, scale: float, train: np.ndarray) -> None:
    said = [f"{len(table.sites)} sites, {train.sum()} of {table.counts.sum()} examples"]
    if scale != 1:
        said.append(f"scale {scale:.4g}")
    full = table.counts.sum(axis=0)
    for place, name in enumerate(table.classes):
        wanted = int(full[place] * scale + 1e-9)
        if train[:, place].sum() < wanted:
            said.append(f"{name} is short, {train[:, place].sum()} of {wanted}")
    gone = [
        f"{table.classes[c]} at {table.sites[k]}"
        for k, c in np.argwhere((table.counts > 0) & (train == 0))
    ]
    if gone:
        said.append(f"rounded to none: {listed(gone)}")
    if scale != 1:
        said.append("times per example count these: divide seconds_per_example by the scale")
    (_LOGGER.warning if len(said) > 1 else _LOGGER.info)("label_counts: %s", "; ".join(said))


def _dealt(
    part: ClientExamples,
    of: np.ndarray,
    counts: np.ndarray,
    sites: Sequence[str],
    rng: np.random.Generator,
) -> ClientExamples:
    """Examples by site: the first ones of each class, in a random order, to the first site ..."""
    rows: list[list[np.ndarray]] = [[] for _ in sites]
    for place, of_sites in enumerate(counts.T):
        members = rng.permutation(np.flatnonzero(of == place))[: of_sites.sum()]
        for mine, cut in zip(rows, np.split(members, np.cumsum(of_sites)[:-1])):
            mine.append(cut)
    flat = np.concatenate([each for mine in rows for each in mine])
    offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int64)
    return ClientExamples(
        part.features[flat], labels=part.labels[flat], offsets=offsets, names=np.array(sites)
    )
