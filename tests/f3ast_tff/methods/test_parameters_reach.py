"""What the default and another value of an algorithm's parameter become in its strategy.

That every parameter changes its part is tested for all that is registered, in
`tests/f3ast_tff/settings/test_every_setting_reaches.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.rates import OBJECTIVES
from f3ast_tff.methods import Outcome, Round, RoundConstraint
from f3ast_tff.methods.parts.late import admitted_by
from f3ast_tff.rate_region import StatesOracle, optimal_rates, sampled_states
from f3ast_tff.settings import builtin_registry
from tests.f3ast_tff.methods.small_world import SIZES, Blinking, K, N, config, small_world

ALGORITHMS = builtin_registry().components["algorithm"]
FEDAVG = ("fedavg", "fedadam", "fedavg_then_fedlaavg", "fedavg_in_time")
F3AST = ("f3ast", "f3ast_adam")
KNOWLEDGE = ("unbiased", "more_available", "adafed", "ca_fed", "f3ast_of_ca_fed", "fedstale")
P = SIZES / SIZES.sum()


class Built:
    """A `Config`, its strategy, and the availability that the strategy has looked at."""

    def __init__(self, algorithm: str, **given: Any) -> None:
        self.world = small_world(Blinking())
        self.config = config(algorithm, **given)
        self.strategy: Any = self.config.build(self.world)

    @property
    def foreseen(self) -> list[int]:
        """Rounds looked at in advance, all after the run's end."""
        rounds = self.world.availability.rounds
        assert not rounds or rounds[0] == self.world.rounds + 1
        return rounds


def pi(built: Built) -> list[float]:
    return built.strategy.knowledge.pi.tolist()


def rates(built: Built) -> list[float]:
    return built.strategy.rates.values.tolist()


def with_minima(built: Built) -> bool:
    """Whether losses have known minima above 0."""
    return bool(np.all(built.strategy.loss_estimates.minima > 0))


def minimised(built: Built) -> list[str]:
    """Objectives that the rates of a fixed policy minimise over the rounds looked at."""
    oracle = StatesOracle(sampled_states(map(Blinking().mask, built.foreseen), K))
    best = {o: optimal_rates(P, o, oracle, tolerance=1e-3, max_steps=3000) for o in OBJECTIVES}
    return [o for o in OBJECTIVES if np.array_equal(best[o].rates, built.strategy.rates)]


def second_loss(built: Built) -> float:
    """Returns the loss estimate after losses of 1 and 3."""
    estimates = built.strategy.loss_estimates
    for loss in (1.0, 3.0):
        estimates = estimates.after(np.array([0]), np.array([loss]))
    return estimates.values[0]


def of(path: str) -> Callable[[Built], Any]:
    """Returns a function that reads an attribute of the strategy."""
    return lambda built: attrgetter(path)(built.strategy)


def without(path: str) -> Callable[[Built], bool]:
    return lambda built: of(path)(built) is None


def of_config(name: str) -> Callable[[Built], Any]:
    return lambda built: getattr(built.config, name)


WITHOUT_SHARES = {"uniform", "sequential_sgd", "fedvarp", "mimic", "fedbuff", "fadas", "fedasync"}
ORACLE, EVEN = Blinking.stationary.tolist(), [0.5] * N
# Algorithms, a parameter, a second value, the function that reads its effect, and the effects of
# the default and of the second value.
ROWS: list[tuple[tuple[str, ...], str, Any, Callable[[Built], Any], Any, Any]] = [
    (F3AST, "rate_beta", 0.25, of("rates.beta"), 0.001, 0.25),
    (F3AST, "rate_init", "k_over_n", rates, P.tolist(), EVEN),
    (F3AST, "rate_step", "falling", of("rates.falling"), False, True),
    (F3AST, "rates_follow", "both", without("selected_rates"), True, False),
    (("f3ast_fixed",), "availability_objective", "p", minimised, ["p_squared"], ["p"]),
    (("f3ast_fixed",), "policy_states", 20, lambda b: len(b.foreseen), 500, 20),
    (("poc",), "poc_loss", "training_loss", of_config("client_loss"), "mean", "training_loss"),
    (("poc",), "poc_clip_norm", 2.0, of_config("client_clip_norm"), None, 2.0),
    (KNOWLEDGE, "availability_knowledge", "estimated", pi, ORACLE, EVEN),
    (KNOWLEDGE, "availability_history", 7, lambda b: len(b.foreseen), 0, 7),
    (("ca_fed",), "loss_beta", 0.25, second_loss, 3.0, 1.5),
    (("ca_fed",), "loss_minima", "trained", with_minima, False, True),
    (("ca_fed",), "ca_fed_bias", "released", of("bias_factor"), 4, 1),
    (("ca_fed",), "ca_fed_bias", "released", of("strict"), True, False),
]
CASES = [(algorithm, *row[1:]) for row in ROWS for algorithm in row[0]]


@pytest.mark.parametrize(
    ("algorithm", "name", "other", "seen", "before", "after"),
    CASES,
    ids=[f"{algorithm}-{name}" for algorithm, name, *_ in CASES],
)
def test_it_reaches_its_part(
    algorithm: str, name: str, other: Any, seen: Callable[[Built], Any], before: Any, after: Any
) -> None:
    if name == "loss_minima":
        pytest.importorskip("scipy")
    given = {"availability_knowledge": "estimated"} if name == "availability_history" else {}
    assert seen(Built(algorithm, **given)) == before
    assert seen(Built(algorithm, **given, **{name: other})) == after


