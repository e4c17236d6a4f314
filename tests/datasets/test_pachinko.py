"""Pachinko allocation against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import betabinom

from f3ast_tff.datasets.pachinko import pachinko

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
