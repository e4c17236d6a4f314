"""Availability masks written to files and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import HomeDevicesConfig, Table
from f3ast_tff.availability.logs.mask_files import write_masks
from f3ast_tff.cli.availability import main
from f3ast_tff.core.errors import DataError
from tests.f3ast_tff.run.small_run import ROUNDS, STRATEGIES, assert_same_results, run
from tests.fake_engine import Breakdown

FORMS = ("csv", "npy", "npz")


def masks(share: float, rounds: int = 30, clients: int = 21) -> np.ndarray:
    return np.random.default_rng(0).random((rounds, clients)) < share


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_what_is_written_is_read(tmp_path: Path, form: str, share: float) -> None:
    seen, path = masks(share), tmp_path / f"masks.{form}"
    write_masks(path, seen, seen.shape)
    process = Table(path)
    assert process.num_clients == 21
    assert np.array_equal([process.mask(t) for t in range(1, 31)], seen)
    assert np.array_equal(process.mask(31), seen[0])
    np.testing.assert_allclose(process.stationary, seen.mean(axis=0))
    process.mask(1)[:] ^= True
    assert np.array_equal(process.mask(1), seen[0])


def test_npz_takes_the_smaller_form(tmp_path: Path) -> None:
    for share, name in ((0.5, "packed"), (0.001, "indices")):
        seen = masks(share, 50, 400)
        write_masks(tmp_path / "m.npz", seen, seen.shape)
        with np.load(tmp_path / "m.npz") as arrays:
            assert name in arrays.files
    assert (tmp_path / "m.npz").stat().st_size < 50 * 400 / 8


@pytest.mark.filterwarnings("ignore:np.find_common_type")
def test_scipy_reads_the_sparse_form_and_writes_it(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    seen, path = masks(0.005, 60, 300), tmp_path / "m.npz"
    write_masks(path, seen, seen.shape)
    assert np.array_equal(sparse.load_npz(path).toarray().astype(bool), seen)
    sparse.save_npz(path, sparse.csr_matrix(seen.astype(np.int64)), compressed=False)
    assert np.array_equal([Table(path).mask(t) for t in range(1, 61)], seen)


GOOD: dict[str, Any] = {
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 3]),
    "format": np.array(b"csr"),
    "shape": np.array([2, 3]),
    "data": np.ones(3, bool),
}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no shape": ({"shape": None}, "it has the arrays data, format, indices, indptr: must have one"),
    "shape": ({"shape": np.array([0, 3])}, "each at least 1"),
    "format": ({"format": np.array(b"csc")}, "sparse format is not csr"),
    "too few offsets": ({"indptr": np.array([0, 3])}, "index pointer size"),
    "falling": ({"indptr": np.array([0, 4, 3])}, "non-decreasing"),
    "client": ({"indices": np.array([0, 3, 1])}, "must be < 3"),
    "negative": ({"indices": np.array([-1, 2, 1])}, "must be"),
    "twice": ({"indices": np.array([2, 2, 1])}, "the clients of a round must rise"),
    "value": ({"data": np.array([1, 2, 1])}, "another entry than 1"),
    "texts": ({"indices": np.array(["a", "b", "c"])}, "its indices must be integers"),
    "a number": ({"indices": np.array(0)}, r"its indices must be integers \[n\], not int64 \[\]"),
    "a number of offsets": ({"indptr": np.array(0)}, "its indptr must be integers"),
    "a table": ({"indptr": np.array([[0, 2, 3]])}, r"not int64 \[1, 3\]"),
    "a number of data": ({"data": np.array(1)}, "not a table"),
    "beyond int64": ({"indices": np.array([0, 2, 2**64 - 1], np.uint64)}, "must be"),
    "bits": ({"packed": np.zeros((2, 2), np.uint8)}, "bits have shape"),
    "many states": ({"shape": np.array([2, 2**40])}, "2 x 1099511627776 states, more than"),
    "nothing": ({"data": None, "indptr": None}, "neither packed nor a CSR matrix"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_archive_is_one_clear_error(tmp_path: Path, name: str) -> None:
    changed, message = BAD[name]
    arrays = {n: a for n, a in {**GOOD, **changed}.items() if a is not None}
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(DataError, match=message) as raised:
        Table(tmp_path / "m.npz")
    assert "\n" not in str(raised.value)


def test_good_by_hand(tmp_path: Path) -> None:
    unsigned = {name: GOOD[name].astype(np.uint64) for name in ("indices", "indptr")}
    np.savez(tmp_path / "m.npz", **{**GOOD, **unsigned})
    table = Table(tmp_path / "m.npz")
    assert table.mask(1).tolist() == [True, False, True]
    assert table.mask(2).tolist() == [False, True, False]


@pytest.mark.parametrize("form", FORMS)
def test_the_command_writes_the_masks(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"m.{form}"
    given = ["--availability=home_devices", "--num_clients=9", "--rounds=12", "--seed=4"]
    assert main(["availability", *given, f"--write={path}"]) == 0
    process = HomeDevicesConfig().build(np.ones(9), 4)
    assert np.array_equal(
        [Table(path).mask(t) for t in range(1, 13)], [process.mask(t) for t in range(1, 13)]
    )
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "F3AST as here: --availability_objective=p_squared"
    assert f"--table_file={path}" in printed[-3]
    assert printed[-2].startswith("SHA-256 of the masks as .csv: ")


@pytest.mark.parametrize("form", FORMS)
def test_a_run_on_its_masks_is_the_run_on_the_process(tmp_path: Path, form: str) -> None:
    """All rounds agree, also for an interrupted run that writes its masks at its end."""
    one, two = tmp_path / "one", tmp_path / "two"
    with pytest.raises(Breakdown):
        run(one, STRATEGIES["f3ast"], break_at=5, write_masks=form)
    assert not (one / f"masks.{form}").exists()
    run(one, STRATEGIES["f3ast"], write_masks=form)
    run(two, STRATEGIES["f3ast"], availability=Table(one / f"masks.{form}"))
    assert_same_results(one, two)


def test_a_finished_run_writes_what_it_lacks(tmp_path: Path) -> None:
    run(tmp_path, STRATEGIES["f3ast"])
    assert not list(tmp_path.glob("masks.*"))
    run(tmp_path, STRATEGIES["f3ast"], write_masks="csv")
    assert len((tmp_path / "masks.csv").read_text().splitlines()) == ROUNDS


def test_a_compressed_array_is_read(tmp_path: Path) -> None:
    table = np.arange(600).reshape(100, 6) % 5 == 0
    np.savez_compressed(tmp_path / "m.npz", online=table)
    np.testing.assert_array_equal(Table(tmp_path / "m.npz").mask(6), table[5])


@pytest.mark.long
def test_a_small_archive_of_gigabytes_is_refused(tmp_path: Path) -> None:
    """A megabyte of compressed zeros, and a sparse file that names a vast shape."""
    np.savez_compressed(tmp_path / "x.npz", np.zeros((1000, 10**6), bool))
    with pytest.raises(DataError, match="1000000128 bytes, more than 536870912"):
        Table(tmp_path / "x.npz")
    parts: dict[str, Any] = {"indices": [0], "indptr": [0, 1], "data": [True], "format": b"csr"}
    np.savez(tmp_path / "y.npz", shape=[1, 2**36], **parts)
    with pytest.raises(DataError, match="states, more than"):
        Table(tmp_path / "y.npz")
