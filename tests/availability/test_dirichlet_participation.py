"""FedAU's participation probabilities and its three patterns."""

from __future__ import annotations

import numpy as np

from f3ast_tff.availability.dirichlet_participation import (
    DirichletBernoulliConfig,
    DirichletCyclicConfig,
    DirichletMarkovConfig,
    ParticipationConfig,
)

RNG = np.random.default_rng(0)
LABELS = RNG.dirichlet(np.full(10, 0.1), 60)
P = np.full(60, 1 / 60)


def participation(
    labels: np.ndarray, seed: int, alpha: float, mean: float, least: float
) -> np.ndarray:
    return ParticipationConfig(alpha, mean, least).pi(labels, seed)


def test_probabilities_are_inner_products_with_kappa() -> None:
    """Unbounded, single-class clients have pi = C mean kappa_c, so their average is `mean`.

    A client with half of two classes has the average of both.
    """
    labels = np.vstack([np.eye(4), [0.5, 0, 0.5, 0]])
    pi = participation(labels, 1, alpha=1.0, mean=0.1, least=0.0)
    assert np.isclose(pi[:4].mean(), 0.1)
    assert np.isclose(pi[4], (pi[0] + pi[2]) / 2)
    assert np.ptp(pi) > 0.01


def test_bounds() -> None:
    """C mean = 5: with small alpha one class has nearly all of kappa, so values would reach 5."""
    pi = participation(np.eye(10), 0, alpha=0.01, mean=0.5, least=0.02)
    assert pi.min() == 0.02
    assert pi.max() == 1


def test_law_of_kappa() -> None:
    """kappa_c of Dirichlet(1, 1) is U(0, 1), so pi = 2 x 0.25 kappa has mean 0.25.

    Over 2000 seeds the mean deviates by 0.5 / sqrt(12 x 2000) = 0.0032.
    """
    pi = [participation(np.eye(2), s, 1.0, 0.25, 0.0)[0] for s in range(2000)]
    assert abs(np.mean(pi) - 0.25) < 5 * 0.0033
    assert min(pi) < 0.02 < 0.48 < max(pi)


def test_the_three_share_their_probabilities() -> None:
    """The cyclic pattern rounds the probabilities to whole rounds of 100."""
    bernoulli, markov, cyclic = (
        config().build(P, 2, LABELS)
        for config in (DirichletBernoulliConfig, DirichletMarkovConfig, DirichletCyclicConfig)
    )
    pi = bernoulli.stationary
    assert pi.min() == 0.02 < pi.max()
    np.testing.assert_array_equal(markov.stationary, pi)
    np.testing.assert_allclose(cyclic.stationary, np.rint(100 * pi) / 100)
    correlated = [m.positively_correlated for m in (bernoulli, markov, cyclic)]
    assert correlated == [False, False, True]
