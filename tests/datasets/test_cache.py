"""Distributors' files, found, fetched and checked; the prepared cache, written once and mapped."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.datasets.cache import prepared
from f3ast_tff.datasets.images import content_digest, row_hashes
from f3ast_tff.datasets.source import Download, SourceFile, default_data_dir, locate
from tests.datasets.tiny_files import served

ROOT = Path(__file__).parents[2]
KEY: dict[str, Any] = {"clients": 2, "s": 0.5, "how": "any"}


def data(rows: int = 5) -> FederatedData:
    features = np.arange(rows * 3, dtype=np.uint8).reshape(rows, 3)
    labels = np.arange(rows, dtype=np.int32)
    train = ClientExamples(features, labels, np.array([0, 2, rows]))
    return FederatedData(train, ClientExamples(features[:0], labels[:0], np.array([0, 0])), 10)


def arrays(found: FederatedData) -> list[np.ndarray]:
    return [
        getattr(part, column)
        for part in (found.train, found.test)
        for column in ("features", "labels", "offsets")
    ]


def not_called() -> FederatedData:
    raise AssertionError("prepared twice")


def folders(data_dir: Path) -> list[Path]:
    return sorted(path for path in (data_dir / "prepared").iterdir() if path.is_dir())


def test_what_is_prepared_comes_back_mapped_and_read_only(tmp_path: Path) -> None:
    first = prepared(tmp_path / "new" / "folder", "some", KEY, data)
    again = prepared(tmp_path / "new" / "folder", "some", dict(reversed(KEY.items())), not_called)
    for found in (first, again):
        assert found.num_classes == 10
        for array, original in zip(arrays(found), arrays(data())):
            np.testing.assert_array_equal(array, original)
            assert array.dtype == original.dtype
            assert isinstance(array.base, np.memmap) and not array.flags.writeable


@pytest.mark.parametrize("change", [{"clients": 3}, {"s": 0.25}, {"more": 1}, {"how": "other"}])
def test_another_key_is_another_folder(tmp_path: Path, change: dict[str, Any]) -> None:
    prepared(tmp_path, "some", KEY, data)
    found = prepared(tmp_path, "some", {**KEY, **change}, lambda: data(7))
    assert len(found.train.labels) == 7
    assert len(folders(tmp_path)) == 2


def edit_meta(folder: Path, **changes: Any) -> None:
    path = folder / "meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "no array": lambda f: (f / "train.labels.npy").unlink(),
    "short array": lambda f: os.truncate(f / "train.features.npy", 140),
    "no bytes": lambda f: os.truncate(f / "train.features.npy", 0),
    "long array": lambda f: os.truncate(f / "train.labels.npy", 150),
    "other shape": lambda f: np.save(f / "train.features.npy", np.zeros((5, 4), np.uint8)),
    "other dtype": lambda f: np.save(f / "train.labels.npy", np.zeros(5, np.int64)),
    "other content": lambda f: flip_a_bit(f / "train.labels.npy"),
    "another number of classes": lambda f: edit_meta(f, num_classes=11),
    "a pipe": lambda f: ((f / "train.labels.npy").unlink(), os.mkfifo(f / "train.labels.npy")),
    "deep meta": lambda f: (f / "meta.json").write_text("[" * 100_000),
    "large meta": lambda f: os.truncate(f / "meta.json", 6 * 2**30),
    "objects": lambda f: np.save(f / "train.labels.npy", np.array([{}] * 5), allow_pickle=True),
    "no meta": lambda f: (f / "meta.json").unlink(),
    "half a meta": lambda f: os.truncate(f / "meta.json", 50),
    "a meta of something else": lambda f: (f / "meta.json").write_text("[]"),
    "other key": lambda f: edit_meta(f, key={**KEY, "clients": 3}),
    "other format": lambda f: edit_meta(f, format=0),
    "an empty meta": lambda f: edit_meta(f, arrays={}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_folder_is_named_and_can_be_deleted(
    tmp_path: Path, damage: Callable[[Path], Any]
) -> None:
    prepared(tmp_path, "some", KEY, data)
    (folder,) = folders(tmp_path)
    damage(folder)
    with pytest.raises(DataError, match="delete that folder") as caught:
        prepared(tmp_path, "some", KEY, not_called)
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)
    shutil.rmtree(folder)
    assert len(prepared(tmp_path, "some", KEY, data).train.labels) == 5


def test_a_failed_preparation_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> FederatedData:
        raise DataError("a file is missing")

    with pytest.raises(DataError, match="a file is missing"):
        prepared(tmp_path, "some", KEY, fail)
    assert list(tmp_path.iterdir()) == []
    assert len(prepared(tmp_path, "some", KEY, data).train.labels) == 5


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot write to") as caught:
        prepared(tmp_path / "file", "some", KEY, not_called)
    assert str(tmp_path / "file") in str(caught.value)


PROGRAM = """
import os, signal, sys
from pathlib import Path
import numpy as np
from f3ast_tff.datasets import cache
from tests.datasets.test_cache import KEY, data

