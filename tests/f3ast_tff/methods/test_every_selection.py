"""Properties of each selection: restarts, saved states, feasible cohorts, other client ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.saved_state import SavedState
from f3ast_tff.methods import Losses, Outcome, Round, RoundConstraint, Strategy
from f3ast_tff.methods.ca_fed import CAFed
from f3ast_tff.methods.f3ast_of_ca_fed import F3ASTOfCAFed
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.fedavg import FedAvg, Uniform
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.availability_knowledge import (
    AvailabilityKnowledge,
    EstimatedAvailability,
    KnownAvailability,
)
from f3ast_tff.methods.parts.loss_estimates import LossEstimates
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.parts.wrappers import Separated
from f3ast_tff.methods.unbiased import AdaFed, MoreAvailable, Unbiased
from f3ast_tff.settings import builtin_registry
from tests.f3ast_tff.methods.small_world import SIZES, Blinking, K, N, config, played, small_world

P = SIZES / SIZES.sum()
ALGORITHMS = builtin_registry().components["algorithm"]
# Arguments that a method needs besides p and K.
NEEDS: dict[str, dict[str, Any]] = {
    "f3ast_fixed": {"availability": Blinking(), "policy_states": 20},
    "fedavg_then_fedlaavg": {"rounds": 10},
}
# Methods that only add rules of clients and server to another selection.
REMEMBER = {
    component.config.algorithm.component.name
    for component in builtin_registry().components["aggregation"].values()
    if hasattr(component.config, "algorithm")
} - {"fedlaavg"}  # Its selection is its own.
# Methods of late updates alone.
LATE = {name for name, component in ALGORITHMS.items() if component.config.deliveries}
SELECT = sorted(ALGORITHMS.keys() - REMEMBER)
STARTED = sorted({*SELECT} - LATE)
# Parameters that change the state.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in SELECT),
    ("f3ast", {"rate_step": "falling"}),
    ("f3ast", {"rate_clusters": 2, "rate_step": "falling"}),
    ("f3ast", {"rates_follow": "both"}),
    ("fedau", {"fedau_cutoff": 2}),
]
CONSTRAINTS = {
    "number": RoundConstraint(K),
    "costs": RoundConstraint(N, cost=np.arange(1.0, N + 1), budget=9.0),
    "groups": RoundConstraint(K, group=np.arange(N) % 3, minimum=np.array([2, 1, 0])),
}


def start(name: str, **given: Any) -> Strategy:
    if name in LATE:
        return config(name, **given).build(small_world(seed=3))
    return ALGORITHMS[name].config.start(P, K, seed=3, **{**NEEDS.get(name, {}), **given})


def losses(t: int) -> Losses:
    return lambda ids: np.random.default_rng(t).random(N)[ids]


def play(strategy: Strategy, rounds: range) -> list[tuple[list[int], list[float]]]:
    """Cohorts and weights, with absent clients and lost updates."""
    played = []
    for t in rounds:
        rng = np.random.default_rng([5, t])
        now = Round(t, rng.random(N) < 0.7, RoundConstraint(K), losses(t))
        ids = strategy.select(now)
        delivered = rng.random(len(ids)) < 0.8
        cohort = strategy.weigh(now, ids, delivered)
        if strategy.needs_outcome:
            strategy.observe(t, Outcome(ids, delivered, losses(t)(ids)))
        played.append((cohort.ids.tolist(), cohort.weights.tolist()))
    return played


@pytest.mark.parametrize(("name", "given"), VARIANTS, ids=[f"{n}{g or ''}" for n, g in VARIANTS])
def test_it_goes_on_after_a_restart(name: str, given: dict[str, Any]) -> None:
    """Bit for bit, also before round 1; continuing does not change the saved state."""
    whole = start(name, **given)
    assert whole.aggregation == ALGORITHMS[name].config.aggregation
    expected = play(whole, range(1, 13))
    assert any(ids for ids, _ in expected)
    for stop in (0, 1, 5):
        stopped, restarted = start(name, **given), start(name, **given)
        play(stopped, range(1, stop + 1))
        saved = stopped.state()
        play(stopped, range(stop + 1, 13))
        restarted.restore(saved)
        assert play(restarted, range(stop + 1, 13)) == expected[stop:]
        for key, value in whole.state().items():
            np.testing.assert_array_equal(restarted.state()[key], value)


RATES = ["rates", "unscaled_rates", "rate_scale", "rate_updates"]
KNOWN = [
    *("last_round", "rounds", "last_mask", "active"),
    *("from_active", "stayed_active", "from_inactive", "stayed_inactive"),
]
LOSSES = ["losses_values", "losses_minima", "losses_started"]
ESTIMATED = {"availability_knowledge": "estimated"}
# What a checkpoint calls a method's state: by other names an interrupted run would not go on.
KEPT: list[tuple[str, dict[str, Any], list[str]]] = [
    ("f3ast", {}, RATES[:3]),
    ("f3ast", {"rate_clusters": 2, "rate_step": "falling"}, RATES),
    (
        *("f3ast", {"rates_follow": "both", "rate_step": "falling"}),
        RATES + [f"selected_{name}" for name in RATES],
    ),
    ("unbiased", ESTIMATED, KNOWN),
    ("ca_fed", ESTIMATED, [f"availability_{name}" for name in KNOWN] + LOSSES),
    ("fedlaavg", {}, ["last_participation"]),
    ("fedavg_then_fedlaavg", {}, ["last_participation"]),
    ("fedau", {}, ["mean_interval", "intervals_ended", "interval_rounds"]),
    ("oort_loss", {}, ["utility", "last_participation"]),
    ("fedbuff", {}, ["stepped"]),
    ("aced", {}, ["steps", "entered"]),
]


@pytest.mark.parametrize(("name", "given", "kept"), KEPT, ids=[f"{n}{g or ''}" for n, g, _ in KEPT])
def test_names_in_a_checkpoint(name: str, given: dict[str, Any], kept: list[str]) -> None:
    assert [*config(name, **given).build(small_world()).state()] == kept


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("name", sorted({*SELECT} - {"f3ast_fixed", "sequential_sgd"}))
def test_cohorts_are_feasible(name: str, kind: str) -> None:
    """Also with few available clients; f3ast_fixed needs a number, sequential_sgd one client."""
    draws = name in ("fedavg", "fedadam", "fedavg_then_fedlaavg", "fedavg_in_time")
    strategy = start(name, **({"baseline_sampling": "without_replacement"} if draws else {}))
    limit = CONSTRAINTS[kind]
    for t in range(1, 25):
        mask = np.random.default_rng([7, t]).random(N) < t / 25
        now = Round(t, mask, limit, losses(t))
        ids = strategy.select(now)
        cohort = strategy.weigh(now, ids, np.ones(len(ids), bool))
        if strategy.needs_outcome:
            strategy.observe(t, Outcome(ids, np.ones(len(ids), bool), losses(t)(ids)))
        assert (ids.dtype, cohort.weights.dtype) == (np.int64, np.float64)
        assert len(set(ids.tolist())) == len(ids) and mask[ids].all()
        assert np.all(cohort.weights > 0) and np.isfinite(cohort.weights).all()
        there = np.flatnonzero(mask)
        left = np.setdiff1d(there, ids)
        if limit.cost is not None:
            rest = limit.budget - limit.cost[ids].sum()
            assert rest >= 0
            full = (limit.cost[left] > rest).all()
        else:
            assert len(ids) <= K
            full = len(ids) == min(K, len(there))
        if name in ("more_available", "ca_fed"):
            continue  # These exclude clients, by availability or loss.
        assert full
        if limit.group is not None:
            for g, fewest in enumerate(limit.minimum):
                here = np.count_nonzero(limit.group[there] == g)
                assert np.count_nonzero(limit.group[ids] == g) >= min(fewest, here)


@pytest.mark.parametrize("name", SELECT)
def test_with_nobody_available_nobody_is_selected_or_asked(name: str) -> None:
    def asked(ids: np.ndarray) -> np.ndarray:
        raise AssertionError("asked")

    strategy = start(name)
    now = Round(1, np.zeros(N, bool), RoundConstraint(K), asked)
    ids = strategy.select(now)
    cohort = strategy.weigh(now, ids, np.zeros(0, bool))
    assert len(cohort) == len(ids) == 0
    assert (ids.dtype, cohort.weights.dtype) == (np.int64, np.float64)


CLIENTS = 12
Make = Callable[[np.ndarray, AvailabilityKnowledge], Strategy]

OF_AVAILABILITY: dict[str, Make] = {
    "unbiased": lambda p, known: Unbiased.knowing(p, known, seed=1),
    "adafed": lambda p, known: AdaFed.knowing(p, known, seed=1),
    "more_available": lambda p, known: MoreAvailable.knowing(p, known, seed=1),
    "ca_fed": lambda p, known: CAFed.knowing(p, known, seed=1, kappa2=0.05, loss_beta=0.5),
    "f3ast_of_ca_fed": lambda p, known: F3ASTOfCAFed.knowing(p, known, rate_beta=0.01),
    "longest_absent": lambda p, known: FedLaAvg.start(p, 1, seed=1),
}


def shares_masks_losses(seed: int, rounds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns shares [CLIENTS], masks [T, CLIENTS] and losses [T, CLIENTS]."""
    rng = np.random.default_rng(seed)
    masks = rng.random((rounds, CLIENTS)) < rng.uniform(0.1, 0.9, CLIENTS)
    return rng.dirichlet(np.ones(CLIENTS)), masks, rng.random((rounds, CLIENTS))