# Parameters that a method in one class reads itself: algorithms, a parameter, a second value, and
# further settings. Another value makes other rounds.
READ: list[tuple[tuple[str, ...], str, Any, dict[str, Any]]] = [
    (FEDAVG, "baseline_sampling", "without_replacement", {}),
    (FEDAVG, "baseline_sampling", "uniform", {}),
    (FEDAVG, "baseline_average", "examples", {}),
    (("fedlaavg",), "ties", "lowest_id", {}),
    (("fedavg_then_fedlaavg",), "ties", "lowest_id", {"switch_round": 4}),
    (("fedavg_then_fedlaavg",), "switch_round", 4, {}),
    (F3AST, "rate_clusters", 2, {}),
    (F3AST, "weight_bound", 0.5, {}),
    (F3AST, "rates_follow", "selected", {}),
    (F3AST, "divide_by_k", True, {}),
    (F3AST, "short_rounds", "fill_unavailable", {}),
    (F3AST, "availability_objective", "p", {}),
    (F3AST, "ties", "lowest_id", {"rate_init": "all_available"}),
    (("fedavg_in_time",), "in_time_rounds", 3, {}),
    (("fedbuff", "fadas"), "buffer_size", 4, {}),
    (("fedbuff",), "fedbuff_weight", "inverse", {"buffer_size": 2}),
    (("fedasync",), "fedasync_alpha", 0.9, {}),
    (("fedasync",), "fedasync_weight", "hinge", {}),
    (("fedasync",), "fedasync_power", 1.0, {}),
    (("fedasync",), "fedasync_hinge_a", 2.0, {"fedasync_weight": "hinge", "fedasync_hinge_b": 1.0}),
    (("fedasync",), "fedasync_hinge_b", 1.0, {"fedasync_weight": "hinge"}),
    (("aced",), "aced_tau", 2, {}),
    (("fadas",), "fadas_tau_c", 4, {"buffer_size": 2}),
    (("fadas",), "fadas_delay_adaptive", False, {"buffer_size": 2}),
    (("fadas",), "fadas_delayed_rate", "capped", {"buffer_size": 2}),
    (("f3ast_of_ca_fed",), "rate_beta", 0.25, {}),
    (("poc",), "poc_candidates", 3, {}),
    (("poc",), "poc_loss", "training_loss", {}),
    (("poc",), "poc_pool", "with_replacement", {}),
    (("poc",), "poc_average", "examples", {}),
    (("more_available",), "more_available_pi", 0.8, {}),
    (("ca_fed",), "kappa2", 0.05, {}),
    (("ca_fed",), "tau", 0.5, {"kappa2": 0.05}),
    (("fedau",), "fedau_cutoff", 2, {}),
    (("oort_loss",), "oort_exploration", 0.2, {}),
    (("oort_loss",), "oort_exploration_decay", 0.5, {}),
    (("oort_loss",), "oort_exploration_min", 0.9, {"oort_exploration": 0.0}),
    (("oort_loss",), "oort_cutoff", 0.1, {"oort_exploration": 0.0}),
]
READ_CASES = [(algorithm, *row[1:]) for row in READ for algorithm in row[0]]


def rounds(strategy: Any) -> list[Any]:
    """Plays 40 rounds in which updates are lost, or arrive in a later round."""
    found, waiting = [], np.zeros((0, 2), np.int64)
    for t in range(1, 41):
        rng = np.random.default_rng([5, t])
        losses = rng.random(N)
        now = Round(t, rng.random(N) < 0.7, RoundConstraint(K), lambda ids: losses[ids])  # noqa: B023
        ids = strategy.select(now)
        new = np.stack([ids, np.full(len(ids), t)], 1)
        arrived, asked_in = np.concatenate([new, waiting]).T
        admitted = admitted_by(strategy, now, asked_in)
        delivered = admitted.enters & (rng.random(len(arrived)) < 0.5)
        waiting = np.stack([arrived, asked_in], 1)[~delivered & ~admitted.dropped][-8:]
        cohort = strategy.weigh(replace(now, asked_in=asked_in), arrived, delivered)
        if strategy.needs_outcome:
            strategy.observe(t, Outcome(arrived, delivered, losses[arrived]))
        found.append((cohort.ids.tolist(), cohort.weights.tolist(), cohort.step))
    return found


@pytest.mark.parametrize(
    ("algorithm", "name", "other", "given"),
    READ_CASES,
    ids=[f"{algorithm}-{name}" for algorithm, name, *_ in READ_CASES],
)
def test_another_value_makes_other_rounds(
    algorithm: str, name: str, other: Any, given: dict[str, Any]
) -> None:
    first, again = (rounds(Built(algorithm, **given).strategy) for _ in range(2))
    assert first == again != rounds(Built(algorithm, **{**given, name: other}).strategy)


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_seed_and_shares_reach_every_strategy(algorithm: str) -> None:
    strategies = [config(algorithm).build(small_world(seed=seed)) for seed in (1, 2)]
    inside = [getattr(s, "strategy", s) for s in strategies]
    seeds = [getattr(getattr(s, "then", s), "seed", None) for s in inside]
    assert seeds in ([None, None], [1, 2])
    if algorithm == "oort_loss":
        np.testing.assert_array_equal(strategies[0].sizes, SIZES)
    elif algorithm not in WITHOUT_SHARES:
        p = getattr(inside[0], "p", None)
        np.testing.assert_array_equal(inside[0].then.p if p is None else p, P)
