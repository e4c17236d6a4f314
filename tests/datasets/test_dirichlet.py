"""Dirichlet draws, label allocation, and Pachinko allocation against its definition."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom

from f3ast_tff.datasets.dirichlet import (
    allocate,
    dirichlet_shares,
    federate,
    grouped_shares,
    leave_nobody_empty,
    log_dirichlet,
    shares_of_client_mixtures,
)
from f3ast_tff.datasets.images import LabelledImages
from f3ast_tff.datasets.pachinko import pachinko
from tests.datasets.tiny_files import images

BOTH = (dirichlet_shares, shares_of_client_mixtures)


def labelled(num: int, seed: int) -> LabelledImages:
    pixels, labels = images(num, 10, seed, side=2)
    return LabelledImages.of(pixels, labels[:, None])


@pytest.mark.parametrize("s", [0.05, 0.5, 20.0])
def test_shares_have_the_moments_of_a_dirichlet(s: float) -> None:
    """Shares of Dirichlet(s) over N = 4 have mean 1/4, variance (1/4)(3/4) / (4 s + 1).

    Bounds are 4.5 standard errors over 20,000 independent draws; the variance's standard error is
    estimated from the spread of the squares.
    """
    first = dirichlet_shares(s, 20_000, 4, seed=0)[:, 0]
    assert abs(first.mean() - 0.25) < 4.5 * first.std() / math.sqrt(20_000)
    squares = (first - 0.25) ** 2
    expected = 3 / 16 / (4 * s + 1)
    assert abs(squares.mean() - expected) < 4.5 * squares.std() / math.sqrt(20_000)


def test_shares_are_positive_and_sum_to_one() -> None:
    shares = dirichlet_shares(0.5, 10, 100, seed=1)
    assert shares.shape == (10, 100) and np.all(shares > 0)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_shares_in_proportion_to_the_clients_mixtures() -> None:
    """s = 10^-3: each of 400 clients has one class, shared equally by its holders."""
    shares = shares_of_client_mixtures(1e-3, 10, 400, seed=1)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    main = shares.argmax(axis=0)
    holders = np.bincount(main, minlength=10)
    # A few clients per hundred have a second class: 9 other classes, each with a small chance of a
    # relevant share.
    np.testing.assert_allclose(np.median(shares.max(axis=0) * holders[main]), 1, atol=0.1)
    assert holders.min() > 15


@pytest.mark.parametrize(("s", "n"), [(0.01, 5), (0.001, 3), (0.0001, 10), (1e-6, 2)])
def test_a_class_that_underflows_at_every_client_has_shares(s: float, n: int) -> None:
    for seed in range(20):
        shares = shares_of_client_mixtures(s, 10, n, seed)
        assert np.isfinite(shares).all() and (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_mixtures_make_clients_more_alike_in_size() -> None:
    """100 clients at s = 0.1; a client's size is the sum of its shares of ten equal classes."""
    deviations = [draw(0.1, 10, 100, 0).sum(axis=0).std() * 10 for draw in BOTH]
    assert deviations[0] > 0.7 and deviations[1] < 0.5


def test_members_of_a_group_share_alike() -> None:
    """23 clients in 5 blocks of 4 or 5."""
    shares = grouped_shares(0.5, 4, 23, 5, seed=3)
    group = np.arange(23) * 5 // 23
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    of_groups = dirichlet_shares(0.5, 4, 5, seed=3)
    for g in range(5):
        members = shares[:, group == g]
        np.testing.assert_array_equal(members, members[:, :1].repeat(members.shape[1], axis=1))
        np.testing.assert_allclose(members.sum(axis=1), of_groups[:, g])


def test_logarithms_do_not_underflow() -> None:
    """At a = 10^-4 nearly all shares are below the smallest double, but all differ."""
    logs = log_dirichlet(1e-4, (1000,), np.random.default_rng(0))
    assert np.all(np.isfinite(logs)) and len(np.unique(logs)) == 1000
    assert np.mean(logs < -800) > 0.8


