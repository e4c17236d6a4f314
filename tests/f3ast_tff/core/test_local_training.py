"""The examples that a client visits, and their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from f3ast_tff.core.local_training import LocalTraining, client_share

WORK = st.builds(
    LocalTraining,
    batch_size=st.integers(1, 7),
    epochs=st.integers(1, 3),
    steps=st.one_of(st.none(), st.integers(1, 9)),
    drop_remainder=st.booleans(),
    seed=st.integers(0, 2**32),
)
SIZES = st.integers(0, 30)


@given(WORK, SIZES)
def test_steps_taken_are_the_batches_of_the_order(work: LocalTraining, size: int) -> None:
    """A row of length L holds ceil(L / B) batches; no batch continues in the next row."""
    order = work.order(3, 5, size)
    assert order.dtype == np.int32
    assert order.shape[0] == work.num_segments
    steps = order.shape[0] * -(-order.shape[1] // work.batch_size)
    assert steps == work.num_batches(np.array([size]))[0]


@given(WORK, SIZES)
def test_every_pass_visits_each_example_at_most_once(work: LocalTraining, size: int) -> None:
    for segment in work.order(1, 0, size):
        for start in range(0, len(segment), max(size, 1)):
            one_pass = segment[start : start + size]
            assert len(np.unique(one_pass)) == len(one_pass)
            assert np.all((one_pass >= 0) & (one_pass < size))


def test_an_epoch_is_a_permutation_and_epochs_differ() -> None:
    order = LocalTraining(batch_size=20, epochs=3, seed=1).order(1, 0, 50)
    assert order.shape == (3, 50)
    assert np.array_equal(np.sort(order, axis=1), np.tile(np.arange(50), (3, 1)))
    assert len({row.tobytes() for row in order}) == 3


def test_short_last_batch_is_dropped_when_asked() -> None:
    """50 examples in batches of 20: per epoch 2 full batches, and 10 examples left out."""
    work = LocalTraining(batch_size=20, epochs=2, drop_remainder=True)
    assert work.order(1, 0, 50).shape == (2, 40)
    assert work.order(1, 0, 19).shape == (2, 0)


def test_left_out_examples_change_from_epoch_to_epoch() -> None:
    """An epoch drops 1 of 3 examples; all 60 epochs drop the same one with probability 3^-59."""
    order = LocalTraining(batch_size=2, epochs=60, drop_remainder=True).order(1, 0, 3)
    assert set(order.ravel().tolist()) == {0, 1, 2}


def test_steps_are_full_batches_from_as_many_passes_as_needed() -> None:
    """4 steps of 5 are 20 visits to 8 examples: two whole passes, then 4 of a third."""
    order = LocalTraining(batch_size=5, steps=4, epochs=9).order(2, 1, 8)
    assert order.shape == (1, 20)
    assert sorted(order[0, :8]) == sorted(order[0, 8:16]) == list(range(8))
    assert order[0, :8].tolist() != order[0, 8:16].tolist()


def test_order_is_a_pure_function_of_seed_round_and_client() -> None:
    """Two orders of 30 examples agree by chance with probability 1 / 30!."""
    work = LocalTraining(batch_size=4, seed=7)
    first = work.order(3, 5, 30)
    others = [
        work.order(4, 5, 30),
        work.order(3, 6, 30),
        work.order(5, 3, 30),
        replace(work, seed=8).order(3, 5, 30),
    ]
    assert np.array_equal(first, work.order(3, 5, 30))
    assert not any(np.array_equal(first, other) for other in others)


def test_order_does_not_depend_on_how_it_is_batched() -> None:
    """Engines with other batches still visit the same examples in the same order."""
    assert np.array_equal(
        LocalTraining(batch_size=4, seed=7).order(3, 5, 30),
        LocalTraining(batch_size=9, seed=7).order(3, 5, 30),
    )


@pytest.mark.parametrize(
    ("epochs", "steps", "drop", "expected"),
    [
        (1, None, False, [0, 1, 1, 2, 3]),
        (2, None, False, [0, 2, 2, 4, 6]),
        (2, None, True, [0, 0, 2, 2, 4]),
        (1, 7, False, [0, 7, 7, 7, 7]),
        (1, 7, True, [0, 7, 7, 7, 7]),
    ],
)
def test_number_of_batches(epochs: int, steps: int | None, drop: bool, expected: list[int]) -> None:
    """0, 1, 20, 21, 59 examples are 0, 1, 1, 2, 3 batches of 20, and 0, 0, 1, 1, 2 full ones."""
    work = LocalTraining(20, epochs, steps, drop)
    assert work.num_batches(np.array([0, 1, 20, 21, 59])).tolist() == expected


def test_client_share_of_examples_of_batches_and_equal() -> None:
    """20 + 21 + 59 = 100 examples; in batches of 20 there are 1 + 2 + 3 = 6."""
    sizes = np.array([20, 21, 59])
    work = LocalTraining(batch_size=20, epochs=2)
    np.testing.assert_allclose(client_share(sizes, work, "examples"), [0.20, 0.21, 0.59])
    np.testing.assert_allclose(client_share(sizes, work, "batches"), [1 / 6, 2 / 6, 3 / 6])
    np.testing.assert_allclose(client_share(sizes, work, "equal"), [1 / 3, 1 / 3, 1 / 3])
    with_an_empty_client = client_share(np.array([3, 0, 9]), work, "equal")
    np.testing.assert_allclose(with_an_empty_client, [1 / 2, 0, 1 / 2])


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=50), WORK)
def test_client_shares_are_a_distribution(sizes: list[int], work: LocalTraining) -> None:
    p = client_share(np.array(sizes), work, "examples")
    assert p.dtype == np.float64
    assert np.all(p > 0)
    assert p.sum() == pytest.approx(1)
