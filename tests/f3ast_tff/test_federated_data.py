"""Columns of examples and their offsets."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.federated_data import ClientExamples


def examples(offsets: list[int], features: int = 5, labels: int = 5) -> ClientExamples:
    return ClientExamples(
        np.arange(2.0 * features).reshape(features, 2), np.arange(labels), np.array(offsets)
    )


def test_clients_are_the_rows_between_offsets() -> None:
    data = examples([0, 2, 2, 5])
    assert data.num_clients == 3
    assert data.sizes.tolist() == [2, 0, 3]
    x, y = data.client(2)
    assert y.tolist() == [2, 3, 4]
    assert x[:, 0].tolist() == [4, 6, 8]
    assert data.client(1)[0].shape == (0, 2)
    assert np.shares_memory(x, data.features)


@pytest.mark.parametrize("offsets", [[1, 5], [0, 4], [0, 6], [0, 3, 2, 5]])
def test_offsets_that_do_not_cut_the_rows_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets must rise from 0 to 5"):
        examples(offsets)


def test_features_and_labels_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="5 rows of features but 4 of labels"):
        examples([0, 5], labels=4)


def test_pooled_is_one_client_with_the_same_rows() -> None:
    features, labels = np.arange(10.0)[:, None], np.arange(10)
    pooled = ClientExamples(features, labels, np.array([0, 3, 3, 10])).pooled()
    assert pooled.num_clients == 1
    np.testing.assert_array_equal(pooled.client(0)[0], features)
    np.testing.assert_array_equal(pooled.client(0)[1], labels)
