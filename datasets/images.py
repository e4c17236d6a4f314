"""Labelled images, before they are shared out over clients."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples


@dataclass(frozen=True)
class LabelledImages:
    """Images with one label or more, in an order that depends only on their content.

    Files that hold the same images in different orders thus give the same clients.

    Attributes:
        pixels: `uint8 [n, height, width, channels]`.
        labels: `uint8 [n, kinds]`; column 0 is the class.
        digest: `content_digest` of the rows; a row is the pixels, then the labels.
    """

    pixels: np.ndarray
    labels: np.ndarray
    digest: str

    @classmethod
    def of(cls, pixels: np.ndarray, labels: np.ndarray) -> LabelledImages:
        """Returns images sorted by their hashes.

        Args:
            pixels: `uint8 [n, height, width, channels]`.
            labels: `uint8 [n, kinds]`.
        """
        hashes = row_hashes(pixels, labels)
        order = np.argsort(hashes, kind="stable")
        return cls(pixels[order], labels[order], content_digest(hashes))

    @property
    def classes(self) -> np.ndarray:
        """The class of each image, `uint8 [n]`."""
        return self.labels[:, 0]

    def subset(self, rows: np.ndarray) -> LabelledImages:
        """Returns some of the images, in the given order; the digest stays that of all images."""
        return LabelledImages(self.pixels[rows], self.labels[rows], self.digest)

    def by_client(self, rows: Iterable[np.ndarray]) -> ClientExamples:
        """Returns examples by client, labels `int32`.

        Args:
            rows: Rows of each client.
        """
        rows = list(rows)
        flat = np.concatenate(rows).astype(np.int64)
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return ClientExamples(self.pixels[flat], self.classes[flat].astype(np.int32), offsets)


def notice(what: str) -> None:
    """Warns in one line about a file that is used all the same."""
    logging.getLogger(__name__).warning(what)


def row_hashes(*columns: np.ndarray) -> np.ndarray:
    """Returns the SHA-256 of each row, over its columns' bytes in order.

    Args:
        *columns: Arrays `[n, ...]` of one length, `uint8` for digests that do not depend on the
            machine.

    Returns:
        `S32 [n]`, 32 raw bytes per row (NumPy strips trailing zero bytes).
    """
    tables = [np.ascontiguousarray(column).reshape(len(column), -1) for column in columns]
    hashes = np.empty(len(tables[0]), "S32")
    for row, parts in enumerate(zip(*tables)):
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        hashes[row] = digest.digest()
    return hashes


def content_digest(hashes: np.ndarray) -> str:
    """Returns a digest of rows that does not depend on their order: SHA-256 of the sorted hashes.

    Args:
        hashes: Result of `row_hashes`.
    """
    return hashlib.sha256(np.sort(hashes).tobytes()).hexdigest()
