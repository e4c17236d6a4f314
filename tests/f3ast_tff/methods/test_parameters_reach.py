"""Another value of an algorithm's parameter makes other rounds.

That every parameter changes its part is tested for all that is registered, in
`tests/f3ast_tff/settings/test_every_setting_reaches.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from f3ast_tff.methods import Outcome, Round, RoundConstraint
from f3ast_tff.methods.parts.late import admitted_by
from f3ast_tff.settings import builtin_registry
from tests.f3ast_tff.methods.small_world import SIZES, Blinking, K, N, config, small_world

ALGORITHMS = builtin_registry().components["algorithm"]
P = SIZES / SIZES.sum()
WITHOUT_SHARES = {"uniform", "sequential_sgd", "fedvarp", "mimic", "fedbuff", "fadas", "fedasync"}


def started(algorithm: str, **given: Any) -> Any:
    return config(algorithm, **given).build(small_world(Blinking()))


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
    first, again = (rounds(started(algorithm, **given)) for _ in range(2))
    assert first == again
    return first


@pytest.mark.parametrize(("algorithm", "name", "other"), list(others()))
def test_another_value_makes_other_rounds(algorithm: str, name: str, other: Any) -> None:
    if name == "loss_minima":
        pytest.importorskip("scipy")
    own = {p.name for p in ALGORITHMS[algorithm].parameters}
    given = {each: value for each, value in UNDER.get(name, {}).items() if each in own}
    changed = rounds(started(algorithm, **{**given, name: other}))
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
