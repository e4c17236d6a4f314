"""Methods that change local training, compared with loops of their own in float64 and by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import NUM_CLASSES, NUM_FEATURES, tiny_data
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.feddc import FedDC
from f3ast_tff.methods.feddyn import FedDyn
from f3ast_tff.methods.fednova import FedNova
from f3ast_tff.methods.fedprox import FedProx
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Sgd
from f3ast_tff.settings.configuration import Settings
from tests.f3ast_tff.engines.two_biases import ENGINES, biases, labelled, s

DATA = tiny_data()
N = DATA.train.num_clients
P = np.full(N, 1 / N)
RATE, STEPS = 0.1, 4
# W and b of softmax regression as one vector, zeros at first.
START = np.zeros((NUM_FEATURES + 1) * NUM_CLASSES)
# Partial participation, an empty round, and a client drawn in consecutive rounds.
ROUNDS = [[0, 1], [2, 3], [0], [], [1, 2, 3], [0, 3], [0, 1, 2, 3], [2]]
Models = list[np.ndarray]


def gradient(k: int, model: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
    """Gradient of the mean cross-entropy of some of client k's examples, by default of all."""
    features, labels = (each[rows] for each in DATA.train.client(k))
    x = np.column_stack([features.reshape(len(labels), -1), np.ones(len(labels))])
    logits = x @ model.reshape(x.shape[1], -1)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(labels)), labels] -= 1
    found: np.ndarray = (x.T @ chances / len(labels)).ravel()
    return found


def moved(
    k: int, model: np.ndarray, pull: float = 0.0, offset: Any = 0.0, momentum: float = 0.0
) -> np.ndarray:
    """Update of client k after `STEPS` steps along g + offset + pull (w - model)."""
    w, trace = model, np.zeros_like(model)
    for _ in range(STEPS):
        trace = momentum * trace + gradient(k, w) + offset + pull * (w - model)
        w = w - RATE * trace
    return w - model


def run(
    made: Callable[..., Any],
    aggregation: Aggregation,
    batch_size: int = int(DATA.train.sizes.max()),
    momentum: float = 0.0,
) -> Models:
    """Returns the model after each of `ROUNDS` on an engine."""
    work = LocalTraining(batch_size, epochs=STEPS)
    parts = (DATA, work, Sgd(1.0), aggregation)
    client = Sgd(RATE, momentum=momentum)
    engine = made(*parts, client=client, p=P, cohort_size=N)
    found = []
    for t, ids in enumerate(ROUNDS, start=1):
        engine.run_rounds(t, [Cohort(np.array(ids, int), np.ones(len(ids)))])
        found.append(np.concatenate([np.ravel(weight) for weight in engine.weights()]))
    return found


def fedprox(mu: float) -> Models:
    """Algorithm 2 of the paper with K steps of gradient descent for its inexact solver."""
    w, found = START, []
    for ids in ROUNDS:
        if ids:
            w = w + np.mean([moved(k, w, pull=mu) for k in ids], axis=0)
        found.append(w)
    return found


def feddyn(alpha: float, momentum: float = 0.0) -> Models:
    """Algorithm 1 of the paper, with its names; m = N devices, P_t the active ones."""
    w, h, found = START, np.zeros_like(START), []
    gradients = np.zeros((N, len(START)))
    for active in ROUNDS:
        local = {
            k: w + moved(k, w, pull=alpha, offset=-gradients[k], momentum=momentum) for k in active
        }
        for k in active:
            gradients[k] -= alpha * (local[k] - w)
        h = h - alpha / N * sum((local[k] - w for k in active), np.zeros_like(START))
        if active:
            w = np.mean(list(local.values()), axis=0) - h / alpha
        found.append(w)
    return found


def feddc(alpha: float, form: str) -> Models:
    """Drifts h_i and last updates g_i of N clients; `form` as in `FedDC`."""
    w, found = START, []
    h, g = np.zeros((N, len(START))), np.zeros((N, len(START)))
    for active in ROUNDS:
        mean = g.mean(axis=0)
        moves = {k: moved(k, w, pull=alpha, offset=alpha * h[k] + mean - g[k]) for k in active}
        for k, move in moves.items():
            h[k] += move
            g[k] = -move / (STEPS * RATE) + (g[k] - mean if form == "released" else 0)
        if active:
            drifts = h if form == "released" else h[active]
            w = w + np.mean(list(moves.values()), axis=0) + drifts.mean(axis=0)
        found.append(w)
    return found


