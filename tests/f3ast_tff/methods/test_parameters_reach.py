"""What another value of an algorithm's parameter becomes in its strategy, and in its rounds.

That every parameter changes its part is tested for all that is registered, in
`tests/f3ast_tff/settings/test_every_setting_reaches.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
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


# Settings under which another value of a parameter makes other rounds: by default under none.
UNDER: dict[str, dict[str, Any]] = {
    "availability_history": {"availability_knowledge": "estimated"},
    "ties": {"switch_round": 4},
    "fedasync_hinge_a": {"fedasync_weight": "hinge", "fedasync_hinge_b": 1.0},
    "fedasync_hinge_b": {"fedasync_weight": "hinge"},
    "oort_exploration_min": {"oort_exploration": 0.0},
    "oort_cutoff": {"oort_exploration": 0.0},
}
# Numbers for which neither 3 nor 0.25 is another value with an effect.
NUMBERS = {"fedasync_hinge_a": 2.0, "oort_exploration_min": 0.9}
# Of the losses' gradients, and of the memory: no selection or weight follows from them.
ELSEWHERE = {"poc_clip_norm", "memory_from_round"}


def others() -> Iterator[tuple[str, str, Any]]:
    """Every parameter of every algorithm, with each other choice, or with another number."""
    for algorithm, component in ALGORITHMS.items():
        for p in component.parameters:
            default = getattr(config(algorithm), p.name)
            number = NUMBERS.get(p.name, 3 if p.kind is int else 0.25)
            values = p.choices or ((False, True) if p.kind is bool else (number,))
            found = [value for value in values if value != default]
            assert found
            if p.name not in ELSEWHERE:
                yield from ((algorithm, p.name, value) for value in found)


@cache
def rounds_of(algorithm: str, **given: Any) -> list[Any]:
    first, again = (rounds(Built(algorithm, **given).strategy) for _ in range(2))
    assert first == again
    return first


@pytest.mark.parametrize(("algorithm", "name", "other"), list(others()))
def test_another_value_makes_other_rounds(algorithm: str, name: str, other: Any) -> None:
    if name == "loss_minima":
        pytest.importorskip("scipy")
    own = {p.name for p in ALGORITHMS[algorithm].parameters}
    given = {each: value for each, value in UNDER.get(name, {}).items() if each in own}
    changed = rounds(Built(algorithm, **{**given, name: other}).strategy)
    assert changed != rounds_of(algorithm, **given)


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
