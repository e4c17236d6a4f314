"""Test examples set apart from each training client's own, and whose they are."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.own_test_split import owners_of_tests, with_own_test


def examples(*sizes: int, names: str = "") -> ClientExamples:
    """Clients of these sizes; each example is its row."""
    n = sum(sizes)
    given = np.array([*names]) if names else None
    rows = np.arange(n, dtype=np.float32)[:, None]
    return ClientExamples(rows, np.zeros(n, int), np.cumsum([0, *sizes]), given)


def test_each_client_gives_its_share_once() -> None:
    train = examples(10, 1, 0, 7, 100, names="vwxyz")
    kept, tested = with_own_test(train, 0.3, seed=0)
    assert tested.sizes.tolist() == [3, 0, 0, 2, 30]
    assert kept.sizes.tolist() == [7, 1, 0, 5, 70]
    for k in range(5):
        own = [part.client(k)[0].ravel().tolist() for part in (kept, tested)]
        assert sorted(own[0] + own[1]) == train.client(k)[0].ravel().tolist()
        assert own == [sorted(each) for each in own]
    for part in (kept, tested):
        assert part.names is not None and part.names.tolist() == [*"vwxyz"]


def test_the_draw_is_the_seeds() -> None:
    train = examples(20, 20)
    drawn = [with_own_test(train, 0.5, seed)[1].features.ravel().tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_client_keeps_an_example() -> None:
    kept, tested = with_own_test(examples(2, 3), 0.99, seed=0)
    assert kept.sizes.tolist() == [1, 1] and tested.sizes.tolist() == [1, 2]
    assert with_own_test(examples(2, 4, 1), 0.01, seed=0)[1].sizes.tolist() == [1, 1, 0]
    with pytest.raises(ParameterError, match="own_test = 0.1: no client has enough"):
        with_own_test(examples(1, 0), 0.1, seed=0)


def test_whose_the_test_examples_are() -> None:
    named = FederatedData(examples(1, 2, 1, names="abc"), examples(1, 1, names="ca"), 2)
    assert owners_of_tests(named, None) == pytest.approx([2, 0])
    stranger = FederatedData(named.train, examples(1, 1, names="ad"), 2)
    assert owners_of_tests(stranger, None) is None
    numbered = FederatedData(examples(1, 2), examples(1, 1), 2)
    assert owners_of_tests(numbered, None) is None
    assert owners_of_tests(numbered, True) == pytest.approx([0, 1])
    assert owners_of_tests(numbered, False) is None
    assert owners_of_tests(FederatedData(examples(1, 2), examples(1), 2), True) is None
