"""Arrays on disk: NumPy's files are read; pickles and oversized archives are refused."""

from __future__ import annotations

import errno
import gc
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.files import array_files
from f3ast_tff.files.array_files import load_npz, open_npy, read_npz, write_npz

ARRAYS = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "empty": np.zeros((0, 4), np.uint8),
    "flags": np.array([True, False]),
    "big endian": np.arange(3, dtype=">i2"),
    "texts": np.array(["a", "bcd"]),
}


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


class _Touches:
    """An object that executes code if it is unpickled."""

    def __reduce__(self) -> tuple:
        return (Path("unpickled").touch, ())


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_a_mapped_array_comes_back_read_only(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", array)
    found = open_npy(tmp_path / "a.npy")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    assert isinstance(found, np.memmap) and not found.flags.writeable


def test_archives_come_back_writable(tmp_path: Path) -> None:
    plain = io.BytesIO()
    np.savez(plain, **ARRAYS)
    np.savez_compressed(tmp_path / "a.npz", zeros=np.zeros(10**6), **ARRAYS)
    compressed = load_npz(tmp_path / "a.npz")
    assert not compressed.pop("zeros").any()
    for found in (read_npz(plain), compressed):
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype and found[name].flags.writeable


WHOLE = saved(np.arange(4.0))
REFUSED = {
    "objects": saved(np.array([_Touches()], object)),
    "a pickle": pickle.dumps(_Touches()),
    "a cut header": WHOLE[:9],
    "a cut array": WHOLE[:-1],
    "a huge shape": WHOLE.replace(b"(4,), }" + b" " * 13, b"(99999999999999,), }"),
    "another version": WHOLE.replace(b"NUMPY\x01", b"NUMPY\x09"),
    "deep nesting": b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"(" * 9000,
    "nothing": b"",
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED)
def test_damaged_files_and_pickles_are_refused(cwd: Path, content: bytes) -> None:
    Path("a.npy").write_bytes(content)
    with pytest.raises(ValueError):
        open_npy(Path("a.npy"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("a.npy", content)
    for given in (archive, io.BytesIO(content)):
        with pytest.raises(ValueError):
            read_npz(given)
    assert not Path("unpickled").exists()


def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    for read in (open_npy, load_npz):
        with pytest.raises(ValueError, match="not a regular file"):
            read(tmp_path / "a")


def test_more_bytes_than_stated_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(10**6))
    with pytest.raises(ValueError, match="more than"):
        read_npz(io.BytesIO((tmp_path / "a.npz").read_bytes()))
    monkeypatch.setattr(array_files, "_MAX_ARRAYS_BYTES", 10**6)
    with pytest.raises(ValueError, match="more than 1000000"):
        load_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("compressed", [False, True])
def test_what_is_written_is_what_numpy_writes(compressed: bool) -> None:
    arrays = {"a/x": np.arange(5.0), "header": np.array("text"), "none": np.zeros((3, 0), bool)}
    ours, theirs = io.BytesIO(), io.BytesIO()
    write_npz(ours, arrays, compressed=compressed)
    (np.savez_compressed if compressed else np.savez)(theirs, **arrays)
    assert ours.getvalue() == theirs.getvalue()
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_npz(io.BytesIO(), {"x": np.array([None])})


@pytest.mark.long
@pytest.mark.parametrize("room", [0, 10, 200, 400])
def test_a_full_disk_leaves_nothing_to_the_collection_of_garbage(room: int, tmp_path: Path) -> None:
    """Garbage collection would otherwise print a traceback: here, a warning that is an error."""

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            if self.tell() + len(data) > room:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    with pytest.raises(OSError, match="No space"), Full(tmp_path / "x.npz", "wb") as file:
        write_npz(file, {"x": np.arange(30.0)})
    gc.collect()
