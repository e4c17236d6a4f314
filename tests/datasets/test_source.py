"""Finding, fetching and checking the distributors' files."""

from __future__ import annotations

import hashlib
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.core.errors import DataError
from f3ast_tff.datasets.images import content_digest, row_hashes
from f3ast_tff.datasets.source import Download, SourceFile, default_data_dir, locate
from tests.datasets.tiny_files import served

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