def fednova(batch_size: int) -> Models:
    """Eq. (4) and (6) of the paper: d_k is the mean step of client k, tau_eff = sum p_k tau_k."""
    work, w, found = LocalTraining(batch_size, epochs=STEPS), START, []
    for t, ids in enumerate(ROUNDS, start=1):
        steps, mean_steps = [], []
        for k in ids:
            local, taken = w, 0
            for segment in work.order(t, k, int(DATA.train.sizes[k])):
                for first in range(0, len(segment), batch_size):
                    local = local - RATE * gradient(k, local, segment[first : first + batch_size])
                    taken += 1
            steps.append(taken)
            mean_steps.append((local - w) / taken)
        if ids:
            w = w + np.mean(steps) * np.mean(mean_steps, axis=0)
        found.append(w)
    return found


@ENGINES
def test_fednova_is_its_own_loop(made: Callable[..., Any]) -> None:
    """With batches of 8, the clients take from 4 to 24 steps a round."""
    found = run(made, FedNova("mean"), batch_size=8)
    np.testing.assert_allclose(found, fednova(8), atol=1e-6)
    fedavg = run(made, WeightedMean(), batch_size=8)
    assert np.abs(np.subtract(found, fedavg)).max() > 1e-2


@ENGINES
def test_fednova_of_equal_steps_is_fedavg(made: Callable[..., Any]) -> None:
    found, fedavg = (run(made, each) for each in (FedNova("mean"), WeightedMean()))
    np.testing.assert_allclose(found, fedavg, atol=1e-6)


@ENGINES
def test_fedprox_is_its_own_loop(made: Callable[..., Any]) -> None:
    found = run(made, FedProx("mean", 0.7))
    expected = fedprox(0.7)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(expected[-1] - fedprox(0.0)[-1]).max() > 1e-3


@pytest.mark.long
@ENGINES
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_feddyn_is_its_own_loop(alpha: float, made: Callable[..., Any]) -> None:
    found = run(made, FedDyn("mean", alpha))
    np.testing.assert_allclose(found, feddyn(alpha), atol=1e-6)


@ENGINES
def test_feddyn_with_momentum_is_its_own_loop(made: Callable[..., Any]) -> None:
    """lambda_k follows D_k, however the client came there."""
    found = run(made, FedDyn("mean", 0.5), momentum=0.9)
    np.testing.assert_allclose(found, feddyn(0.5, momentum=0.9), atol=2e-6)
    FedDyn("mean", 0.5).check(Settings.of({"engine": "fused", "client_optimizer": "adam"}))


@pytest.mark.long
@ENGINES
@pytest.mark.parametrize(("alpha", "form"), [(0.1, "released"), (0.5, "released"), (0.1, "paper")])
def test_feddc_is_its_own_loop(alpha: float, form: str, made: Callable[..., Any]) -> None:
    found = run(made, FedDC("mean", alpha, form))
    np.testing.assert_allclose(found, feddc(alpha, form), atol=1e-6)


@ENGINES
def test_fedprox_without_a_pull_is_fedavg_bit_for_bit(made: Callable[..., Any]) -> None:
    found = run(made, FedProx("mean", 0.0))
    np.testing.assert_array_equal(found, run(made, WeightedMean()))


@ENGINES
def test_fedprox_by_hand(made: Callable[..., Any]) -> None:
    """Two local steps along g + mu (a - a_t), g_0(a) = s(2a) - 1, g_1(a) = s(2a); rate and mu 1/2.

    The first step starts at a_t, so nothing pulls; the second is pulled by mu D of the first.
    Round 1, client 0: to 1/4, then a1 = 1/4 + (1 - s(1/2)) / 2 - 1/16.
    Round 2, both from a1: client 0 to b = a1 + (1 - s(2 a1)) / 2 and client 1 to
    c = a1 - s(2 a1) / 2, then each a second step less (b - a1) / 4 or (c - a1) / 4.
    The model is the mean with weights 1/4 and 3/4.
    """
    rounds = [([0], [1.0]), ([0, 1], [0.25, 0.75])]
    found = biases(made, FedProx("mean", 0.5), rounds, steps=2)
    a1 = 3 / 16 + (1 - s(1 / 2)) / 2
    b, c = a1 + (1 - s(2 * a1)) / 2, a1 - s(2 * a1) / 2
    b = b + (1 - s(2 * b)) / 2 - (b - a1) / 4
    c = c - s(2 * c) / 2 - (c - a1) / 4
    np.testing.assert_allclose(found, [a1, b / 4 + 3 / 4 * c], rtol=5e-6)


