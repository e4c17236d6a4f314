"""Columns of examples and their offsets."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.core.federated_data import ClientExamples, FederatedData

ROOT = Path(__file__).parents[3]


def examples(offsets: list[int]) -> ClientExamples:
    return ClientExamples(np.arange(10.0).reshape(5, 2), np.arange(5), np.array(offsets))


def test_clients_are_the_rows_between_offsets() -> None:
    data = examples([0, 2, 2, 5])
    assert data.num_clients == 3
    assert data.sizes.tolist() == [2, 0, 3]
    x, y = data.client(2)
    assert y.tolist() == [2, 3, 4]
    assert x[:, 0].tolist() == [4, 6, 8]
    assert data.client(1)[0].shape == (0, 2)
    assert np.shares_memory(x, data.features)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(
            ({"offsets": np.array(offsets)}, "offsets must rise from 0 to 5")
            for offsets in ([1, 5], [0, 4], [0, 6], [0, 3, 2, 5])
        ),
        *(
            ({"offsets": offsets}, "offsets must be integers")
            for offsets in (np.array([0.0, 5.0]), np.array([[0, 5]]), np.array([], int))
        ),
        ({"labels": np.zeros(4, int)}, "5 rows of features but 4 of labels"),
        ({"labels": np.zeros(5, complex)}, "labels must be integers or floats, not complex128"),
        ({"names": np.array(["x", "y"])}, "2 names for 1 clients"),
    ],
)
def test_columns_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    columns = {
        "features": np.zeros((5, 1)),
        "labels": np.zeros(5, int),
        "offsets": np.array([0, 5]),
    }
    with pytest.raises(ValueError, match=message):
        ClientExamples(**{**columns, **given})


def test_pooled_is_one_client_with_the_same_rows() -> None:
    features, labels = np.arange(10.0)[:, None], np.arange(10)
    pooled = ClientExamples(features, labels, np.array([0, 3, 3, 10])).pooled()
    assert pooled.num_clients == 1
    np.testing.assert_array_equal(pooled.client(0)[0], features)
    np.testing.assert_array_equal(pooled.client(0)[1], labels)


def test_taken_clients_keep_their_names() -> None:
    data = FederatedData.from_arrays([[1.0], [2], [3]], [0, 0, 1], ["x", "y", "z"], test=None)
    taken = data.train.take(np.array([2, 0]))
    assert taken.names is not None and taken.names.tolist() == ["z", "x"]
    assert taken.features.tolist() == [[3], [1]]


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i8"])
def test_labels_may_be_of_any_integer_type(dtype: str) -> None:
    part = ClientExamples(np.zeros((3, 1)), np.array([0, 1, 1], dtype), np.array([0, 3]))
    FederatedData(part, part, 2)


@pytest.mark.parametrize(
    ("features", "labels", "names", "says"),
    [
        (np.array([[0], [2**32]]), np.array([0, 1]), None, "features must be .* fit int32"),
        (np.zeros((2, 1)), np.array([0, -(2**40)]), None, "labels must be .* fit int32"),
        (np.array([["a"], ["b"]]), np.array([0, 1]), None, "features must be numbers, not <U1"),
        (np.zeros((2, 1)), np.array([0, 1]), np.array(["a", "a"]), "names must differ"),
    ],
)
def test_arrays_that_no_engine_can_hold_are_refused(
    features: np.ndarray, labels: np.ndarray, names: np.ndarray | None, says: str
) -> None:
    """Integers of 64 bits would wrap around without a word."""
    with pytest.raises(ValueError, match=says):
        ClientExamples(features, labels, np.array([0, 1, 2]), names)


def sequences(label: int) -> ClientExamples:
    """Sequences without labels, but for one in row 3, of client 2."""
    labels = np.full((5, 3), -1)
    labels[3, 1] = label
    return ClientExamples(TRAIN.features, labels, TRAIN.offsets)


TRAIN, TEST = examples([0, 2, 2, 5]), examples([0, 1, 5])
WIDE = ClientExamples(np.zeros((5, 3)), TRAIN.labels, TRAIN.offsets)
NOTHING = ClientExamples(np.zeros((0, 3)), TRAIN.labels[:0], np.array([0, 0]))


@pytest.mark.parametrize(
    ("train", "test", "num_classes", "says"),
    [
        (TRAIN, TEST, 4, r"below 4, .* client 2 has 4 \(training row 4\)"),
        (TRAIN, sequences(7), 5, r"client 2 has 7 \(test row 3\)"),
        (TRAIN, TEST, 0, "num_classes 0"),
        (TRAIN, WIDE, 5, r"features have shape \(2,\), test features \(3,\)"),
    ],
)
def test_examples_that_do_not_fit_are_refused(
    train: ClientExamples, test: ClientExamples, num_classes: int, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        FederatedData(train, test, num_classes)


def test_examples_that_fit() -> None:
    """Labels may be missing, and nothing has no shape."""
    FederatedData(TRAIN, TEST, 5)
    FederatedData(sequences(-1), sequences(-1), 1)
    FederatedData(TRAIN, NOTHING, 5)


# Client 2 has 30, 60; client 10 has 10, 40, 50; client 7 has 20.
FEATURES = np.array([[10], [20], [30], [40], [50], [60]], np.float64)
CLIENTS = np.array([10, 7, 2, 10, 10, 2])
LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_examples_are_grouped_by_client_in_their_order() -> None:
    data = FederatedData.from_arrays(FEATURES, LABELS, CLIENTS, test=None)
    assert data.train.features.ravel().tolist() == [30, 60, 20, 10, 40, 50]
    assert data.train.labels.tolist() == [2, 2, 1, 0, 0, 1]
    assert data.train.offsets.tolist() == [0, 2, 3, 6]
    assert data.train.names is not None and data.train.names.tolist() == ["2", "7", "10"]
    types = data.train.features.dtype, data.train.labels.dtype, data.train.offsets.dtype
    assert types == (np.float32, np.int32, np.int64)
    assert data.test is data.train and data.num_classes == 3
    assert (
        FederatedData.from_arrays(FEATURES, LABELS, CLIENTS, test=0.5, num_classes=9).num_classes
        == 9
    )


def test_a_mask_says_what_is_for_testing() -> None:
    mask = np.array([False, True, False, True, False, False])
    data = FederatedData.from_arrays(FEATURES, LABELS, CLIENTS, test=mask)
    assert data.train.features.ravel().tolist() == [30, 60, 10, 50]
    assert data.test.features.ravel().tolist() == [20, 40]
    names = [part.names.tolist() for part in (data.train, data.test) if part.names is not None]
    assert names == [["2", "10"], ["7", "10"]]


def test_a_share_of_each_client_is_for_testing() -> None:
    """Sizes 1, 2, 10, 40 at 0.25 give 0 (one is kept), 1 at least, round(2.5) = 2 and 10."""
    sizes = np.array([1, 2, 10, 40])
    clients = np.random.default_rng(0).permutation(np.repeat(np.arange(4), sizes))
    features = np.arange(len(clients))[:, None]

    def split(seed: int, fraction: float = 0.25) -> FederatedData:
        labels = np.zeros(len(clients), int)
        return FederatedData.from_arrays(features, labels, clients, test=fraction, seed=seed)

    data = split(0)
    assert data.train.sizes.tolist() == [1, 1, 8, 30]
    assert data.test.sizes.tolist() == [1, 2, 10]
    assert data.test.names is not None and data.test.names.tolist() == ["1", "2", "3"]
    assert data.scored_clients() == (3, 4)
    everything = np.concatenate([data.train.features, data.test.features])
    assert sorted(everything.ravel().tolist()) == list(range(len(clients)))
    for part in (data.train, data.test):
        assert part.names is not None
        for k in range(part.num_clients):
            rows = part.client(k)[0].ravel()
            assert np.all(clients[rows] == int(part.names[k])) and np.all(np.diff(rows) > 0)
    np.testing.assert_array_equal(split(0).test.features, data.test.features)
    assert not np.array_equal(split(1).test.features, data.test.features)
    assert split(0, 0.999).train.sizes.tolist() == [1, 1, 1, 1]


def test_integers_and_images_stay_what_they_are() -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    data = FederatedData.from_arrays(images, [1, 0], ["b", "a"], test=None)
    np.testing.assert_array_equal(data.train.features, images[::-1])
    assert data.train.features.dtype == np.uint8


def test_integers_beyond_int32_become_float32() -> None:
    """As int32, a time in milliseconds would turn negative."""
    for value, kept in ((2**31 - 1, np.int64), (1_700_000_000_000, np.float32)):
        data = FederatedData.from_arrays(np.array([[value], [0]]), [1, 0], ["a", "b"], test=None)
        assert data.train.features.dtype == kept
        assert data.train.features[0, 0] == pytest.approx(value, rel=1e-7)


GOOD: dict[str, Any] = {"features": FEATURES, "labels": LABELS, "clients": CLIENTS}
NAN = np.where(np.arange(6)[:, None] == 4, np.nan, FEATURES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": FEATURES[:5]}, "5 rows of features, 6 of labels, 6 of clients"),
        ({"features": FEATURES.ravel()}, r"features must be numbers \[n, ...\], not float64 \[6\]"),
        ({"features": [["x"]] * 6}, "features must be numbers"),
        ({"features": NAN}, "features must be finite: row 4, of client 10"),
        ({"features": -1e300 * FEATURES}, "features must be finite: row 0, of client 10"),
        ({"labels": LABELS - 1}, "labels must be at least 0: row 0, of client 10, has -1"),
        ({"labels": LABELS.astype(str)}, "labels must be integers"),
        ({"labels": LABELS / 2, "num_classes": 3}, "must be integers with 3 classes"),
        ({"labels": LABELS * np.nan}, "labels must be finite: row 0, of client 10"),
        ({"labels": LABELS + 2**40}, "labels must be class ids"),
        # Sequences of labels have this form too.
        (
            {"labels": np.eye(3, dtype=int)[[0, 1, 2] * 2]},
            r"labels are one-hot: give class ids \[n\]",
        ),
        ({"features": np.ma.masked_equal(FEATURES, FEATURES[1, 0])}, "without masked values"),
        ({"features": SimpleNamespace(toarray=None)}, "features and labels must be dense"),
        ({"num_classes": 2}, r"client 2 has 2 \(training row 0\)"),
        ({"clients": CLIENTS / 2}, "clients must be integers or texts"),
        ({"clients": CLIENTS[:, None]}, "clients must be integers or texts"),
        ({"test": 0.0}, "test 0.0: must be above 0 and below 1"),
        ({"test": 1}, "test 1: must be above 0 and below 1"),
        ({"clients": np.arange(6), "test": 0.1}, "no client has enough examples"),
        ({"test": CLIENTS}, r"test must be bool \[6\], not int64"),
        ({"test": np.ones(5, bool)}, r"test must be bool \[6\], not bool \[5\]"),
        ({"test": np.ones(6, bool)}, "there must be training and test examples"),
    ],
)
def test_bad_arrays_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FederatedData.from_arrays(**{**GOOD, "test": None, **given})


@pytest.mark.parametrize(
    ("clients", "message"),
    [
        ([1, "1", "2", "2", "2", "2"], "clients: 1 and '1' would be one"),
        (["a", "a\0", "b", "b", "b", "b"], r"clients: 'a' and 'a\\x00' would be one"),
        (["x" * 1001, "b", "b", "b", "b", "b"], "is longer than 1000 characters"),
    ],
)
def test_two_clients_do_not_become_one(clients: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FederatedData.from_arrays(FEATURES, LABELS, clients)
    frame = pd.DataFrame({"client": clients, "label": LABELS, "x": 0.5})
    with pytest.raises(ValueError, match=message.replace("clients", "column 'client'")):
        FederatedData.from_frame(frame)
    with pytest.raises(ValueError, match=message.replace("clients", "column 'label'")):
        FederatedData.from_frame(frame.rename(columns={"client": "label", "label": "client"}))


@pytest.mark.parametrize("low", [2**62, -(2**62), 2**24, 1_700_000_001])
def test_integers_that_would_become_one_are_refused(low: int) -> None:
    values = np.array([low, low + 1, 0, 0, 0, 0])
    message = f"{low} and {low + 1} are one number in single precision: subtract a constant"
    for column in (values, pd.array(values, "Int64")):
        frame = pd.DataFrame({"client": CLIENTS, "label": LABELS, "time": column})
        with pytest.raises(ValueError, match=f"column 'time': {message}"):
            FederatedData.from_frame(frame)
    if abs(low) > 2**31:
        with pytest.raises(ValueError, match=f"features: {message}"):
            FederatedData.from_arrays(values[:, None], LABELS, CLIENTS)
    else:
        # Integers stay integers.
        data = FederatedData.from_arrays(values[:, None], LABELS, CLIENTS, test=None)
        assert data.train.features.max() == low + 1


FRAME = pd.DataFrame(
    {
        "client": ["b", "a", "b", "a"],
        "x": [1.5, 2, 3, 4],
        "label": ["dog", "cat", "dog", "ape"],
        "flag": [True, False, False, True],
        "note": ["some", "text", "not", "read"],
        "split": ["train", "train", "test", "test"],
    }
)


APE = "labels are classes: 3 classes, of which 1 have no training example: ape"


def test_a_frame(caplog: pytest.LogCaptureFixture) -> None:
    data = FederatedData.from_frame(FRAME, split="split")
    assert data.train.features.tolist() == [[2, 0], [1.5, 1]]
    assert data.train.labels.tolist() == [1, 2] and data.test.labels.tolist() == [0, 2]
    assert data.num_classes == 3 and data.train.features.dtype == np.float32
    assert caplog.messages == ["not read as features: note", APE]
    spelled = FRAME.assign(split=["Train", "train ", "TEST", "test"])
    assert FederatedData.from_frame(spelled, split="split").sha256() == data.sha256()


def test_a_column_of_numbers_with_a_text_is_named_with_it(caplog: pytest.LogCaptureFixture) -> None:
    frame = FRAME.assign(pressure=pd.Series([80, 75.5, "high", "91"], dtype=object))
    FederatedData.from_frame(frame, split="split")
    assert caplog.messages == ["not read as features: note, pressure (row 2 has 'high')", APE]
    caplog.clear()
    frame = FRAME.assign(pressure=list(map(Decimal, ("80", "75.5", "1", "91"))))
    FederatedData.from_frame(frame, split="split")
    assert "pressure (its numbers are of type Decimal: astype(float) makes them" in caplog.text


# Columns of 40 rows, beside clients, labels 0 and 1 and a feature, and what is said of them.
SAID: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({"label": ["no", "yes"] * 20, "client": ["1", "2.0", "01", "2"] * 10}, ""),
    "spellings of classes": (
        {"label": ["no", "yes", "no ", "Yes"] * 10},
        "column label: 'Yes' and 'yes' are two, by case or blanks",
    ),
    "spellings of clients": (
        {"client": ["north 1", "South", "north  1", "South"] * 10},
        "column client: 'north  1' and 'north 1' are two, by case or blanks",
    ),
    "letters coded in two ways": (
        {"client": ["caf\u00e9", "Nice", "cafe\u0301", "Nice"] * 10},
        "column client: 'cafe\u0301' and 'caf\u00e9' are two, by case or blanks, or letters coded",
    ),
    "blanks of no width": (
        {"client": ["north", "south", "north\u200b", "south"] * 10},
        "column client: 'north' and 'north\\u200b' are two, by case or blanks, or",
    ),
    "a gap as a class": (
        {"label": ["0", "1", "0", "?"] * 10},
        "column label: classes are texts, as ? is no number",
    ),
    "one class": ({"label": "a"}, "all labels are one class: every model is right"),
    "objects": (
        {"label": pd.Series([2, 10] * 20, dtype=object)},
        "labels are classes from 0: 11 classes, of which 9 have no training example: 0, 1, 3",
    ),
    "leaks": (
        {"id": np.arange(7, 47), "target": [3.0, 5] * 20, "one": 1},
        "features that number the rows, or have one value per class (leaks?): id, target",
    ),
    "copies": ({"x": np.arange(40) // 2 % 7 / 7}, "4 of 4 test examples equal a training example"),
    "few distinct rows": ({"x": 0.5}, ""),
}


@pytest.mark.parametrize(("columns", "said"), SAID.values(), ids=SAID.keys())
def test_what_means_something_else_is_said(
    columns: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    x = np.random.default_rng(0).random(40)
    frame = pd.DataFrame({"client": ["a", "b"] * 20, "label": [0, 1] * 20, "x": x})
    FederatedData.from_frame(frame.assign(**columns))
    assert [message.startswith(said) for message in caplog.messages] == [True] * bool(said)


def test_names_of_columns_and_classes_are_kept() -> None:
    named = FRAME.rename(columns={"label": "number"}).assign(label=list("bcab"))
    data = FederatedData.from_frame(named, split="split", features=["x"])
    assert (data.feature_names, data.label_names) == (("x",), ("a", "b", "c"))
    numbers = FRAME.assign(label=[0, 1, 2, 2])
    assert FederatedData.from_frame(numbers, split="split").label_names == ()


def test_texts_of_pandas_name_clients() -> None:
    clients = pd.Series(["b", "a", "b"]).to_numpy(object)
    data = FederatedData.from_arrays(np.eye(3), [0, 1, 0], clients, test=None)
    assert data.train.names is not None and data.train.names.tolist() == ["a", "b"]


def test_chosen_features_and_a_drawn_split() -> None:
    data = FederatedData.from_frame(FRAME, features=["x"], test_fraction=0.5, seed=3)
    assert (data.train.sizes.tolist(), data.test.sizes.tolist()) == ([1, 1], [1, 1])
    assert data.train.features.shape == (2, 1)


def test_pandas_own_numbers() -> None:
    frame = pd.DataFrame(
        {
            "client": pd.array([10, 9, 10, 9], "Int64"),
            "label": pd.array([1, 0, 1, 10], "Int64"),
            "x": pd.array([0.5, 1, 2, 3], "Float64"),
        }
    )
    data = FederatedData.from_frame(frame, test_fraction=0.5)
    assert data.train.names is not None and data.train.names.tolist() == ["9", "10"]
    assert data.num_classes == 11
    frame.loc[2, "x"] = pd.NA
    with pytest.raises(ValueError, match="features must be finite: row 2, of client 10"):
        FederatedData.from_frame(frame)


def test_whole_numbers_read_as_floats_are_classes() -> None:
    frame = FRAME.assign(label=[0.0, 1, 1, 0])
    assert FederatedData.from_frame(frame, split="split").num_classes == 2


@pytest.mark.parametrize("nested", [False, True])
def test_a_column_of_arrays(nested: bool) -> None:
    images = np.arange(24).reshape(4, 2, 3)
    cells = images.tolist() if nested else list(images)
    frame = FRAME[["client", "label", "split"]].assign(image=cells)
    data = FederatedData.from_frame(frame, split="split")
    np.testing.assert_array_equal(data.train.features, images[[1, 0]])


BAD: dict[str, tuple[pd.DataFrame, str]] = {
    "no client": (FRAME.drop(columns="client"), "no column 'client'; there are x, label"),
    "no rows": (FRAME[:0], "it has no rows"),
    "twice": (pd.concat([FRAME, FRAME[["x"]]], axis=1), "two columns have the same name"),
    "levels": (pd.concat([FRAME], keys=["a"], axis=1), "one name per column, not 2 levels"),
    "no features": (FRAME[["client", "label", "note"]], "no other column holds either, not note"),
    "no name": (FRAME.assign(client=["a", None, "b", "b"]), "column 'client': row 1 has no value"),
    "no label": (FRAME.assign(label=["a", "b", None, "b"]), "column 'label': row 2 has no value"),
    "half": (FRAME.assign(label=[0, 0.5, 1, 1]), "column 'label': row 1 has 0.5, no integer"),
    "minus": (FRAME.assign(label=[1, -1, 1, 1]), "at least 0: row 1, of client a, has -1"),
    "shapes": (
        FRAME[["client", "label"]].assign(x=[[1, 2], [1, 2], [1], [1, 2]]),
        r"column 'x': row 2 has shape \[1\], row 0 \[2\]",
    ),
    "ragged": (
        FRAME[["client", "label"]].assign(x=[[[1], [1, 2]], [1], [1], [1]]),
        "column 'x': row 0 holds no array of numbers",
    ),
    "texts": (
        FRAME[["client", "label"]].assign(x=[[1], ["a"], [1], [1]]),
        "column 'x': row 1 holds no array of numbers",
    ),
}


@pytest.mark.parametrize(("frame", "message"), BAD.values(), ids=BAD.keys())
def test_bad_frames_are_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FederatedData.from_frame(frame, test_fraction=0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": ["x", "note"]}, "column 'note' holds neither"),
        ({"features": ["z"]}, "no column 'z'"),
        ({"split": "note"}, "column 'note': row 0 has 'some', not train or test"),
        ({"client": "label"}, "column 'label' is for two of client, label, split and features"),
        ({"split": "label"}, "column 'label' is for two of"),
        ({"features": ["label"]}, "column 'label' is for two of"),
    ],
)
def test_bad_columns_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FederatedData.from_frame(FRAME, **given)


def test_importing_it_imports_no_pandas() -> None:
    code = "import sys, f3ast_tff.core.federated_data; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_table_of_another_library_is_read_by_its_to_pandas() -> None:
    table = SimpleNamespace(to_pandas=lambda: FRAME)
    ours, theirs = (FederatedData.from_frame(each, split="split") for each in (FRAME, table))
    assert ours.sha256() == theirs.sha256()
    with pytest.raises(
        ValueError, match="must be a DataFrame, or a table with to_pandas, not dict"
    ):
        FederatedData.from_frame({"client": [1]})


def test_whom_user_scores_are_over() -> None:
    """Clients with a label that counts, of all clients or, if others test, of the test clients."""

    def data(train: list[str], test: list[str], labels: Any) -> FederatedData:
        parts = []
        for names, of_it in ((train, np.zeros(len(train), int)), (test, np.array(labels))):
            offsets = np.arange(len(names) + 1)
            parts.append(ClientExamples(np.zeros((len(names), 1)), of_it, offsets, np.array(names)))
        return FederatedData(*parts, 1)

    assert data(["a", "b", "c"], ["b"], [0]).scored_clients() == (1, 3)
    assert data(["a", "b"], ["b", "x"], [0, 0]).scored_clients() == (2, 3)
    assert data(["a", "b"], ["x", "y"], [0, -1]).scored_clients() == (1, 2)
    known = replace(data(["a"], ["a"], [0]), clients_to_score=4)
    assert known.scored_clients() == (1, 4)
    unnamed = FederatedData(examples([0, 2, 5]), examples([0, 0, 5]), 5)
    assert unnamed.scored_clients() == (1, 2)