@settings(max_examples=50)
@given(
    s=st.floats(1e-3, 1e3),
    clients=st.integers(1, 30),
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    seed=st.integers(0, 2**31),
)
def test_every_example_goes_to_one_client(
    s: float, clients: int, sizes: list[int], seed: int
) -> None:
    classes = np.repeat(np.arange(len(sizes)), sizes)
    shares = dirichlet_shares(s, len(sizes), clients, seed)
    rows = allocate(classes, shares, np.random.default_rng(seed))
    assert len(rows) == clients
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(sum(sizes)))
    if sum(sizes) >= clients:
        filled = leave_nobody_empty(rows)
        assert min(map(len, filled)) >= 1
        np.testing.assert_array_equal(np.sort(np.concatenate(filled)), np.arange(sum(sizes)))


def test_sizes_follow_the_shares() -> None:
    """Cuts are at the rounded cumulative sums, so each size is within 1 of its share."""
    shares = dirichlet_shares(0.5, 1, 50, seed=2)
    rows = allocate(np.zeros(1000, np.int64), shares, np.random.default_rng(0))
    sizes = np.array([len(mine) for mine in rows])
    assert np.abs(sizes - 1000 * shares[0]).max() <= 1


def test_an_empty_client_gets_one_of_whoever_has_most() -> None:
    rows = [np.array([4, 5]), np.array([], int), np.array([0, 1, 2, 3]), np.array([], int)]
    filled = leave_nobody_empty(rows)
    assert [mine.tolist() for mine in filled] == [[4, 5], [3], [0, 1], [2]]
    assert [len(mine) for mine in rows] == [2, 0, 4, 0]


def test_test_images_follow_the_training_images() -> None:
    """Per class and client, counts of 1000 and of 500 have the same shares, up to rounding."""
    train, test = labelled(10_000, 0), labelled(5000, 1)
    data = federate(train, test, dirichlet_shares(0.5, 10, 8, seed=0), seed=0)
    assert data.num_classes == 10
    for k in range(8):
        of_train = np.bincount(data.train.client(k)[1], minlength=10) / 1000
        of_test = np.bincount(data.test.client(k)[1], minlength=10) / 500
        assert np.abs(of_train - of_test).max() < 0.004
    for part, original in ((data.train, train), (data.test, test)):
        used = LabelledImages.of(part.features, part.labels.astype(np.uint8)[:, None])
        assert used.digest == original.digest
        assert (part.features.dtype, part.labels.dtype) == (np.uint8, np.int32)


