"""Cohorts of the CA-Fed and FedLaAvg papers' strategies do not depend on client ids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.methods.ca_fed import CAFed
from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.parts.availability_knowledge import AvailabilityKnowledge, KnownAvailability
from f3ast_tff.methods.parts.strategy import Cohort, Strategy
from f3ast_tff.methods.unbiased import AdaFed, MoreAvailable, Unbiased
from tests.f3ast_tff.methods.small_world import played

N = 12
Make = Callable[[np.ndarray, AvailabilityKnowledge], Strategy]

STRATEGIES: dict[str, Make] = {
    "unbiased": lambda p, known: Unbiased.knowing(p, known, seed=1),
    "adafed": lambda p, known: AdaFed.knowing(p, known, seed=1),
    "more_available": lambda p, known: MoreAvailable.knowing(p, known, seed=1),
    "ca_fed": lambda p, known: CAFed.knowing(p, known, seed=1, kappa2=0.05, loss_beta=0.5),
    "f3ast_of_ca_fed": lambda p, known: F3ASTOfCAFed.knowing(p, known, rate_beta=0.01),
    "longest_absent": lambda p, known: FedLaAvg.start(p, 1, seed=1),
}


def world(seed: int, rounds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns shares [N], masks [T, N] and losses [T, N]."""
    rng = np.random.default_rng(seed)
    masks = rng.random((rounds, N)) < rng.uniform(0.1, 0.9, N)
    return rng.dirichlet(np.ones(N)), masks, rng.random((rounds, N))


def run(
    strategy: Strategy, masks: np.ndarray, losses: np.ndarray, k: int, start: int = 1
) -> list[Cohort]:
    return [
        played(strategy, t, mask, k, lambda ids, values=values: values[ids])
        for t, (mask, values) in enumerate(zip(masks, losses), start=start)
    ]


def lowest_id(p: np.ndarray, known: AvailabilityKnowledge) -> Strategy:
    strategy = FedLaAvg.start(p, 1, ties="lowest_id")
    # All values are distinct, so that no tie is broken by id.
    strategy.restore({"last_participation": np.argsort(p).argsort() - len(p)})
    return strategy


@pytest.mark.parametrize("name", list(STRATEGIES))
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_relabelling_clients_relabels_the_cohorts(name: str, seed: int) -> None:
    """Without random draws: all that can take part do, and no two clients tie."""
    make = lowest_id if name == "longest_absent" else STRATEGIES[name]
    p, masks, losses = world(seed, 6)
    rng = np.random.default_rng(seed)
    pi, eigenvalue, order = (
        rng.uniform(0.05, 0.95, N),
        rng.uniform(-0.05, 0.95, N),
        rng.permutation(N),
    )
    pi[0] = 0.7
    found = run(make(p, KnownAvailability(pi, eigenvalue)), masks, losses, N)
    relabelled = run(
        make(p[order], KnownAvailability(pi[order], eigenvalue[order])),
        masks[:, order],
        losses[:, order],
        N,
    )
    for a, b in zip(found, relabelled):
        weights = dict(zip(a.ids.tolist(), a.weights))
        again = dict(zip(order[b.ids].tolist(), b.weights))
        assert weights.keys() == again.keys()
        for k, weight in weights.items():
            assert again[k] == pytest.approx(weight, rel=1e-12)
