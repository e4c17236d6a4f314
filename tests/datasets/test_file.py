"""Task `file`: the user's own data, as a table or as LEAF's JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.datasets import FileTask
from f3ast_tff.settings import builtin_registry

FRAME = pd.DataFrame(
    {
        "who": ["b", "a", "b", "a", "b", "a"],
        "x": [1.0, 2, 3, 4, 5, 6],
        "y": [0, 1, 0, 1, 0, 2],
        "part": ["train", "train", "train", "test", "test", "train"],
    }
)
COLUMNS = {"data_client": "who", "data_label": "y"}


def config(path: Path, **given: Any) -> FileTask:
    return FileTask(data_file=str(path), **{**COLUMNS, **given})


@pytest.fixture(params=["csv", "parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"own.{request.param}"
    if request.param == "csv":
        FRAME.to_csv(path, index=False)
    else:
        FRAME.to_parquet(path)
    return path


def test_the_split_of_the_file(path: Path) -> None:
    data = config(path, data_split="part").build()
    assert data.train.names is not None and data.train.names.tolist() == ["a", "b"]
    assert data.train.features.tolist() == [[2], [6], [1], [3]]
    assert data.train.labels.tolist() == [1, 2, 0, 0]
    assert data.test.features.tolist() == [[4], [5]]
    assert data.num_classes == 3


def test_every_parameter_reaches_the_data(path: Path) -> None:
    """A client's 3 examples give one test example at 0.4, and two at 0.6."""
    sizes = {f: config(path, test_fraction=f).build().test.sizes.tolist() for f in (0.4, 0.6)}
    assert sizes == {0.4: [1, 1], 0.6: [2, 2]}
    drawn = [config(path, test_fraction=0.4, data_seed=s).build().test.features for s in range(9)]
    assert len({part.tobytes() for part in drawn}) > 1
    other = config(path, data_client="y", data_label="part", test_fraction=0.4).build()
    assert other.train.num_clients == 3 and other.num_classes == 2


