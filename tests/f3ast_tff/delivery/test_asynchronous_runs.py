"""Asynchronous runs: against an own event loop, synchronous runs, and themselves after a kill."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Asynchronous
from f3ast_tff.delivery.event_clock import EventClock
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.methods.parts.strategy import Round, Strategy
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.delivery.small_world import world

N, M, ROUNDS, RATE = 8, 3, 25, 0.05
ALIKE = {"device_example_spread": 0.0, "device_jitter": 0.0, "device_kbps_spread": 0.0}
SMALL: dict[str, Any] = {
    "task": "synthetic",
    "num_clients": 12,
    "clients_per_round": 4,
    "local_steps": 2,
    "rounds": 12,
    "eval_every": 4,
    "seed": 2,
    "engine": "host",
}
always: Any = SimpleNamespace(mask=lambda t: np.ones(2, bool))
# All clients at work, each with one step over all its examples.
LOOP: dict[str, Any] = {
    **{"task": "synthetic", "num_clients": N, "clients_per_round": N, "availability": "always"},
    **{"delivery": "asynchronous", "rounds": ROUNDS, "eval_every": ROUNDS, "seed": 4},
    **{"size_limit": 256, "batch_size": 256, "client_lr": RATE, "client_share": "equal"},
    "server_lr": 1.0,
}


class Came(NamedTuple):
    """An update that enters: its client, its staleness, the model it started from, and D_k."""

    client: int
    tau: int
    start: list[Any]
    update: list[Any]


# The server's step: from the model and the updates that enter to the next model.
Step = Callable[[list[Any], list[Came]], list[Any]]


def own_event_loop(given: dict[str, Any], buffer: int, step: Step) -> tuple[list[Any], float]:
    """Plays `buffer` arrivals per step; returns the weights and the time."""
    parts = Builder(resolve({**given, "engine": "host"}))
    times: Any = parts.delivery
    train, weights = parts.data.train, parts.model.initial_weights(4)

    def update(k: int, model: list[np.ndarray]) -> list[np.ndarray]:
        rows = slice(train.offsets[k], train.offsets[k + 1])
        x, labels = train.features[rows].astype(float), train.labels[rows]
        logits = x @ model[0] + model[1]
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.arange(len(x)), labels] -= 1
        return [-RATE * x.T @ shares / len(x), -RATE * shares.mean(axis=0)]

    model: list[Any] = [weight.astype(float) for weight in weights]
    working: list[tuple[float, int, int, int, Any]] = []
    idle, now, started = set(range(N)), 0.0, 0
    for t in range(1, given["rounds"] + 1):
        for k in sorted(idle):
            (needed,) = times.seconds(t, np.array([k]))
            working.append((now + needed, started, k, t, (model, update(k, model))))
            started += 1
        working.sort(key=lambda each: each[:2])
        came, working = working[:buffer], working[buffer:]
        now = came[-1][0]
        idle = {each[2] for each in came}
        model = step(model, [Came(k, t - since, *found) for _, _, k, since, found in came])
    return model, now


def added(model: list[Any], updates: list[list[Any]], weights: Any) -> list[Any]:
    """Returns the model plus the weighted sum of updates."""
    return [w + sum(a * u[i] for a, u in zip(weights, updates)) for i, w in enumerate(model)]


def buffered(power: float) -> Step:
    """FedBuff, and FedAvg on arrival with power 0."""
    return lambda model, came: added(
        model, [each.update for each in came], [(1 + each.tau) ** -power / M for each in came]
    )


def mixed(share: Callable[[int], float]) -> Step:
    """FedAsync: (1 - a) w + a (w_{t - tau} + D_k), a = `share` of tau."""

    def step(model: list[Any], came: list[Came]) -> list[Any]:
        ((_, tau, start, update),) = came
        a = share(tau)
        return [(1 - a) * w + a * (v + d) for w, v, d in zip(model, start, update)]

    return step


def remembering(rule: str, away: float = np.inf) -> Step:
    """CA2FL: mean(D - y) + mean of all y. ACE: mean of all y afterwards.

    ACED: the mean of those that entered in the last `away` steps before this one, or in this one.
    """
    latest: dict[int, Any] = {}
    entered: dict[int, int] = {}
    steps = 0

    def step(model: list[Any], came: list[Came]) -> list[Any]:
        nonlocal steps
        steps += 1
        if rule == "ca2fl":
            zero = [np.zeros_like(part) for part in model]
            before = [latest.get(each.client, zero) for each in came]
            model = added(model, [*latest.values()], [1 / N] * len(latest))
            model = added(model, [each.update for each in came], [1 / M] * M)
            model = added(model, before, [-1 / M] * M)
        latest.update({each.client: each.update for each in came})
        entered.update(dict.fromkeys((each.client for each in came), steps))
        kept = [latest[k] for k, since in entered.items() if steps - since <= away]
        number = N if rule == "ace" else len(kept)
        return model if rule == "ca2fl" else added(model, kept, [1 / number] * len(kept))

    return step


def hinge(tau: int) -> float:
    return 0.5 if tau <= 3 else 0.5 / (2 * (tau - 3) + 1)


MIXED = {"algorithm": "fedasync", "rounds": 40}
LOOPS: dict[str, tuple[dict[str, Any], int, Callable[[], Step]]] = {
    "fedbuff": ({"algorithm": "fedbuff", "buffer_size": M}, M, lambda: buffered(0.5)),
    "uniform": ({"algorithm": "uniform", "async_buffer": M}, M, lambda: buffered(0.0)),
    "ca2fl": ({"algorithm": "fedvarp", "async_buffer": M}, M, lambda: remembering("ca2fl")),
    "ace": ({"algorithm": "mifa", "rounds": 40}, 1, lambda: remembering("ace")),
    "fedasync": (MIXED, 1, lambda: mixed(lambda tau: 0.6 * (1 + tau) ** -0.5)),
    "fedasync_constant": (
        {**MIXED, "fedasync_weight": "constant", "fedasync_alpha": 0.3},
        *(1, lambda: mixed(lambda tau: 0.3)),
    ),
    "fedasync_hinge": (
        {**MIXED, "fedasync_weight": "hinge", "fedasync_alpha": 0.5}
        | {"fedasync_hinge_a": 2.0, "fedasync_hinge_b": 3.0},
        *(1, lambda: mixed(hinge)),
    ),
    "aced": (
        {"algorithm": "aced", "rounds": 60, "aced_tau": 10},
        *(1, lambda: remembering("aced", away=10)),
    ),
    "aced_buffered": (
        {"algorithm": "aced", "rounds": 40, "aced_tau": 2, "async_buffer": M},
        *(M, lambda: remembering("aced", away=2)),
    ),
}


# One of each form of the server's step is compiled by default.
COMPILED = ("fedbuff", "ca2fl", "fedasync")


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        *((name, "host") for name in LOOPS),
        *(
            pytest.param(name, "fused", marks=() if name in COMPILED else pytest.mark.long)
            for name in LOOPS
        ),
    ],
)
def test_as_an_own_event_loop(name: str, engine: str) -> None:
    settings, buffer, step = LOOPS[name]
    given = {**LOOP, **settings}
    given["eval_every"] = given["rounds"]
    expected, seconds = own_event_loop(given, buffer, step())
    found = simulate(**given, engine=engine)
    assert found.metrics["max_staleness"].iloc[-1] > 0
    assert found.selection["round_seconds"].sum() == pytest.approx(seconds, rel=1e-12)
    for one, other in zip(found.weights, expected):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    ("starts", "availability"), [("at_once", "always"), ("with_model", "four_classes")]
)
@pytest.mark.parametrize("algorithm", ["fedavg", "fedvarp", "mifa", "f3ast"])
def test_with_equal_speeds_it_is_the_synchronous_run(
    algorithm: str, starts: str, availability: str
) -> None:
    """Buffer, clients at work and cohort are all 4: bit for bit, models, choices and weights."""
    draws = {"baseline_sampling": "without_replacement"} if algorithm == "fedavg" else {}
    given = {**SMALL, "algorithm": algorithm, "availability": availability, **draws}
    clock = {"delivery": "asynchronous", "async_buffer": 4, "async_starts": starts, **ALIKE}
    one, other = simulate(**given), simulate(**given, **clock)
    for name in ("selected", "weights", "delivered", "bytes_down", "bytes_up", "num_available"):
        np.testing.assert_array_equal(one.selection[name], other.selection[name])
    for before, after in zip(one.weights, other.weights):
        np.testing.assert_array_equal(before, after)
    fused = simulate(**{**given, **clock, "engine": "fused"})
    for before, after in zip(one.weights, fused.weights):
        np.testing.assert_allclose(before, after, atol=1e-6)


def test_waiting_for_all_is_synchronous_at_any_speeds() -> None:
    """Devices differ: as without losses, each round lasts as long as its slowest client."""
    given = {**SMALL, "algorithm": "uniform", "availability": "always"}
    clock = {"delivery": "asynchronous", "async_buffer": 4, "async_starts": "with_model"}
    one = simulate(**given, delivery="bernoulli", loss_probability=0.0)
    other = simulate(**given, **clock)
    np.testing.assert_array_equal(one.selection["selected"], other.selection["selected"])
    for name in ("round_seconds", "weights"):
        np.testing.assert_allclose(one.selection[name], other.selection[name], rtol=1e-12)
    for before, after in zip(one.weights, other.weights):
        np.testing.assert_array_equal(before, after)


@pytest.mark.long
def test_rates_of_f3ast_sum_to_the_buffer() -> None:
    """Two clients of 1 s and about 3 s, p = 1/2, M = 1: r is the share of the server's steps.

    A client enters in a share r_k of the steps with the weight p_k / r_k: 1/2 per step for each.
    """
    given = {
        **{"task": "synthetic", "num_clients": 2, "clients_per_round": 2, "engine": "host"},
        **{"algorithm": "f3ast", "availability": "always", "delivery": "asynchronous"},
        **{"rounds": 3000, "eval_every": 3000, "rate_beta": 0.005, "local_steps": 1, "seed": 1},
        **{"client_share": "equal", "device_jitter": 0.0},
    }
    record = simulate(**given).selection
    rates = record["final_rates"]
    assert rates.sum() == pytest.approx(1, rel=1e-3)
    weights = np.zeros((3000, 2))
    for clients, values in (("selected", "weights"), ("late_clients", "late_weights")):
        for t, place in zip(*np.nonzero(record[values])):
            weights[t, record[clients][t, place]] = record[values][t, place]
    assert (weights[-2000:] > 0).mean(axis=0) == pytest.approx(rates, abs=0.02)
    np.testing.assert_allclose(weights[-2000:].mean(axis=0), [0.5, 0.5], rtol=0.02)


@pytest.mark.long
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [(Uniform.start([0.5, 0.5], 1), -0.5), (F3AST.start([0.5, 0.5], 1, rate_beta=0.002), 0.0)],
    ids=["uniform", "f3ast"],
)
def test_bias_on_two_quadratics(strategy: Strategy, expected: float) -> None:
    """f_k(w) = (w - c_k)^2 / 2, c = (-1, 1), p = 1/2, clients of 1 s and 3 s at work all the time.

    Of four updates three are of client 0. Equal weights have their fixed point at
    3/4 (-1) + 1/4 (1) = -1/2, weights p / r at 0, the optimum, up to O(beta) and the rate 0.01.
    """
    given: Any = {"async_buffer": 1, "async_period_seconds": 1.0, "device_jitter": 0.0}
    clients = world(np.array([100, 300]), process=always)
    times = Asynchronous(device_example_spread=0.0, **given).build(clients)
    clock, w, sent, models = EventClock(times, 2), 0.0, {}, []
    for t in range(1, 12001):

        def choose(free: np.ndarray, most: int, request: int, t: int = t) -> np.ndarray:
            return strategy.select(Round(t, free, RoundConstraint(most), request=request))

        played = clock.play(t, 2, choose)
        sent |= {work.number: -0.01 * (w - (-1, 1)[work.client]) for work in played.started}
        clock.take(played.here)
        ids = np.array([work.client for work in played.here])
        asked_in = np.array([work.asked_in for work in played.here])
        now = Round(t, np.ones(2, bool), RoundConstraint(1), asked_in=asked_in)
        weights = strategy.weigh(now, ids, np.ones(1, bool)).weights
        w += float(weights[0]) * sent.pop(played.here[0].number)
        models.append(w)
    assert np.mean(models[-4000:]) == pytest.approx(expected, abs=0.02)
