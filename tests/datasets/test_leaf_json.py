"""LEAF's JSON as the data of a task."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.datasets import FileTask

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
