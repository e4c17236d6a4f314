"""The example of Sec. I: two clients, P(A1) = 0.375, P(A2) = 0.8, K = 1, p = (1/2, 1/2)."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import Proportional
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.rates import ParticipationRates
from f3ast_tff.methods.parts.strategy import Round, Strategy, cohort_of

P = np.array([0.5, 0.5])
Z = 4.5


def participation(strategy: Strategy, rounds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns who was available and with what weight each client took part, `[rounds, 2]`."""
    masks = np.random.default_rng(seed).random((rounds, 2)) < np.array([0.375, 0.8])
    weights = np.zeros((rounds, 2))
    for t, mask in enumerate(masks, start=1):
        cohort = cohort_of(strategy, Round(t, mask, RoundConstraint(1)))
        assert len(cohort) == mask.any()
        weights[t - 1, cohort.ids] = cohort.weights
    return masks, weights


def standard_error(r: np.ndarray, rounds: int) -> np.ndarray:
    """Of the mean of `rounds` independent draws of Bernoulli(r)."""
    return np.sqrt(r * (1 - r) / rounds)


@pytest.mark.parametrize("objective", ["p_squared", "p"])
@pytest.mark.parametrize("initial", [(0.5, 0.5), (0.9, 0.1)])
def test_f3ast_learns_the_optimal_rates(objective: str, initial: tuple[float, float]) -> None:
    """Rates (0.375, 0.5), and tracked rates near them.

    With equal p both cases of eq. (3) are c (1/r1 + 1/r2). Achievable are r1 <= 0.375,
    r2 <= 0.8, r1 + r2 <= 1 - 0.625 * 0.2 = 0.875. H falls in both, so r1 + r2 = 0.875, and there
    it is least where r1 and r2 are closest: r1 = 0.375, r2 = 0.5 (client 1 whenever it is there,
    client 2 when alone). Participation is then Bernoulli(r) a round, independent over rounds:
    standard error sqrt(r (1 - r) / 20,000) = 0.0034 and 0.0035.

    The tracked rates have standard deviation sqrt(beta / 2 * r (1 - r)) = 0.011 at beta 0.001.
    Client 2 comes first only while r1 > r2, from (0.9, 0.1) for some 1 / beta rounds: the first
    5 / beta are left out.
    """
    beta, optimal = 0.001, np.array([0.375, 0.5])
    rates = ParticipationRates(np.array(initial), beta)
    strategy = F3AST(P, rates, objective, random_ties=False)
    masks, weights = participation(strategy, 25_000, seed=1)
    available, took_part = masks[5_000:], weights[5_000:] > 0
    error = Z * standard_error(optimal, 20_000)
    assert np.all(np.abs(took_part.mean(axis=0) - optimal) < error)
    assert np.mean(took_part[:, 0] == available[:, 0]) > 0.999
    tracked = strategy.rates.values
    assert np.all(np.abs(tracked - optimal) < Z * np.sqrt(beta / 2 * optimal * (1 - optimal)))


def test_f3ast_weighs_every_client_by_its_share() -> None:
    """The mean over rounds of 1[k in S] p_k / r_k(t) is p_k = 1/2 (Lemma B.1), r tracked or not.

    Were r fixed, the variance a round would be p^2 (1 - r) / r, the standard error of 20,000
    rounds 0.0046 and 0.0035; tracking r only takes variance away. It adds a bias: var(r) / r^2,
    a share of 0.0004 at beta = 0.0005, less beta (1 - r) / r = 0.0008, as r(t) holds the round
    itself. Both are under a tenth of the bound of 0.02. Weights over K = 2 would miss by 0.25.
    """
    optimal = np.array([0.375, 0.5])
    strategy = F3AST(P, ParticipationRates(optimal, 0.0005), random_ties=False)
    _, weights = participation(strategy, 20_000, seed=2)
    error = Z * P * np.sqrt((1 - optimal) / optimal / 20_000)
    assert np.all(np.abs(weights.mean(axis=0) - P) < error)


@pytest.mark.parametrize("replace", [False, True])
def test_proportional_sampling_does_not(replace: bool) -> None:
    """Rates (0.225, 0.65), as in Sec. I.

    r1 = P(A1, not A2) + P(A1, A2) / 2 = 0.075 + 0.15; r2 = 0.5 + 0.15. Standard errors of 5000
    rounds: 0.006 and 0.007. With one draw a round, replacement changes nothing.
    """
    strategy, expected = Proportional(P, np.ones(2), replace), np.array([0.225, 0.65])
    _, weights = participation(strategy, 5_000, seed=3)
    error = Z * standard_error(expected, 5_000)
    assert np.all(np.abs((weights > 0).mean(axis=0) - expected) < error)