def prepare():
    print("prepared", flush=True)
    sys.stdin.read()
    return data()

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

if len(sys.argv) > 2:
    holder, name = sys.argv[2].split(".")
    setattr({"os": os, "np": np}[holder], name, die)
found = cache.prepared(Path(sys.argv[1]), "some", KEY, prepare)
print(found.train.features.sum())
"""


def start(*arguments: object) -> subprocess.Popen[str]:
    """Starts a process that prepares until its input ends."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.long
@pytest.mark.parametrize("last_call", ["np.save", "os.rename"])
def test_a_killed_preparation_is_done_again(tmp_path: Path, last_call: str) -> None:
    with start(tmp_path, last_call) as killed:
        killed.communicate()
        assert killed.returncode == -signal.SIGKILL
    (partial,) = folders(tmp_path)
    assert partial.name.startswith(".")
    assert (partial / "meta.json").exists() == (last_call == "os.rename")
    assert len(prepared(tmp_path, "some", KEY, data).train.labels) == 5
    (folder,) = folders(tmp_path)
    assert not folder.name.startswith(".")


@pytest.mark.long
def test_two_processes_at_once_prepare_once(tmp_path: Path) -> None:
    with start(tmp_path) as one:
        assert one.stdout is not None and one.stdout.readline() == "prepared\n"
        with start(tmp_path) as other:
            assert other.stderr is not None
            assert "another process prepares" in other.stderr.readline()
            assert one.communicate() == ("105\n", "")
            assert other.communicate() == ("105\n", "")
    assert one.returncode == other.returncode == 0


