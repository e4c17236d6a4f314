from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.distributed.workers import owners, shard, split
from f3ast_tff.methods.parts.strategy import Cohort

SIZES = [7, 0, 12, 3, 30, 5]


def examples() -> ClientExamples:
    n = sum(SIZES)
    return ClientExamples(np.arange(n)[:, None], np.arange(n), np.cumsum([0, *SIZES]))


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.integers(1, 7))
def test_workers_hold_about_as_much(sizes: list[int], num_workers: int) -> None:
    owner = owners(np.array(sizes), num_workers)
    held = np.bincount(owner, sizes, num_workers)
    assert owner.min() >= 0 and owner.max() < num_workers
    # Bound of the greedy rule: two workers differ by at most one client.
    assert held.max() - held.min() <= max(sizes) + len(sizes)


def test_few_clients_leave_workers_idle() -> None:
    assert sorted(owners(np.array([5, 9]), 4).tolist()) == [0, 1]


@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_shards_hold_every_client_once_under_its_own_id(num_workers: int) -> None:
    whole = examples()
    owner = owners(whole.sizes, num_workers)
    shards = [shard(whole, owner, worker) for worker in range(num_workers)]
    for k in range(len(SIZES)):
        for worker, held in enumerate(shards):
            assert held.num_clients == len(SIZES)
            expected = whole.client(k)[1] if worker == owner[k] else []
            np.testing.assert_array_equal(held.client(k)[1], expected)
    assert sum(len(held.labels) for held in shards) == sum(SIZES)


def test_split_keeps_weights_and_repeats() -> None:
    owner = np.array([0, 1, 0, 2, 1, 2])
    cohort = Cohort(np.array([4, 0, 1, 4]), np.array([0.1, 0.2, 0.3, 0.4]))
    parts = split(cohort, owner)
    assert list(parts) == [0, 1]
    assert parts[0].ids.tolist() == [0] and parts[0].weights.tolist() == [0.2]
    assert parts[1].ids.tolist() == [4, 1, 4] and parts[1].weights.tolist() == [0.1, 0.3, 0.4]
