"""Checks of arrays of examples, and which of them are for the test."""

from __future__ import annotations

import numpy as np

from f3ast_tff.core.randomness import generator

# Largest number of classes; a model has weights for every class up to the largest label.
_MAX_CLASSES = 2**20


def form(array: np.ndarray) -> str:
    """Returns type and shape in words."""
    return f"{array.dtype} {list(array.shape)}"


def checked_features(features: np.ndarray, clients: np.ndarray) -> np.ndarray:
    """Returns features `[n, ...]` as finite `float32`.

    Raises:
        ValueError: Otherwise; names the row.
    """
    if features.ndim < 2 or features.dtype.kind not in "biuf":
        raise ValueError(f"features must be numbers [n, ...], not {form(features)}")
    if features.dtype.kind in "iu":
        from f3ast_tff.core import frame_columns

        frame_columns.refuse_collapsed(features, "features")
    return _finite(features, "features", clients)


def _finite(values: np.ndarray, what: str, clients: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    finite = np.isfinite(found).reshape(len(found), -1).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(f"{what} must be finite: row {row}, of client {clients[row]}, is not")
    return found


def checked_values(labels: np.ndarray, clients: np.ndarray, num_classes: int | None) -> np.ndarray:
    """Returns labels that are values, finite `float32 [n]` or `[n, d]`.

    Raises:
        ValueError: Otherwise; names the row.
    """
    if num_classes:
        raise ValueError(f"labels must be integers with {num_classes} classes, not {labels.dtype}")
    if labels.ndim not in (1, 2) or labels.dtype.kind not in "biuf" or 0 in labels.shape:
        raise ValueError(f"labels must be values [n] or [n, d], not {form(labels)}")
    return _finite(labels, "labels", clients)


def checked_labels(labels: np.ndarray, clients: np.ndarray) -> np.ndarray:
    """Returns class ids, `int32 [n]` or `[n, length]`.

    Raises:
        ValueError: If they are not class ids; names the row.
    """
    if labels.ndim not in (1, 2) or labels.dtype.kind not in "biu":
        raise ValueError(f"labels must be integers [n] or [n, length], not {form(labels)}")
    ones = np.sort(labels.reshape(len(labels), -1), axis=1)
    if ones.shape[1] > 1 and (ones[:, -1] == 1).all() and not ones[:, :-1].any():
        raise ValueError("labels are one-hot: give class ids [n], as labels.argmax(axis=1)")
    if labels.ndim == 1 and labels.min() < 0:
        row = int(np.argmax(labels < 0))
        raise ValueError(
            f"labels must be at least 0: row {row}, of client {clients[row]}, has {labels[row]}"
        )
    if labels.size and labels.max() >= _MAX_CLASSES:
        row = int(np.argmax(labels.reshape(len(labels), -1).max(axis=1)))
        raise ValueError(
            f"labels must be class ids from 0, below {_MAX_CLASSES}: row {row}, of client "
            f"{clients[row]}, has {labels.max()}"
        )
    return labels.astype(np.int32)


def test_counts(sizes: np.ndarray, share: float) -> np.ndarray:
    """Returns how many of each client's examples are for testing, `int64 [N]`.

    It is the share of a client's examples, rounded. A client of two or more examples tests at least
    one and keeps at least one for training; the only example of a client is for training.

    Args:
        sizes: Examples of each client, `int64 [N]`.
        share: Share for testing, above 0 and below 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.core.example_arrays import test_counts
        >>> test_counts(np.array([0, 1, 2, 3, 40]), 0.1).tolist()
        [0, 0, 1, 1, 4]
    """
    wanted = np.maximum(np.rint(share * sizes).astype(np.int64), 1)
    return np.minimum(wanted, np.maximum(sizes - 1, 0))


def drawn(clients: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Draws the test examples, `bool [n]`, as many as `test_counts` says."""
    if not 0 < fraction < 1:
        raise ValueError(f"test {fraction}: must be above 0 and below 1")
    owners, sizes = np.unique(clients, return_inverse=True, return_counts=True)[1:]
    order = np.lexsort((generator(seed, "test examples").random(len(clients)), owners))
    place = np.arange(len(clients)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    count = test_counts(sizes, fraction)
    if not count.any():
        raise ValueError(f"test {fraction}: no client has enough examples to spare one")
    tested = np.zeros(len(clients), bool)
    tested[order] = place < np.repeat(count, sizes)
    return tested