def resident_kib(path: Path) -> int:
    """Resident memory of this process for a mapped file, in KiB (Linux)."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.endswith(str(path))]
    assert starts, f"{path} is not mapped"
    found = [next(line for line in lines[i:] if line.startswith("Rss:")) for i in starts]
    return sum(int(line.split()[1]) for line in found)


def large(mebibytes: int) -> FederatedData:
    features = np.full((mebibytes, 2**20), 3, np.uint8)
    offsets = np.array([0, mebibytes])
    part = ClientExamples(features, np.zeros(mebibytes, np.int32), offsets)
    return FederatedData(part, data().test, 2)


def test_opening_does_not_read_the_arrays(tmp_path: Path) -> None:
    """Of 16 MiB mapped, almost nothing is resident until it is used."""
    found = prepared(tmp_path, "large", KEY, lambda: large(16))
    (folder,) = folders(tmp_path)
    assert resident_kib(folder / "train.features.npy") < 200
    assert found.train.features.sum() == 3 * 2**24
    assert resident_kib(folder / "train.features.npy") > 16_000


@pytest.mark.long
def test_opening_costs_little_more_than_the_checksums(tmp_path: Path) -> None:
    """48 MiB of features: the fastest opening takes under twice the time of hashing them."""
    prepared(tmp_path, "large", KEY, lambda: large(48))
    opening, hashing = [], []
    for _ in range(5):
        started = time.perf_counter()
        found = prepared(tmp_path, "large", KEY, not_called)
        opened = time.perf_counter()
        hashlib.sha256(found.train.features.data)
        opening.append(opened - started)
        hashing.append(time.perf_counter() - opened)
    assert min(opening) < min(hashing) * 2
    (folder,) = folders(tmp_path)
    flip_a_bit(folder / "train.features.npy")
    with pytest.raises(DataError, match="train.features.npy has another checksum"):
        prepared(tmp_path, "large", KEY, not_called)


NAMES = ("some/thing", "thing.gz")


@pytest.fixture
def offered(tmp_path: Path) -> Iterator[Download]:
    content = b"content" * 1000
    (tmp_path / "offered").write_bytes(content)
    with served(tmp_path) as address:
        yield Download(f"{address}/offered", hashlib.sha256(content).hexdigest())


def test_the_default_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somebody")
    for value, expected in (("/caches", "/caches/f3ast_tff"), ("", "/somebody/.cache/f3ast_tff")):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert default_data_dir() == Path(expected)


def test_the_first_name_that_is_there_is_taken(tmp_path: Path, offered: Download) -> None:
    (tmp_path / "thing.gz").touch()
    assert locate(tmp_path, SourceFile(NAMES, offered)) == tmp_path / "thing.gz"
    (tmp_path / "some/thing").mkdir(parents=True)
    assert locate(tmp_path, SourceFile(NAMES, Download("nowhere"))) == tmp_path / "thing.gz"
    (tmp_path / "some/thing").rmdir()
    (tmp_path / "some/thing").touch()
    assert locate(tmp_path, SourceFile(NAMES, Download("nowhere"))) == tmp_path / "some/thing"


def test_what_is_missing_is_fetched_under_the_last_name(tmp_path: Path, offered: Download) -> None:
    data_dir = tmp_path / "new"
    found = locate(data_dir, SourceFile(NAMES, offered))
    assert found == data_dir / "thing.gz"
    assert found.read_bytes() == b"content" * 1000
    assert list(data_dir.iterdir()) == [found]


def test_something_else_is_not_kept(tmp_path: Path, offered: Download) -> None:
    data_dir = tmp_path / "new"
    with pytest.raises(DataError, match="something else than thing.gz") as caught:
        locate(data_dir, SourceFile(NAMES, Download(offered.url, "0" * 64)))
    assert str(data_dir) in str(caught.value) and offered.url in str(caught.value)
    assert not data_dir.exists()


@pytest.mark.parametrize(
    "download",
    [
        # A port without a listener; a known checksum, and an unknown one.
        Download("http://127.0.0.1:9/thing.gz", "0" * 64),
        Download("http://127.0.0.1:9/thing.gz", None),
    ],
)
def test_without_a_network_the_message_says_what_goes_where(
    tmp_path: Path, download: Download
) -> None:
    data_dir = tmp_path / "new"
    with pytest.raises(DataError, match="thing.gz is missing") as caught:
        locate(data_dir, SourceFile(NAMES, download))
    message = str(caught.value)
    assert f"put it into {data_dir} (from {download.url})" in message
    assert f"or the file thing into {data_dir / 'some'}" in message
    assert not data_dir.exists()


def test_a_digest_is_the_hash_of_the_sorted_hashes_of_rows() -> None:
    pixels, labels = np.array([[1, 2], [3, 4]], np.uint8), np.array([5, 6], np.uint8)
    rows = sorted(hashlib.sha256(row).digest() for row in (b"\1\2\5", b"\3\4\6"))
    expected = hashlib.sha256(b"".join(rows)).hexdigest()
    assert content_digest(row_hashes(pixels, labels)) == expected


def test_a_digest_depends_on_what_but_not_on_the_order() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (300, 4, 5), dtype=np.uint8)
    labels = rng.integers(0, 256, (300, 1), dtype=np.uint8)
    digest = content_digest(row_hashes(pixels, labels))
    order = rng.permutation(300)
    assert content_digest(row_hashes(pixels[order], labels[order])) == digest
    assert content_digest(row_hashes(pixels, labels[order])) != digest
    assert content_digest(row_hashes(pixels[:-1], labels[:-1])) != digest
    pixels[17, 2, 3] ^= 1
    assert content_digest(row_hashes(pixels, labels)) != digest


class Answer(socketserver.StreamRequestHandler):
    """Answers each request with the server's `answer`."""

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(self.server.answer)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.0 404 Not Found\r\n\r\n", "fetching it failed: 404"),
        (b"something else\r\n\r\n", "fetching it failed: .*BadStatusLine"),
        (
            b"HTTP/1.0 200 OK\r\nContent-Length: 99\r\n\r\nhalf",
            "something else than|fetching it failed",
        ),
    ],
    ids=["not found", "not HTTP", "broken off"],
)
def test_a_download_that_fails_leaves_nothing(tmp_path: Path, answer: bytes, message: str) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), Answer) as server:
        server.answer = answer  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/thing.gz"
        with pytest.raises(DataError, match=message) as caught:
            locate(tmp_path, SourceFile(NAMES, Download(url, "0" * 64)))
        thread.join()
    assert url in str(caught.value) and "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
