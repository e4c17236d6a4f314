"""Turns: two groups, groups in blocks, and a cycle per client."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import AlternatingConfig, Grouped, PeriodicGroupsConfig, Turns
from f3ast_tff.availability.turns import cyclic
from f3ast_tff.core.errors import ParameterError

PI = np.array([0.0, 0.02, 0.1, 0.27, 0.5, 1.0])


def groups(
    num_clients: int, seed: int = 0, number: int = 5, on: int = 100, off: int = 400
) -> Grouped:
    return PeriodicGroupsConfig(number, on, off).build(np.ones(num_clients), seed)


def test_two_groups_take_turns_by_hand() -> None:
    """E = 2, ratio 1.5: two rounds of the first half, three of the second, repeated."""
    process = AlternatingConfig(2, 1.5).build(np.ones(5), 0)
    first, second = [True, True, True, False, False], [False, False, False, True, True]
    assert [process.mask(t).tolist() for t in range(1, 9)] == (
        [first] * 2 + [second] * 3 + [first] * 2 + [second]
    )
    np.testing.assert_allclose(process.stationary, [0.4, 0.4, 0.4, 0.6, 0.6])


def test_given_groups() -> None:
    """Two turns of one round; client 1 has the first turn, clients 0 and 2 the second."""
    process = Grouped(Turns(np.array([0, 1]), np.array([1, 1]), 2), np.array([1, 0, 1]))
    assert process.mask(1).tolist() == [False, True, False]
    assert process.mask(2).tolist() == [True, False, True]
    assert process.eigenvalue is None


@pytest.mark.parametrize("seed", range(4))
def test_one_group_at_a_time_in_order(seed: int) -> None:
    """Five groups of two, 3 rounds on, 12 off: each has 3 successive rounds in a period of 15."""
    process = groups(10, seed, number=5, on=3, off=12)
    seen = np.array([process.mask(t) for t in range(1, 31)])
    assert seen.sum(axis=1).tolist() == [2] * 30
    assert np.array_equal(seen[:, ::2], seen[:, 1::2])
    turns = seen[:, ::2].argmax(axis=1)
    assert np.array_equal(seen[:15], seen[15:])
    steps = np.diff(turns) % 5
    assert set(steps) == {0, 1}
    assert np.diff(np.flatnonzero(steps)).tolist() == [3] * (np.count_nonzero(steps) - 1)
    assert seen[:15].mean(axis=0).tolist() == [0.2] * 10
    assert process.stationary.tolist() == [0.2] * 10
    assert turns[0] == 0


def test_offsets_of_seeds_differ() -> None:
    """The number of rounds until the first group leaves is uniform on 1..100 over the seeds."""
    left = []
    for seed in range(50):
        process = groups(5, seed)
        left.append(next(t for t in range(1, 102) if not process.mask(t)[0]) - 1)
    assert 1 <= min(left) < 20
    assert 80 < max(left) <= 100


def test_groups_are_blocks_of_ids() -> None:
    assert groups(7, 0, number=3).group.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_groups_by_label_by_hand() -> None:
    """Main labels are 2, 0, 1, 0 (ties go to the smaller label), 1. Sorted clients: 1, 3, 2, 4, 0.

    The first of two groups has the first three clients of this order, as it has ids 0, 1, 2 in
    blocks.
    """
    labels = np.array([[0, 0.4, 0.6], [1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.2, 0.8, 0]])
    config = PeriodicGroupsConfig(2, 1, 1, groups_by="labels")
    process = config.build(np.ones(5), 0, labels)
    assert config.needs_labels and not PeriodicGroupsConfig().needs_labels
    assert process.group.tolist() == [1, 0, 0, 0, 1]
    assert process.mask(1).tolist() == [False, True, True, True, False]
    with pytest.raises(ParameterError, match="groups_by = labels: needs data with labels"):
        config.build(np.ones(5), 0)


def test_groups_may_overlap_and_never_leave() -> None:
    """On 2, off 2, three groups: group 2 starts with group 0.

    If off is 0, all are always available.
    """
    process = groups(3, 0, number=3, on=2, off=2)
    seen = np.array([process.mask(t) for t in range(1, 9)])
    assert np.array_equal(seen[:, 0], seen[:, 2])
    assert np.array_equal(seen[:, 0], ~seen[:, 1])
    assert groups(3, 0, off=0).mask(12345).all()


def test_one_turn_in_a_row_in_each_cycle() -> None:
    """c = 10: pi of 0 and 0.02 gets one round, 0.27 three, 1 all; every cycle is the same."""
    process = cyclic(PI, seed=1, cycle=10)
    seen = np.array([process.mask(t) for t in range(1, 31)])
    first = seen[:10].astype(int)
    assert first.sum(axis=0).tolist() == [1, 1, 1, 3, 5, 10]
    starts = np.diff(np.vstack([np.zeros(6, int), first]), axis=0) == 1
    assert starts.sum(axis=0).tolist() == [1] * 6
    assert np.array_equal(seen[10:20], seen[:10])
    assert np.array_equal(seen[20:], seen[:10])
    np.testing.assert_allclose(process.stationary, [0.1, 0.1, 0.1, 0.3, 0.5, 1.0])


def test_offsets_are_uniform() -> None:
    """c = 10, one round each, 9 offsets: the last round has no turn, as in the public code.

    Counts of 20,000 clients are binomial with p = 1/9, so they deviate by sqrt(n p (1 - p)).
    """
    process = cyclic(np.full(20_000, 0.1), seed=0, cycle=10)
    counts = np.array([process.mask(t).sum() for t in range(1, 11)])
    assert counts[9] == 0
    assert np.all(np.abs(counts[:9] - 20_000 / 9) < 5 * np.sqrt(20_000 * 8 / 81))


def test_the_seed_moves_the_turns() -> None:
    first, other = (cyclic(PI, seed, 100).mask(20) for seed in (0, 1))
    assert not np.array_equal(first, other)
