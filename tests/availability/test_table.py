"""A table of availability: rounds by clients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.availability import Table
from f3ast_tff.availability.logs.availability_log import AvailabilityLog
from f3ast_tff.availability.logs.mask_files import packed_masks
from f3ast_tff.core.errors import DataError
from f3ast_tff.settings.resolve import resolve

MATRIX = np.array([[1, 0, 0], [1, 1, 0]])


def test_rows_in_turn_and_again() -> None:
    process = Table(MATRIX)
    assert [process.mask(t).tolist() for t in (1, 2, 3, 100)] == [
        [True, False, False],
        [True, True, False],
        [True, False, False],
        [True, True, False],
    ]
    np.testing.assert_allclose(process.stationary, [1, 0.5, 0])
    process.mask(1)[:] = False
    assert process.mask(1).tolist() == [True, False, False]


def test_clients_of_data_are_found_by_name(caplog: pytest.LogCaptureFixture) -> None:
    table = Table(AvailabilityLog(packed_masks(MATRIX, "log"), ("a", "b", "c")))
    assert table.of_clients(["b", "a"]).mask(2).tolist() == [True, True]
    assert table.of_clients(["b", "a"]).mask(1).tolist() == [False, True]
    assert "1 of the log's 3 clients hold no data and are left out" in caplog.text
    with pytest.raises(DataError, match="names 1 of the 2 clients that hold data, and lacks 'd'"):
        table.of_clients(["d", "a"])
    with pytest.raises(DataError, match="share no name: the log has 'a', the data 'x'"):
        table.of_clients(["x", "y", "z"])


def test_clients_are_matched_by_place_only_where_one_side_cannot_have_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without names the log's clients are numbers from 0, as those of data may be.

    An array has no names, and is matched by place if it has a column for each client. A file could
    have them.
    """
    table = Table(MATRIX)
    assert table.of_clients([]).mask(1).tolist() == [True, False, False]
    assert table.of_clients(["2", "1.0", "0"]).mask(1).tolist() == [False, False, True]
    named = table.of_clients(["x", "1", "z"])
    assert named.mask(1).tolist() == [True, False, False] and named.log.clients == ("x", "1", "z")
    assert "columns are the data's clients in their order, x, 1, z" in caplog.text
    np.save(tmp_path / "t.npy", MATRIX)
    for other, names in ((table, ["x", "y"]), (Table(tmp_path / "t.npy"), ["x", "y", "z"])):
        with pytest.raises(DataError, match="the log has no names, so '0', the data 'x'"):
            other.of_clients(names)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_npy_files(tmp_path: Path, dtype: type) -> None:
    np.save(tmp_path / "t.npy", MATRIX.astype(dtype))
    assert Table(tmp_path / "t.npy").mask(2).tolist() == [True, True, False]


def test_csv_files(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1,0,0\n1,1.0,0\n\n")
    assert Table(tmp_path / "t.csv").mask(2).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,0\n1,2\n", r"round 2, client 1 is 2.0: must be 0 or 1"),
        ("1,nan\n", r"round 1, client 1 is nan: must be 0 or 1"),
        ("1,0\n1\n", "round 2 has 1 entries, round 1 has 2"),
        ("1,yes\n", "line 1 has 'yes'"),
        ("1,0\n1,yes\n", "round 2 has 'yes'"),
        ("1," + "y" * 10_000, "line 1 has 'yy"),
        ("", "neither 0"),
    ],
)
def test_bad_tables_are_one_clear_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as raised:
        Table(path)
    assert str(path) in str(raised.value) and len(str(raised.value)) < 500


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 3), "V8"), np.array([[{}]]), np.zeros((2, 3), "f4,i4")]
)
def test_tables_of_something_else_are_refused_unread(tmp_path: Path, matrix: np.ndarray) -> None:
    np.save(tmp_path / "t.npy", matrix, allow_pickle=True)
    with pytest.raises(DataError, match="t.npy: "):
        Table(tmp_path / "t.npy")


def test_missing_and_unknown_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone.npy: there is no such file"):
        Table(tmp_path / "gone.npy")
    with pytest.raises(
        DataError,
        match="must end in .csv, .npy, .npz, .tsv, .tab, .json, .jsonl, .ndjson, .parquet",
    ):
        Table(tmp_path / "t.mat")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(DataError, match="cut.npy: not a table"):
        Table(tmp_path / "cut.npy")
    np.save(tmp_path / "flat.npy", np.ones(3))
    with pytest.raises(DataError, match=r"flat.npy: has shape \(3,\)"):
        Table(tmp_path / "flat.npy")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones(3), r"shape \(3,\), must be \[rounds, clients\]"),
        (np.ones((0, 3)), "neither 0"),
        (np.array([["1", "0"]]), "dtype <U1: must be boolean or numeric"),
        (np.array([[1, 0j]]), "dtype complex128"),
        (np.array([[True, None]]), "dtype object"),
    ],
)
def test_arrays_of_wrong_shape_or_dtype(matrix: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=f"table: .*{message}"):
        Table(matrix)


@pytest.mark.parametrize("together", [True, False])
def test_settings_follow_from_the_table(
    together: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """N, and the case of eq. (3) by the measured correlation; given settings take precedence."""
    draws = np.random.default_rng(0).random((200, 40)) < 0.4
    path = tmp_path / "mine.npy"
    np.save(path, draws & draws[:, :1] if together else draws)
    given = {"availability": "table", "table_file": str(path), "algorithm": "f3ast"}
    settings = resolve(given).settings
    assert settings["num_clients"] == 40
    assert settings["availability_objective"] == ("p" if together else "p_squared")
    resolve({**given, "rounds": 3})
    assert len([record for record in caplog.records if "mine.npy" in record.message]) == 1
    fixed = {**given, "availability_objective": "p", "num_clients": 12, "clients_per_round": 2}
    assert resolve(fixed).settings["num_clients"] == 12
    assert resolve({**given, "task": "cifar100"}).settings["num_clients"] == 500


def test_a_table_that_cannot_be_read_leaves_settings_to_their_defaults(tmp_path: Path) -> None:
    """The error of the file comes when the process is built."""
    given = {"availability": "table", "table_file": str(tmp_path / "gone.csv")}
    settings = resolve(given).settings
    assert (settings["num_clients"], settings["availability_objective"]) == (100, "p")