@ENGINES
def test_feddyn_by_hand(made: Callable[..., Any]) -> None:
    """alpha = 1/2, rate 1/2, two local steps along g_k(a) - lambda_k + (a - a_t) / 2; p = 1/2 each.

    g_0(a) = s(2a) - 1, g_1(a) = s(2a); lambda = 0 at first, and h = (lambda_0 + lambda_1) / 2.
    Round 1, client 0: as FedProx with mu = 1/2, D = 3/16 + (1 - s(1/2)) / 2. lambda_0 = -D / 2,
    h = -D / 4, and the model is D - h / alpha = 3/2 D.
    Round 2, client 1: along g_1 + (a - a1) / 2, by E; lambda_1 = -E / 2, h = -(D + E) / 4, and the
    model is a1 + E + (D + E) / 2.
    Round 3, no client: the model stays.
    Round 4, client 0: along g_0 + D / 2 + (a - a2) / 2, by F; lambda_0 = -(D + F) / 2.
    """
    rounds = [([0], [1.0]), ([1], [1.0]), ([], []), ([0], [1.0])]
    half = np.array([0.5, 0.5])
    found = biases(made, FedDyn("mean", 0.5), rounds, steps=2, p=half)

    def moved(a: float, label: int, kept: float) -> float:
        """D of two steps from a."""
        first = -(s(2 * a) - 1 + label - kept) / 2
        return first - (s(2 * (a + first)) - 1 + label - kept + first / 2) / 2

    d = 3 / 16 + (1 - s(1 / 2)) / 2
    a1 = 3 / 2 * d
    e = moved(a1, 1, 0)
    a2 = a1 + e + (d + e) / 2
    f = moved(a2, 0, -d / 2)
    a4 = a2 + f + (d + f + e) / 2
    np.testing.assert_allclose(found, [a1, a2, a2, a4], rtol=5e-6)


@pytest.mark.long
@ENGINES
def test_feddc_by_hand(made: Callable[..., Any]) -> None:
    """alpha = 1/2, rate 1/2, two steps along g_k(a) + (h_k + a - a_t) / 2 + m - m_k; p = 1/2 each.

    g_0(a) = s(2a) - 1, g_1(a) = s(2a); two steps at rate 1/2 make m_k = -D_k, and m = -D_0 / 2
    while client 1 has not trained.
    Round 1, client 0: as FedProx with mu = 1/2, D = 3/16 + (1 - s(1/2)) / 2 = h_0 = -m_0. Released,
    the model is D + h_0 / 2 = 3/2 D; of the paper, D + h_0 = 2 D.
    Round 2, client 1: along g_1 - D / 2, by E = h_1; m_1 = -E, released D / 2 - E. The model moves
    by E + (D + E) / 2, or by 2 E.
    Round 3, no client: the model stays.
    Round 4, client 0: along g_0 + D / 2 + m + D, m = -(D + E) / 2, released D / 4 more:
    m_1 has D / 2 more.
    """
    rounds = [([0], [1.0]), ([1], [1.0]), ([], []), ([0], [1.0])]
    half = np.array([0.5, 0.5])

    def moved(a: float, label: int, offset: float) -> float:
        """D of two steps from a."""
        first = -(s(2 * a) - 1 + label + offset) / 2
        return first - (s(2 * (a + first)) - 1 + label + offset + first / 2) / 2

    d = 3 / 16 + (1 - s(1 / 2)) / 2
    for form in ("released", "paper"):
        released = form == "released"
        a1 = 3 / 2 * d if released else 2 * d
        e = moved(a1, 1, -d / 2)
        a2 = a1 + e + (d + e) / 2 if released else a1 + 2 * e
        f = moved(a2, 0, 3 / 2 * d - (d + e) / 2 + (d / 4 if released else 0))
        a4 = a2 + f + ((d + e + f) / 2 if released else d + f)
        found = biases(made, FedDC("mean", 0.5, form), rounds, steps=2, p=half)
        np.testing.assert_allclose(found, [a1, a2, a2, a4], rtol=5e-6)


@ENGINES
def test_fednova_by_hand(made: Callable[..., Any]) -> None:
    """Client 1 has 8 examples of label 1 in batches of 4: tau = (1, 2), and each step is by -s / 2.

    Round 1, both, w = (1/4, 3/4): tau_eff = 7/4. D_0 = 1/4; client 1 goes to -1/4, so
    D_1 = -1/4 - s(-1/2) / 2. a = 7/4 (D_0 / 4 + 3/4 D_1 / 2).
    Round 2, client 0 alone: tau_eff = 1, so it counts as in FedAvg.
    Round 3, weights (1, 1) of a mean: tau_eff = 3/2, a += 3/2 (D_0 + D_1 / 2) / 2.
    """
    rounds = [([0, 1], [0.25, 0.75]), ([0], [1.0]), ([0, 1], [1.0, 1.0])]
    found = biases(made, FedNova("mean"), rounds, labelled([0], [1] * 8))
    a1 = 7 / 4 * (1 / 16 + 3 / 8 * (-1 / 4 - s(-1 / 2) / 2))
    a2 = a1 + (1 - s(2 * a1)) / 2
    b = a2 - s(2 * a2) / 2
    d0, d1 = (1 - s(2 * a2)) / 2, b - s(2 * b) / 2 - a2
    np.testing.assert_allclose(found, [a1, a2, a2 + 3 / 4 * (d0 + d1 / 2)], rtol=5e-6)