def test_a_split_that_is_not_asked_for_is_said(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config(path).build()
    assert "column part says train or test, and is not read: it decides with --data_split=part" in [
        record.getMessage() for record in caplog.records
    ]
    caplog.clear()
    config(path, data_split="part").build()
    assert "says train or test" not in caplog.text


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("is_test", "01", "column is_test is read as a feature: by its name a column of train and"),
        ("Train", ("True", "False"), "column Train is read as a feature: by its name a column of"),
        ("part", ("Train", "val"), "with --data_split=part, once its values are train and test"),
        ("cv_fold", "34", "column cv_fold is read as a feature: by its name a column of train and"),
        ("split", "12", "column split is read as a feature: by its name a column of train and"),
        ("tested", "01", ""),
        ("part", ("a", "test"), "not read as features: part"),
    ],
)
def test_other_columns_of_a_split_are_said(
    name: str, words: Sequence[str], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As a feature it tells the rows apart."""
    rows = "".join(f"{k % 2},{k % 2},{k},{words[k % 3 == 0]}\n" for k in range(12))
    (tmp_path / "x.csv").write_text(f"client,label,x,{name}\n{rows}")
    FileTask(data_file=str(tmp_path / "x.csv")).build()
    assert said in caplog.text and bool(said) == bool(caplog.text)


@pytest.mark.parametrize(
    ("before", "separator", "decimal", "encoding"),
    [
        ("", ";", ",", "utf-8"),
        ("", "\t", ".", "utf-16"),
        ("sep=;\n", ";", ",", "utf-8-sig"),
        ("# from the lab\n", ",", ".", "utf-8"),
        ("", ", ", ".", "utf-8"),
    ],
)
def test_a_csv_file_as_programs_write_it(
    before: str, separator: str, decimal: str, encoding: str, tmp_path: Path
) -> None:
    text = FRAME.assign(x=FRAME["x"] + 0.5).to_csv(index=False, sep=separator[0], decimal=decimal)
    text = text.replace(separator[0], separator)
    path = tmp_path / ("own.tsv" if separator == "\t" else "own.csv")
    path.write_text(before + text, encoding=encoding)
    data = config(path, data_split="part").build()
    assert data.train.features.tolist() == [[2.5], [6.5], [1.5], [3.5]]
    values = config(path, data_label="x", data_values=True, data_split="part")
    assert values.build().train.labels.tolist() == [2.5, 6.5, 1.5, 3.5]


def test_labels_may_be_values(path: Path) -> None:
    data = config(path, data_label="x", data_values=True, data_split="part").build()
    assert data.num_classes == 0
    assert data.train.labels.tolist() == [2, 6, 1, 3] and data.train.labels.dtype == np.float32
    frame = FRAME.assign(x=FRAME["x"] + 0.5)
    frame.to_csv(path.with_suffix(".csv"), index=False)
    with pytest.raises(ParameterError, match="has 1.5, no integer; .*--data_values"):
        config(path.with_suffix(".csv"), data_label="x").build()


def test_an_image_column_of_a_parquet_file(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((4, 2, 3)).astype(np.float32)
    frame = pd.DataFrame({"client": [0, 0, 1, 1], "label": [0, 1, 2, 0], "image": images.tolist()})
    frame.to_parquet(tmp_path / "images.parquet")
    data = FileTask(data_file=str(tmp_path / "images.parquet"), test_fraction=0.5).build()
    found = np.concatenate([data.train.features, data.test.features])
    assert {image.tobytes() for image in found} == {image.tobytes() for image in images}


def test_the_content_is_in_the_identity_and_the_place_is_not(path: Path) -> None:
    from f3ast_tff.settings.resolve import resolve

    def identity(where: Path) -> dict[str, Any]:
        return resolve({"task": "file", "data_file": str(where), **COLUMNS}).identity

    first = identity(path)
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert first["input_files"] == {"data_file": expected} and "data_file" not in first
    moved = path.rename(path.with_name(f"moved{path.suffix}"))
    assert identity(moved) == first
    moved.write_bytes(moved.read_bytes() + b"\n")
    assert identity(moved) != first


def test_ids_in_a_csv_file_are_as_they_are_written(tmp_path: Path) -> None:
    """If all ids are numbers, they are sorted as numbers; otherwise 01 and 1 are two clients."""
    path = tmp_path / "x.csv"
    for ids, names in ((["10", "9"], ["9", "10"]), (["01", "1"], ["01", "1"])):
        rows = [f"{who},{label},0.5" for who in ids for label in (0, 1)]
        path.write_text("\n".join(["client,label,x", *rows]))
        data = FileTask(data_file=str(path), test_fraction=0.5).build()
        assert data.train.names is not None and data.train.names.tolist() == names


@pytest.mark.long
def test_labels_in_a_csv_file_are_numbers_if_all_are(tmp_path: Path) -> None:
    """The file is read in pieces: a late text makes the whole column one of texts."""
    path = tmp_path / "x.csv"
    many = 300_000
    for last, num_classes in (("2", 3), ("b", 3), ("5", 6)):
        path.write_text("client,label,x\n" + "a,1,0\n" * many + f"a,0,0\na,{last},0\n")
        assert FileTask(data_file=str(path)).build().num_classes == num_classes


NO_TABLE = json.dumps({"users": [], "x": list(range(10**6))})
MANY = ",".join(f"column_{k}" for k in range(1000)) + "\n" + "1," * 999 + "1\n"
# Name and content of a file, and the reason.
REFUSED = [
    # pandas would read x as the client, and the last value as the label.
    ("x.csv", "client,x,label\n" + "a,0,1,0\nb,1,0,1\n" * 30, "its rows have more values than its"),
    # pandas would name the second `x.1`, a feature.
    ("x.csv", "client,label,x,x\n0,1,2,3\n1,0,2,3\n", "two columns have the name 'x'"),
    ("none.csv", None, "not found"),
    ("x.parquet", "no parquet", "cannot be read as parquet"),
    ("x.csv", "", "cannot be read as CSV"),
    ("x.csv", b"\xff\xfe\x00", "cannot be read as CSV"),
    (
        "x.txt",
        "",
        r"must end in .csv or .tsv \(also .csv.gz, .bz2, .xz, .zip, .zst\), .parquet, .pq or .js",
    ),
    # As CSV, one line of JSON would have as many columns as it has commas.
    ("x.csv", NO_TABLE, "it is JSON, and must end in .json"),
    ("x.json", NO_TABLE, "must be LEAF's"),
    ("x.csv", MANY, "column_9 and 990 more"),
    ("x.csv", "client,label,x\na,0,1\na,1,\n", "features must be finite: row 1, of client a"),
    *(
        ("x.csv", f"client,label,x\na,0,1\na,{label},2\n", why)
        for label, why in (
            ("2000000000", "below 1048576: row 1, of client a, has 2000000000"),
            ("-1", "labels must be at least 0: row 1, of client a"),
            ("1e300", "column 'label': row 1 has 1e.300, no integer"),
            ("inf", "column 'label': row 1 has inf, no integer"),
        )
    ),
]


@pytest.mark.parametrize(("name", "content", "why"), REFUSED, ids=[why for *_, why in REFUSED])
def test_what_is_refused_is_one_short_line(
    name: str, content: str | bytes | None, why: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ParameterError, match=why) as caught:
        FileTask(data_file=str(path)).build()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
    assert caught.value.name == ("data_client" if content == MANY else "data_file")


def test_an_index_that_pandas_wrote_is_no_feature(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "x.csv"
    FRAME.to_csv(path)
    data = config(path, data_split="part").build()
    assert data.train.features.tolist() == [[2], [6], [1], [3]]
    assert "columns without a name: Unnamed: 0" in caplog.text


def test_a_comma_at_the_end_of_every_line_is_no_feature(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("client,x,label,\n" + "a,0,1,\na,2,0,\n")
    data = FileTask(data_file=str(path), test_fraction=0.5).build()
    assert data.train.features.shape == (1, 1) and data.num_classes == 2


@pytest.mark.parametrize("name", ["data_client", "data_label", "data_split"])
def test_a_missing_column_is_refused_with_those_there_are(path: Path, name: str) -> None:
    allowed = f"{name} = nobody: must be a column of the file: who, x, y, part"
    with pytest.raises(ParameterError, match=allowed):
        config(path, **{name: "nobody"}).build()


@pytest.mark.parametrize("kind", ["csv", "parquet", "texts"])
def test_numbers_with_a_point_are_the_clients_of_those_numbers(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"client": np.arange(12.0).repeat(2), "label": [0, 1] * 12, "x": 0.5})
    path = tmp_path / f"x.{'csv' if kind == 'csv' else 'parquet'}"
    if kind == "texts":
        frame["client"] = frame["client"].astype(str)
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    data = FileTask(data_file=str(path), test_fraction=0.5).build()
    assert data.train.names is not None and data.train.names.tolist() == [*map(str, range(12))]


def test_classes_without_an_example_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "x.csv").write_text("client,label,x\n" + "a,3,1\na,5,2\nb,3,1\n" * 4)
    assert FileTask(data_file=str(tmp_path / "x.csv")).build().num_classes == 6
    (record,) = caplog.records
    said = "6 classes, of which 4 have no training example: 0, 1, 2, 4"
    assert record.getMessage().endswith(said)


def test_num_clients_is_optional() -> None:
    component = builtin_registry().components["task"]["file"]
    (parameter,) = (p for p in component.parameters if p.name == "num_clients")
    assert parameter.optional and parameter.default.compute(None) is None


X = np.random.default_rng(0).random((6, 4)).round(3).tolist()
LEAF: dict[str, Any] = {
    "users": ["f_2", "f_1"],
    "num_samples": [4, 2],
    "user_data": {"f_2": {"x": X[:4], "y": [0, 1, 2, 0]}, "f_1": {"x": X[4:], "y": [1, 2]}},
}


def task(path: Path, content: Any, **given: Any) -> FileTask:
    path.write_text(json.dumps(content))
    return FileTask(data_file=str(path), test_fraction=0.5, **given)


def test_examples_labels_and_names(tmp_path: Path) -> None:
    data = task(tmp_path / "all.json", {**LEAF, "hierarchies": []}).build()
    assert data.train.names is not None and data.train.names.tolist() == ["f_1", "f_2"]
    assert data.train.sizes.tolist() == [1, 2] and data.num_classes == 3
    found = np.concatenate([data.train.features, data.test.features])
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(np.float32(X), axis=0))


def test_images_words_and_numbers_with_a_point(tmp_path: Path) -> None:
    """Images [2, 2], labels as texts, users as pandas writes numbers."""
    images = np.reshape(X, (6, 2, 2)).tolist()
    users = {
        "2.0": {"x": images[:4], "y": ["b", "a", "b", "a"]},
        "10.0": {"x": images[4:], "y": ["a", "b"]},
    }
    content = {"users": list(users), "num_samples": [4, 2], "user_data": users}
    data = task(tmp_path / "all.json", content).build()
    assert data.train.names is not None and data.train.names.tolist() == ["2", "10"]
    assert data.train.features.shape == (3, 2, 2) and data.label_names == ("a", "b")


def changed(**parts: Any) -> dict[str, Any]:
    return {**LEAF, **parts}


ONE = {"users": ["a"], "num_samples": [1]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "must be LEAF's: an object of users, num_samples, user_data"),
        ({"devices": {}}, "must be LEAF's"),
        (changed(num_samples=[4]), "users and num_samples must be lists of one length"),
        (changed(num_samples=[4, 3]), "user 'f_1' has 2 x and 2 y, num_samples says 3"),
        (changed(users=["f_1", "f_1"]), "users names 'f_1' twice"),
        (changed(user_data={}), "user 'f_2' has no examples in user_data"),
        ({**ONE, "user_data": {"a": {"x": 1, "y": [1]}}}, "user 'a' has no lists x and y"),
        (
            {**ONE, "user_data": {"a": {"x": ["to be"], "y": [1]}}},
            "features must be columns of numbers",
        ),
    ],
)
def test_other_content_is_refused_in_a_short_line(
    content: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        task(tmp_path / "all.json", content).build()
    assert len(str(raised.value)) < 500 and "\n" not in str(raised.value)


def test_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="data_client = who: must not be given with LEAF's"):
        task(tmp_path / "all.json", LEAF, data_client="who").build()


def test_users_without_a_row_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """f_3 is empty, f_4 and f_5 are not listed: of five users two have scores."""
    more = {"f_3": {"x": [], "y": []}, "f_4": {"x": X[:1], "y": [0]}, "f_5": {"x": [], "y": []}}
    content = {
        "users": ["f_2", "f_3", "f_1"],
        "num_samples": [4, 0, 2],
        "user_data": {**LEAF["user_data"], **more},
    }
    data = task(tmp_path / "all.json", content).build()
    assert data.train.num_clients == 2 and data.scored_clients() == (2, 5)
    assert caplog.messages == [
        "1 users have no example and are left out: f_3",
        "2 users are not listed in users and are left out: f_4, f_5",
    ]
    assert replace(data, clients_to_score=None).identity == data.identity