@pytest.mark.parametrize("draw", BOTH)
def test_shares_are_functions_of_the_seed(draw: Callable[..., np.ndarray]) -> None:
    one, same, other = (draw(0.5, 10, 5, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.any(one == other)


def test_images_of_the_same_shares_are_functions_of_the_seed() -> None:
    train, test, shares = labelled(300, 0), labelled(100, 1), np.full((10, 5), 0.2)
    one, same, other = (federate(train, test, shares, seed) for seed in (1, 1, 2))
    for part in ("train", "test"):
        first = getattr(one, part).features
        np.testing.assert_array_equal(first, getattr(same, part).features)
        assert not np.array_equal(first, getattr(other, part).features)


CLIENTS, SIZE, COARSE, INSIDE = 500, 100, 20, 5
ALPHA, BETA = 0.1, 10.0


@pytest.fixture(scope="module")
def fine() -> np.ndarray:
    """Fine classes of CIFAR-100's training images, 500 for each of 100; class f is in f // 5."""
    return np.repeat(np.arange(COARSE * INSIDE), 500)


@pytest.fixture(scope="module")
def rows(fine: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    return pachinko(fine, fine // INSIDE, CLIENTS, ALPHA, BETA, rng)


def entropy(labels: np.ndarray) -> float:
    """Entropy of the label frequencies, in nats."""
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-np.sum(shares * np.log(shares)))


def expected_entropy(n: int, concentration: float, classes: int) -> float:
    """Expected `entropy` of n labels drawn from p ~ Dirichlet(concentration), symmetric.

    The count of a class is beta-binomial(n, a, (classes - 1) a), and the entropy is a sum over
    classes.
    """
    a, b = concentration, (classes - 1) * concentration
    k = np.arange(1, n + 1)
    return -float(classes * betabinom.pmf(k, n, a, b) @ (k / n * np.log(k / n)))


def expected_pachinko_entropy() -> float:
    """Expected `entropy` of a client before any class is used up: 2.73 nats.

    By the chain rule it is the entropy of the coarse labels, plus, summed over coarse classes,
    m / n times the entropy of the m fine labels within; m is beta-binomial(100, 0.1, 1.9).
    """
    a, b, n = ALPHA, (COARSE - 1) * ALPHA, SIZE
    total = expected_entropy(n, a, COARSE)
    for m in range(1, n + 1):
        total += COARSE * betabinom.pmf(m, n, a, b) * m / n * expected_entropy(m, BETA, INSIDE)
    return total


def test_every_example_is_used_once(rows: np.ndarray, fine: np.ndarray) -> None:
    assert rows.shape == (CLIENTS, SIZE)
    np.testing.assert_array_equal(np.sort(rows, axis=None), np.arange(len(fine)))


def test_coarse_and_fine_labels_have_the_entropy_of_their_own(
    rows: np.ndarray, fine: np.ndarray
) -> None:
    """Coarse entropy: 20 classes by Dirichlet(0.1), 100 draws. Fine entropy: the rest of the whole.

    The first 100 clients are independent: no class is used up yet.
    """
    assert np.bincount(fine[rows[:100]].ravel()).max() < 500
    coarse = np.array([entropy(fine[mine] // INSIDE) for mine in rows[:100]])
    expected = expected_entropy(SIZE, ALPHA, COARSE)
    assert abs(coarse.mean() - expected) < 4 * coarse.std(ddof=1) / 10
    inside = np.array([entropy(fine[mine]) for mine in rows[:100]]) - coarse
    expected_inside = expected_pachinko_entropy() - expected
    assert abs(inside.mean() - expected_inside) < 4 * inside.std(ddof=1) / 10


@pytest.mark.parametrize(
    ("alpha", "beta", "num_coarse", "num_fine"),
    [(1e-4, 1e-4, 1, 1), (1e-4, 1e6, 1, INSIDE), (1e6, 1e6, COARSE, 63.4)],
)
def test_limits(alpha: float, beta: float, num_coarse: int, num_fine: float) -> None:
    """Small concentrations give one class, large ones uniform classes, for the first 20 clients.

    100 draws from 100 equal classes hit 100 (1 - 0.99^100) = 63.4 on average, give or take 3.1.
    Medians allow for a few clients whose class is used up.
    """
    fine = np.repeat(np.arange(100), 200)
    rows = pachinko(fine, fine // INSIDE, 200, alpha, beta, np.random.default_rng(3))[:20]
    assert np.median([len(np.unique(fine[mine] // INSIDE)) for mine in rows]) == num_coarse
    classes = np.median([len(np.unique(fine[mine])) for mine in rows])
    assert classes == pytest.approx(num_fine, abs=3.5 if num_fine > INSIDE else 0)


def test_uneven_classes_and_one_client() -> None:
    """Class 1 has no examples; class 2 is alone in its coarse class."""
    fine = np.array([0, 0, 2, 3, 3, 3, 0, 2])
    coarse = np.array([0, 0, 1, 2, 2, 2, 0, 1])
    rows = pachinko(fine, coarse, 1, 0.5, 0.5, np.random.default_rng(0))
    assert sorted(rows[0].tolist()) == list(range(8))
