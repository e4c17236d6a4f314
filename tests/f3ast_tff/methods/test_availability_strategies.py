"""What the strategies of the CA-Fed and FedLaAvg papers have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.methods.ca_fed import CAFed
from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
from f3ast_tff.methods.fedlaavg import LongestAbsent
from f3ast_tff.methods.parts.availability_knowledge import (
    AvailabilityKnowledge,
    AvailabilityPrior,
    EstimatedAvailability,
    KnownAvailability,
)
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.loss_estimates import LossEstimates
from f3ast_tff.methods.parts.strategy import Cohort, Round, Strategy, cohort_of
from f3ast_tff.methods.unbiased import AdaFed, MoreAvailable, Unbiased

N = 12
Make = Callable[[np.ndarray, AvailabilityKnowledge], Strategy]

STRATEGIES: dict[str, Make] = {
    "unbiased": lambda p, known: Unbiased(p, known, seed=1),
    "adafed": lambda p, known: AdaFed(p, known, seed=1),
    "more_available": lambda p, known: MoreAvailable(p, known, seed=1),
    "ca_fed": lambda p, known: CAFed(p, known, LossEstimates(len(p), 0.5), 0.05, seed=1),
    "f3ast_of_ca_fed": lambda p, known: F3ASTOfCAFed(p, known, 0.01),
    "longest_absent": lambda p, known: LongestAbsent(p, seed=1),
}
each_strategy = pytest.mark.parametrize("make", list(STRATEGIES.values()), ids=list(STRATEGIES))


def estimated() -> EstimatedAvailability:
    return EstimatedAvailability(AvailabilityPrior.uniform(N))


def world(seed: int, rounds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns shares [N], masks [T, N] and losses [T, N]."""
    rng = np.random.default_rng(seed)
    masks = rng.random((rounds, N)) < rng.uniform(0.1, 0.9, N)
    return rng.dirichlet(np.ones(N)), masks, rng.random((rounds, N))


def run(
    strategy: Strategy, masks: np.ndarray, losses: np.ndarray, k: int, start: int = 1
) -> list[Cohort]:
    return [
        cohort_of(
            strategy, Round(t, mask, RoundConstraint(k), lambda ids, values=values: values[ids])
        )
        for t, (mask, values) in enumerate(zip(masks, losses), start=start)
    ]


def assert_equal(found: list[Cohort], expected: list[Cohort]) -> None:
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_array_equal(a.weights, b.weights)


@each_strategy
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, N))
def test_cohorts_are_feasible(make: Make, seed: int, k: int) -> None:
    p, masks, losses = world(seed, 8)
    for mask, cohort in zip(masks, run(make(p, estimated()), masks, losses, k)):
        assert len(cohort) <= min(k, mask.sum())
        assert len(set(cohort.ids)) == len(cohort)
        assert mask[cohort.ids].all()
        assert np.all(cohort.weights > 0)
        assert np.all(np.isfinite(cohort.weights))
        assert (cohort.ids.dtype, cohort.weights.dtype) == (np.int64, np.float64)


@each_strategy
@pytest.mark.parametrize("cut", [0, 1, 13])
def test_a_restored_strategy_repeats_bit_for_bit(make: Make, cut: int) -> None:
    p, masks, losses = world(3, 30)
    whole = run(make(p, estimated()), masks, losses, 4)
    first = make(p, estimated())
    run(first, masks[:cut], losses[:cut], 4)
    saved = first.state()
    # What goes on changes nothing in what was saved.
    run(first, masks[cut:], losses[cut:], 4, start=cut + 1)
    resumed = make(p, estimated())
    resumed.restore(saved)
    assert_equal(run(resumed, masks[cut:], losses[cut:], 4, start=cut + 1), whole[cut:])


@each_strategy
def test_draws_are_a_function_of_seed_and_round(make: Make) -> None:
    p, masks, losses = world(4, 20)
    assert_equal(
        run(make(p, estimated()), masks, losses, 3), run(make(p, estimated()), masks, losses, 3)
    )


def lowest_id(p: np.ndarray, known: AvailabilityKnowledge) -> Strategy:
    strategy = LongestAbsent(p, random_ties=False)
    # All distinct, so that no tie goes by id.
    strategy.restore({"last_participation": np.argsort(p).argsort() - len(p)})
    return strategy


@pytest.mark.parametrize("name", list(STRATEGIES))
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_relabelling_clients_relabels_the_cohorts(name: str, seed: int) -> None:
    """With nothing to draw: all that can take part do, and no two clients tie."""
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


@each_strategy
def test_the_history_of_a_strategy_is_observed(make: Make) -> None:
    """Cohorts with estimates differ from those of an oracle that knows other values."""
    p, masks, losses = world(6, 10)
    oracle = KnownAvailability(np.linspace(0.3, 0.9, N), np.linspace(0.9, 0, N))
    same = [
        np.array_equal(a.weights, b.weights)
        for a, b in zip(
            run(make(p, estimated()), masks, losses, N), run(make(p, oracle), masks, losses, N)
        )
    ]
    assert all(same) == (make is STRATEGIES["longest_absent"])
