"""Federations mirrored by a table: shares of sites and classes, scale, refusals with the line."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import FederatedData, simulate
from f3ast_tff.availability import label_distribution
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.datasets.label_counts import apportioned, mirrored, read_counts

TABLE = "site,0,1,2\nnorth,400,40,0\nsouth,100,200,2\n"


def data_of(classes: int = 3, per_class: int = 300) -> FederatedData:
    labels = np.arange(classes * per_class) % classes
    features = np.arange(len(labels), dtype=np.float32)[:, None]
    is_test = np.arange(len(labels)) >= 2 * len(labels) // 3
    return FederatedData.from_arrays(features, labels, labels * 0, test=is_test)


def table_in(folder: Path, text: str = TABLE) -> str:
    path = folder / "sites.csv"
    path.write_text(text)
    return str(path)


def counts_of(data: FederatedData) -> np.ndarray:
    shares = label_distribution(data.train, data.num_classes)
    return np.rint(shares * data.train.sizes[:, None]).astype(int)


def test_sites_and_classes_are_the_tables_times_the_scale(tmp_path: Path) -> None:
    """200 training examples of a class: .4 is the most that class 0, of 500, allows.

    40 of class 1 in 240 become 16 of 96; 2 of class 2 become .8, rounded down to none. The 100
    test examples of a class allow a scale of .2.
    """
    found = mirrored(data_of(), table_in(tmp_path), None, seed=0)
    assert found.train.names is not None
    assert found.train.names.tolist() == ["north", "south"]
    assert counts_of(found).tolist() == [[160, 16, 0], [40, 80, 0]]
    assert found.test.sizes.tolist() == [88, 60]
    everything = np.concatenate([found.train.features, found.test.features])
    assert len(np.unique(everything)) == len(everything)


def test_a_class_that_is_short_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Half of class 0 would be 250, of which 200 are there; class 1 keeps its scale."""
    with caplog.at_level(logging.WARNING):
        found = mirrored(data_of(), table_in(tmp_path), 0.5, seed=0)
    assert counts_of(found).tolist() == [[160, 20, 0], [40, 100, 1]]
    assert "scale 0.5; 0 is short, 200 of 250" in caplog.text


def test_largest_remainders() -> None:
    """1.5, 1.5 and 1 of 4 give 2, 1 and 1: the first of equal parts is rounded up."""
    assert apportioned(np.array([[15], [15], [10]]), np.array([0.1])).ravel().tolist() == [2, 1, 1]


def test_sizes_alone_for_values(tmp_path: Path) -> None:
    features = np.zeros((200, 1))
    data = FederatedData.from_arrays(features, np.zeros(200), np.zeros(200, int), num_classes=0)
    path = table_in(tmp_path, "clinic;examples\nA;90\nB;30\n")
    assert mirrored(data, path, None, seed=0).train.sizes.tolist() == [90, 30]
    with pytest.raises(ParameterError, match="must have examples"):
        mirrored(data, table_in(tmp_path), None, seed=0)


def test_classes_of_another_federation_stand_for_the_tasks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = table_in(tmp_path, "site,benign,malignant\nA,3,5\n")
    found = mirrored(data_of(), path, None, seed=0)
    assert (found.num_classes, counts_of(found).tolist()) == (2, [[3, 5]])
    assert "benign is 0, malignant is 1" in caplog.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must begin with a line of site"),
        ("A,3\nB,4\n", "must begin with a line of site"),
        ("site,0\n", "has no site"),
        ("site,0,1\nA,3,-1\n", "line 2: site A has 1 -1: must be a whole number"),
        ("site,0,1\nA,3,1.5\n", "line 2: site A has 1 1.5: must be a whole number"),
        ("site,0,1\nA,3,\n", "line 2: site A has no count of 1"),
        ("site,0,1\nA,3,4\n,1,1\n", "line 3: the site has no name"),
        ("site,0,1\nA,3,4\nA,1,1\n", "line 3: site A is in line 2 too"),
        ("site,0,1\nA,3,4\nB,0,0\n", "line 3: site B has no example"),
        # It was a site as large as the others together.
        ("site,0,1\nA,3,4\nTotal,3,4\n", "line 3 is called Total: leave out sums of other rows"),
        ("site,0,1\nA,3\n", "line 2 has 2 values, line 1 3 names"),
        ("site,0,0\nA,3,4\n", "line 1 names a column twice"),
    ],
)
def test_a_fault_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as refused:
        read_counts(table_in(tmp_path, text))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "scale", "message"),
    [
        ("site,0,7\nA,3,0\nB,3,1\n", None, r"lacks class 7 \(site B\); it has 0, 1, 2"),
        ("site,0,ill\nA,3,2\n", None, r"lacks class ill \(site A\)"),
        ("site,0\nA,300\nB,1\n", 0.1, "leaves no example to site B"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    tmp_path: Path, text: str, scale: float | None, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        mirrored(data_of(), table_in(tmp_path, text), scale, seed=0)


def test_a_file_of_the_user_needs_no_clients(tmp_path: Path) -> None:
    """The table decides N and who holds what; a name per site comes with it."""
    frame = pd.DataFrame({"x": np.arange(900.0), "label": np.arange(900) % 3})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    table = table_in(tmp_path, "site,0,1\nA,90,10\nB,10,90\n")
    found = simulate(
        task="file",
        data_file=str(tmp_path / "mine.csv"),
        partition="counts",
        label_counts=table,
        availability="always",
        clients_per_round=2,
        rounds=2,
        engine="host",
    )
    assert found.selection["p"].tolist() == [0.5, 0.5]
    assert found.selection["client_names"].tolist() == ["A", "B"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partition": "counts"}, "needs label_counts"),
        ({"scale": 0.5}, "scale = 0.5: only applies with partition=counts"),
        ({"label_counts": "sites.csv"}, "only applies with partition=counts"),
        ({"partition": "counts", "label_counts": "none.csv"}, "not found"),
    ],
)
def test_settings_that_need_each_other(given: dict[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        simulate(rounds=1, **given)  # type: ignore[arg-type]
