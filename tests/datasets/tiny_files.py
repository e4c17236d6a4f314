"""Small files in the distributors' formats, with matching descriptions, and a server of them.

If a description replaces the real one, such as `f3ast_tff.datasets.cifar_files.CIFAR100`, the
loaders accept the small files as the distributor's.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from f3ast_tff.datasets.cifar_files import CIFAR10, CIFAR100, Batch, CifarFiles, Part
from f3ast_tff.datasets.images import LabelledImages
from f3ast_tff.datasets.mnist_files import MNIST, IdxPair, MnistFiles
from f3ast_tff.datasets.source import Download
from tests.datasets.tff_files import image_example, write_database

# Label lists of the small CIFAR-100 and their numbers of classes.
LABELS = (("fine_labels", 20), ("coarse_labels", 4))
Labels = Mapping[str, np.ndarray]


def python2_pickle(pixels: np.ndarray, labels: Labels) -> bytes:
    """Returns a batch as Python 2 pickles it: strings of bytes, lists of small integers.

    The opcodes are those of a CIFAR file in `pickletools.dis`.
    """
    rows = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    raw = rows.tobytes()
    shape = b"".join(b"M" + struct.pack("<H", size) for size in rows.shape)
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
        + shape
        + b"\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNN"
        + b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + (struct.pack("<i", len(raw)) + raw + b"tb")
    )
    items = [(b"data", array)]
    for name, values in labels.items():
        numbers = b"".join(b"K" + bytes([value]) for value in values.tolist())
        items.append((name.encode(), b"](" + numbers + b"e"))
    body = b"".join(b"U" + bytes([len(name)]) + name + value for name, value in items)
    return b"\x80\x02}(" + body + b"u."


def images(num: int, classes: int, seed: int, side: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Random pixels `uint8 [num, side, side, 3]`, and labels with equally many of each class."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (num, side, side, 3), dtype=np.uint8)
    return pixels, rng.permutation(np.arange(num) % classes).astype(np.uint8)


def _write_batch(path: Path, pixels: np.ndarray, labels: Labels) -> Batch:
    content = python2_pickle(pixels, labels)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return Batch(path.name, len(pixels), hashlib.md5(content, usedforsecurity=False).hexdigest())


def tiny_cifar100(data_dir: Path) -> CifarFiles:
    """20 fine classes in 4 coarse ones, 400 training and 100 test images."""
    folder = data_dir / CIFAR100.folder
    parts = {}
    for seed, (name, num) in enumerate({"train": 400, "test": 100}.items()):
        pixels, fine = images(num, 20, seed)
        coarse = fine // 5
        batch = _write_batch(folder / name, pixels, {"fine_labels": fine, "coarse_labels": coarse})
        digest = LabelledImages.of(pixels, np.stack([fine, coarse], axis=1)).digest
        parts[name] = Part((batch,), digest)
    return replace(CIFAR100, labels=LABELS, train=parts["train"], test=parts["test"])


def tiny_cifar10(data_dir: Path) -> CifarFiles:
    """10 classes, five batches of 40 training images and one of 50 test images."""
    folder = data_dir / CIFAR10.folder
    pixels, labels = images(200, 10, 2)
    batches = []
    for i, batch in enumerate(CIFAR10.train.batches):
        rows = slice(40 * i, 40 * i + 40)
        written = _write_batch(folder / batch.name, pixels[rows], {"labels": labels[rows]})
        batches.append(replace(written, optional=batch.optional))
    test_pixels, test_labels = images(50, 10, 3)
    test = _write_batch(folder / "test_batch", test_pixels, {"labels": test_labels})
    # Digest of the first four batches, as with the real files.
    subset = LabelledImages.of(pixels[:160], labels[:160, None]).digest
    digest = LabelledImages.of(test_pixels, test_labels[:, None]).digest
    return replace(CIFAR10, train=Part(tuple(batches), subset), test=Part((test,), digest))


def pack(data_dir: Path, files: CifarFiles) -> CifarFiles:
    """Replaces the unpacked files by an archive."""
    folder, archive = data_dir / files.folder, data_dir / files.archive
    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, f"{files.folder}/{path.name}")
            path.unlink()
    folder.rmdir()
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return replace(files, download=Download(files.download.url, digest))


def idx(values: np.ndarray) -> bytes:
    """Bytes in MNIST's idx format."""
    return (
        struct.pack(f">{1 + values.ndim}I", 0x800 | values.ndim, *values.shape) + values.tobytes()
    )


def tiny_mnist(data_dir: Path) -> MnistFiles:
    """10 classes, 200 training and 50 test images of 28 x 28."""
    (data_dir / "mnist").mkdir(parents=True)
    pairs = []
    for seed, (pair, num) in enumerate(((MNIST.train, 200), (MNIST.test, 50))):
        pixels, labels = images(num, 10, seed, side=28)
        pixels = pixels[..., 0]
        hashes = []
        for kind, values in (("images-idx3", pixels), ("labels-idx1", labels)):
            content = gzip.compress(idx(values), mtime=0)
            (data_dir / "mnist" / f"{pair.prefix}-{kind}-ubyte.gz").write_bytes(content)
            hashes.append(hashlib.sha256(content).hexdigest())
        digest = LabelledImages.of(pixels[..., None], labels[:, None]).digest
        pairs.append(IdxPair(pair.prefix, num, hashes[0], hashes[1], digest))
    train, test = pairs
    return MnistFiles(train, test)


def tiny_tff_cifar100(path: Path) -> CifarFiles:
    """TFF's database: 11 training clients of 2 images, 2 test clients of 1; 20 fine classes."""
    parts, rows = {}, []
    for split, clients, size in (("train", 11, 2), ("test", 2, 1)):
        pixels, fine = images(clients * size, 20, clients)
        # Rows cycle through the clients, so that they are not grouped by client.
        rows += [
            (split, str(row % clients), image_example(image, label, label // 5))
            for row, (image, label) in enumerate(zip(pixels, fine.tolist()))
        ]
        digest = LabelledImages.of(pixels, np.stack([fine, fine // 5], axis=1)).digest
        parts[split] = Part((Batch(split, clients * size, ""),), digest)
    write_database(path, rows)
    return replace(CIFAR100, labels=LABELS, train=parts["train"], test=parts["test"])


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Yields the folder's address, without a slash at its end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
