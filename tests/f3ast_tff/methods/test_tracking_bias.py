"""Bias of weights p / r with tracked rates: by hand, and by selection alone.

Rates of delivered clients move as r(t) = (1 - beta) r(t - 1) + beta X(t). X(t) = 1 in a round in
which the client is delivered, and its update has weight X(t) / r(t). In such a round
r(t - 1) = (r(t) - beta) / (1 - beta), so that in every round

    log r(t) - log r(t - 1) = log(1 - beta) - X(t) log(1 - beta / r(t)).

Sum over T rounds, with -log(1 - x) = x + x^2 / 2 + ..., where the mean of X / r^2 is about 1 / r.
Then the mean of X / r over the rounds is

    1 - beta (1 - r) / (2 r) + (log r(T) - log r(0)) / (beta T),

up to terms of (beta / r)^2. The second term is the bias of settled rates. The third is the bias of
rates that still move; it falls as 1 / T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery.losses import loss_by_rank
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Round, cohort_of

N, ROUNDS = 20, 6000
P = np.arange(1, N + 1) / (N * (N + 1) / 2)
LOSS = loss_by_rank(P, 0.4)
BETAS = (0.001, 0.002, 0.004)
# From the page on delivery, over 20,000 rounds: bias of clients 0 and 1, by the followed rates.
ON_THE_PAGE = {
    ("delivered", 0.001): (-0.109, -0.059),
    ("both", 0.001): (-0.073, -0.039),
    ("delivered", 0.002): (-0.186, -0.109),
    ("both", 0.002): (-0.131, -0.074),
}


@dataclass(frozen=True)
class Settled:
    """Results of a simulation from settled rates, each `float64 [N]`.

    Attributes:
        rate: Share of rounds in which a client was delivered.
        weight: Mean over rounds of X / r.
        logs: Mean over rounds of -X log(1 - beta / r).
        drift: (log r(T) - log r(0)) / T.
    """

    rate: np.ndarray
    weight: np.ndarray
    logs: np.ndarray
    drift: np.ndarray


def simulated(follow: str, beta: float) -> Settled:
    """Selects 2 of 20 clients, each available in half of the rounds, after 3 / beta rounds."""
    rng, before = np.random.default_rng(5), int(3 / beta)
    asked = ParticipationRates(P, beta) if follow == "both" else None
    strategy = F3AST.tracking(P, ParticipationRates(P, beta), selected_rates=asked)
    weights, logs, times = np.zeros((3, N))
    first = P
    for t in range(1, before + ROUNDS + 1):
        now = Round(t, rng.random(N) < 0.5, RoundConstraint(2))
        kept = cohort_of(strategy, now, rng.random(N) >= LOSS)
        if t == before:
            first = strategy.rates.values
        elif t > before:
            inverse = kept.weights / P[kept.ids]
            weights[kept.ids] += inverse
            logs[kept.ids] -= np.log1p(-beta * inverse)
            times[kept.ids] += 1
    drift = np.log(strategy.rates.values / first)
    return Settled(*(sums / ROUNDS for sums in (times, weights, logs, drift)))


@pytest.mark.long
@pytest.mark.parametrize("follow", ["delivered", "both"])
def test_bias_falls_with_beta(follow: str) -> None:
    """The equality above, then its approximation, then the direction; client 0 is the rarest.

    Without the drift a client of rate r counts for 1 - beta (1 - r) / (2 r). So it counts too
    little, the more the rarer it is, and half of beta gives about half of the bias.
    """
    bias = {}
    for beta in BETAS:
        found = simulated(follow, beta)
        np.testing.assert_allclose(found.logs, -np.log1p(-beta) + found.drift, rtol=1e-9)
        bias[beta] = found.weight - 1 - found.drift / beta
        first_order = -beta * (1 - found.rate) / (2 * found.rate)
        error = 0.5 * (beta / found.rate) ** 2 + 0.002
        assert np.all(np.abs(bias[beta] - first_order) < error)
        assert np.all(bias[beta] < 0) and np.argmin(bias[beta]) == 0
        for client, of_page in enumerate(ON_THE_PAGE.get((follow, beta), ())):
            assert bias[beta][client] == pytest.approx(of_page, abs=0.015)
    for smaller, larger in zip(BETAS, BETAS[1:]):
        ratio = bias[smaller] / bias[larger]
        assert np.all((ratio > 0.4) & (ratio < 0.75))