def played_over(
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


@pytest.mark.parametrize("name", list(OF_AVAILABILITY))
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_relabelling_clients_relabels_the_cohorts(name: str, seed: int) -> None:
    """Without random draws: all that can take part do, and no two clients tie."""
    make = lowest_id if name == "longest_absent" else OF_AVAILABILITY[name]
    p, masks, losses = shares_masks_losses(seed, 6)
    rng = np.random.default_rng(seed)
    pi, eigenvalue, order = (
        rng.uniform(0.05, 0.95, CLIENTS),
        rng.uniform(-0.05, 0.95, CLIENTS),
        rng.permutation(CLIENTS),
    )
    pi[0] = 0.7
    found = played_over(make(p, KnownAvailability(pi, eigenvalue)), masks, losses, CLIENTS)
    relabelled = played_over(
        make(p[order], KnownAvailability(pi[order], eigenvalue[order])),
        masks[:, order],
        losses[:, order],
        CLIENTS,
    )
    for a, b in zip(found, relabelled):
        weights = dict(zip(a.ids.tolist(), a.weights))
        again = dict(zip(order[b.ids].tolist(), b.weights))
        assert weights.keys() == again.keys()
        for k, weight in weights.items():
            assert again[k] == pytest.approx(weight, rel=1e-12)


def equal(n: int) -> np.ndarray:
    return np.full(n, 1 / n)


def falling(n: int) -> ParticipationRates:
    return ParticipationRates(equal(n), 0.1, falling=True)


# By name: an object of n clients, and the end of "saved ... lack ...".
MAKE: dict[str, tuple[Callable[[int], Any], str]] = {
    "rates": (lambda n: ParticipationRates(equal(n), 0.1), "rates lack rate_scale, unscaled_rates"),
    "falling": (falling, "rates lack rate_scale, rate_updates, unscaled_rates"),
    "losses": (LossEstimates, "losses lack minima, started, values"),
    "availability": (EstimatedAvailability, "availability lack .*last_round"),
    "separated": (
        lambda n: Separated(Uniform.start(equal(n), 2), 2, n),
        "selections lack free_from",
    ),
    "fedau": (
        lambda n: FedAU.start(equal(n), n),
        "arrays lack interval_rounds, intervals_ended, mean_interval",
    ),
    "oort": (lambda n: OortLoss.start(equal(n), n), "arrays lack last_participation, utility"),
}


@pytest.mark.parametrize(("make", "lack"), MAKE.values(), ids=MAKE)
def test_states_that_do_not_fit_are_refused(make: Callable[[int], Any], lack: str) -> None:
    with pytest.raises(ValueError, match=f"saved {lack}"):
        make(2).restore({})
    with pytest.raises(ValueError, match=r"saved \w+ has shape \(3,\), not \(2,\): .* of another"):
        make(2).restore(make(3).state())


def test_rates_saved_with_a_constant_step_lack_the_number_of_rounds() -> None:
    with pytest.raises(ValueError, match="saved rates lack rate_updates"):
        falling(2).restore(ParticipationRates(equal(2), 0.1).state())


@pytest.mark.parametrize("stateless", [KnownAvailability(equal(4)), FedAvg.start(equal(4), 1)])
def test_without_a_state_only_the_empty_one_is_restored(stateless: Any) -> None:
    assert stateless.state() == {}
    stateless.restore({})
    with pytest.raises(ValueError, match="unexpected saved state.*rates"):
        stateless.restore({"rates": np.ones(4)})


def test_an_array_that_is_made_anew_is_refused() -> None:
    """`restore` would write into a copy."""

    class Points(SavedState):
        pointer = 3

        def saved_arrays(self) -> dict[str, np.ndarray]:
            return {"pointer": np.array([self.pointer])}

    with pytest.raises(ComponentError, match="Points: saved_arrays.. makes a new array"):
        Points().state()
