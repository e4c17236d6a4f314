"""Arrays on disk: what NumPy writes is read, what it could be made to do is not done."""

from __future__ import annotations

import io
import os
import struct
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff import array_files
from f3ast_tff.array_files import load_npz, open_npy, read_npz

ARRAYS = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "scalar": np.array(3),
    "empty": np.zeros((0, 4), np.uint8),
    "flags": np.array([True, False]),
    "big endian": np.arange(3, dtype=">i2"),
    "texts": np.array(["a", "bcd"]),
    "complex": np.array([1j]),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_what_numpy_writes_comes_back(
    tmp_path: Path, array: np.ndarray, version: tuple[int, int]
) -> None:
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array(file, array, version)
    found = open_npy(tmp_path / "a.npy")
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    assert isinstance(found, np.memmap) and not found.flags.writeable


def npy(header: str, content: bytes = b"", length: int | None = None) -> bytes:
    raw = header.encode("latin1")
    size = len(raw) if length is None else length
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", size) + raw + content


def header(descr: str = "'<f8'", shape: str = "(2,)", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


REFUSED = {
    "objects": (npy(header("'|O'"), bytes(16)), "booleans, numbers or texts"),
    "raw bytes": (npy(header("'|V8'"), bytes(16)), "booleans, numbers or texts"),
    "a record": (npy(header("[('a', '<f8')]"), bytes(16)), "booleans, numbers or texts"),
    "no such dtype": (npy(header("'<f3'"), bytes(6)), "its dtype is <f3"),
    "a huge shape": (npy(header(shape="(9999999999999, 999999)"), bytes(16)), "its header says"),
    "a shape that overflows": (npy(header(shape="(4294967296, 4294967296)")), "header says"),
    "many axes": (npy(header(shape=f"({'1, ' * 40})").replace(", )", ",)"), bytes(8)), "40 axes"),
    "a negative shape": (npy(header(shape="(-1,)"), bytes(16)), "booleans, numbers or texts"),
    "items of no size": (npy(header("'<U0'", "(999999999999,)")), "booleans, numbers or texts"),
    "an expression": (npy(header(shape="(2 if 1 else 2,)"), bytes(16)), "booleans, numbers"),
    "deep nesting": (npy("(" * 9000), "booleans, numbers or texts"),
    "a header of 4 GiB": (npy(header(), length=2**32 - 1), "claims 4294967295 bytes"),
    "a cut header": (npy(header())[:9], "cut short"),
    "a cut array": (npy(header(), bytes(15)), "its header says"),
    "more than the array": (npy(header(), bytes(17)), "its header says"),
    "another version": (b"\x93NUMPY\x09\x00" + bytes(100), "of version 9"),
    "something else": (b"hello", "does not start"),
    "nothing": (b"", "does not start"),
}


@pytest.mark.parametrize(("content", "why"), REFUSED.values(), ids=REFUSED)
def test_headers_are_not_believed(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=why) as raised:
        open_npy(path)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("a.npy", content)
    with pytest.raises(ValueError, match="it"):
        read_npz(archive)


@pytest.mark.parametrize("filler", ["1" * 9000, "1, " * 3000, " " * 9000])
def test_a_long_header_is_refused_at_once(tmp_path: Path, filler: str) -> None:
    (tmp_path / "a.npy").write_bytes(npy(header(shape=f"({filler}!)")))
    started = time.monotonic()
    with pytest.raises(ValueError, match="its header"):
        open_npy(tmp_path / "a.npy")
    assert time.monotonic() - started < 0.5


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(ValueError, match="not a regular file"):
        open_npy(tmp_path / "a.npy")


def test_an_archive_comes_back_writable() -> None:
    file = io.BytesIO()
    np.savez(file, **{name.replace(" ", "/"): array for name, array in ARRAYS.items()})
    found = read_npz(file)
    for name, array in ARRAYS.items():
        got = found[name.replace(" ", "/")]
        np.testing.assert_array_equal(got, array)
        assert got.dtype == array.dtype and got.flags.writeable


def test_a_compressed_file_comes_back(tmp_path: Path) -> None:
    arrays = {name: array for name, array in ARRAYS.items() if name != "scalar"}
    np.savez_compressed(tmp_path / "a.npz", zeros=np.zeros(10**6), **arrays)
    found = load_npz(tmp_path / "a.npz")
    assert found.keys() == {"zeros", *arrays} and not found["zeros"].any()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_a_compressed_file_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the limit, more or less than its directory says, a damaged stream, a pipe."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros(10**6))
    whole = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(array_files, "_MOST_ARRAYS_BYTES", 8 * 10**6)
        with pytest.raises(ValueError, match="its directory is damaged"):
            load_npz(path)
    size = struct.pack("<I", 8 * 10**6 + 128)
    at = whole.rindex(size)
    for claimed in (8 * 10**6, 2**31):
        path.write_bytes(whole[:at] + struct.pack("<I", claimed) + whole[at + 4 :])
        with pytest.raises(ValueError, match="another size than it says"):
            load_npz(path)
    path.write_bytes(whole[:300] + bytes([whole[300] ^ 255]) + whole[301:])
    with pytest.raises(ValueError, match="it is damaged"):
        load_npz(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        load_npz(path)


def test_an_archive_is_never_larger_than_its_file() -> None:
    """Compressed zeros, members on one another's bytes, names given twice."""
    file = io.BytesIO()
    np.savez_compressed(file, a=np.zeros(10**7))
    with pytest.raises(ValueError, match="its directory is damaged|not a plain array"):
        read_npz(file)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(header(shape="(1,)"), os.urandom(8)))
    with pytest.raises(ValueError, match="not a plain array"):
        read_npz(file)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", npy(header(shape="(100,)"), bytes(800)))
        archive.filelist += 20 * archive.filelist
    with pytest.raises(ValueError, match="its directory is damaged"):
        read_npz(file)


@pytest.mark.parametrize("content", [b"", b"PK", bytes(5000)])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="it is damaged"):
        read_npz(io.BytesIO(content))
