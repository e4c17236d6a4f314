"""Properties of each selection: restarts, feasible cohorts, empty rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.methods import Losses, Outcome, Round, RoundConstraint, Strategy
from f3ast_tff.settings import builtin_registry
from tests.f3ast_tff.methods.small_world import SIZES, Blinking, K, N, config, small_world

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
