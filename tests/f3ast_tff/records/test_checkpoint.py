"""Checkpoints: bit-exact, never half-loaded."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.core.errors import CheckpointError
from f3ast_tff.records.checkpoint import Checkpoint, CheckpointStore


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "checkpoints", "run 1")


def checkpoint(round_number: int) -> Checkpoint:
    arrays = {
        "engine/weights": np.full((2, 3), np.pi * round_number, np.float32),
        "strategy/rates": np.array([5e-324, 0.1, np.nan, -0.0]),
        "history/empty": np.zeros((4, 0), np.int64),
        "engine/step": np.array(round_number),
    }
    return Checkpoint(round_number, arrays, {"rows": [{"loss": math.nan, "x": 0.1 + 0.2}]})


def assert_same(got: Checkpoint | None, expected: Checkpoint) -> None:
    assert got is not None
    assert got.round_number == expected.round_number
    assert repr(got.meta) == repr(expected.meta)
    assert got.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        assert (got.arrays[name].dtype, got.arrays[name].shape) == (array.dtype, array.shape)
        assert got.arrays[name].tobytes() == array.tobytes()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_saved_comes_back_bit_for_bit(store: CheckpointStore) -> None:
    assert store.load_newest() is None
    store.save(checkpoint(7))
    assert_same(store.load_newest(), checkpoint(7))


def test_parts_are_told_apart_by_prefix() -> None:
    assert sorted(checkpoint(1).part("engine")) == ["step", "weights"]
    assert checkpoint(1).part("eng") == {}


def test_only_the_newest_two_are_kept(store: CheckpointStore, tmp_path: Path) -> None:
    for round_number in (9, 10, 99, 100):
        store.save(checkpoint(round_number))
    assert files(tmp_path / "checkpoints") == ["round_00000099.npz", "round_00000100.npz"]
    assert_same(store.load_newest(), checkpoint(100))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_truncated_file_is_named_and_the_one_before_is_taken(
    share: float, store: CheckpointStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.save(checkpoint(1))
    path = store.save(checkpoint(2))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with caplog.at_level(logging.WARNING):
        assert_same(store.load_newest(), checkpoint(1))
    assert len(caplog.records) == 1
    assert str(path) in caplog.text
    assert "damaged" in caplog.text


@pytest.mark.long
def test_one_wrong_byte_is_noticed_wherever_it_is(
    store: CheckpointStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Also in a zip's directory, where NumPy would silently miss arrays."""
    caplog.set_level(logging.CRITICAL)
    store.save(checkpoint(1))
    path = store.save(Checkpoint(2, {"a/x": np.arange(3.0), "b/y": np.zeros(0)}, {}))
    content = path.read_bytes()
    directory = content.index(b"PK\x01\x02")
    for i in [*range(0, directory, 23), *range(directory, len(content))]:
        for flip in (0x01, 0xFF):
            path.write_bytes(content[:i] + bytes([content[i] ^ flip]) + content[i + 1 :])
            loaded = store.load_newest()
            assert loaded is not None
            assert loaded.round_number == 1
    path.write_bytes(content)
    assert store.load_newest().round_number == 2


def test_none_left_names_every_file(store: CheckpointStore) -> None:
    paths = [store.save(checkpoint(round_number)) for round_number in (1, 2)]
    for path in paths:
        path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CheckpointError) as caught:
        store.load_newest()
    assert all(str(path) in str(caught.value) for path in paths)
    assert "\n" not in str(caught.value)
    assert all(path.exists() for path in paths)


def test_file_of_another_run_is_refused(store: CheckpointStore, tmp_path: Path) -> None:
    path = store.save(checkpoint(1))
    other = CheckpointStore(tmp_path / "checkpoints", "run 2")
    with pytest.raises(CheckpointError, match="other settings") as caught:
        other.load_newest()
    assert str(path) in str(caught.value)


def test_file_of_another_format_is_refused(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr("f3ast_tff.records.checkpoint._FORMAT", "f3ast-tff checkpoint 0")
        path = store.save(checkpoint(1))
    with pytest.raises(
        CheckpointError, match="not of the format 'f3ast-tff checkpoint 1'"
    ) as caught:
        store.load_newest()
    assert str(path) in str(caught.value)


FOREIGN: dict[str, Callable[[Path], object]] = {
    "someone_elses_arrays": lambda path: np.savez(path, weights=np.ones(3)),
    "someone_elses_header": lambda path: np.savez(path, header=np.array("hello")),
    "objects": lambda path: np.savez(path, header=np.array([{}], dtype=object)),
    "text": lambda path: path.write_text("not a checkpoint at all"),
    "nothing": lambda path: path.write_bytes(b""),
    "folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("write", FOREIGN.values(), ids=FOREIGN)
def test_foreign_file_is_named_and_passed_over(
    write: Callable[[Path], object],
    store: CheckpointStore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "checkpoints" / "round_00000009.npz"
    write(path)
    with pytest.raises(CheckpointError, match=path.name):
        store.load_newest()
    store.save(checkpoint(3))
    assert_same(store.load_newest(), checkpoint(3))
    assert path.name in caplog.text


def test_a_crash_while_saving_leaves_the_older_ones(
    store: CheckpointStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(checkpoint(1))
    store.save(checkpoint(2))
    before = files(tmp_path / "checkpoints")

    def no_space(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        store.save(checkpoint(3))
    assert files(tmp_path / "checkpoints") == before
    assert_same(store.load_newest(), checkpoint(2))
