"""Methods that change local training, compared with loops of their own in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import NUM_CLASSES, NUM_FEATURES, tiny_data
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.feddyn import FedDyn
from f3ast_tff.methods.fedprox import FedProx
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Sgd

DATA = tiny_data()
N = DATA.train.num_clients
P = np.full(N, 1 / N)
RATE, STEPS = 0.1, 4
# W and b of softmax regression as one vector, zeros at first.
START = np.zeros((NUM_FEATURES + 1) * NUM_CLASSES)
# Partial participation, an empty round, and a client drawn in consecutive rounds.
ROUNDS = [[0, 1], [2, 3], [0], [], [1, 2, 3], [0, 3], [0, 1, 2, 3], [2]]
ENGINES = pytest.mark.parametrize(
    "name",
    [pytest.param("tff_in_process", marks=[pytest.mark.slow, pytest.mark.tff]), "fused", "host"],
)
Models = list[np.ndarray]


def gradient(k: int, model: np.ndarray) -> np.ndarray:
    """Gradient of client k's mean cross-entropy, with all its examples in a batch."""
    features, labels = DATA.train.client(k)
    x = np.column_stack([features.reshape(len(labels), -1), np.ones(len(labels))])
    logits = x @ model.reshape(x.shape[1], -1)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(labels)), labels] -= 1
    found: np.ndarray = (x.T @ chances / len(labels)).ravel()
    return found


def moved(k: int, model: np.ndarray, pull: float = 0.0, offset: Any = 0.0) -> np.ndarray:
    """Update of client k after `STEPS` steps along g + offset + pull (w - model)."""
    w = model
    for _ in range(STEPS):
        w = w - RATE * (gradient(k, w) + offset + pull * (w - model))
    return w - model


def run(make_engine: Callable[..., Any], name: str, aggregation: Aggregation) -> Models:
    """Returns the model after each of `ROUNDS` on an engine."""
    work = LocalTraining(int(DATA.train.sizes.max()), epochs=STEPS)
    parts = (DATA, work, Sgd(1.0), aggregation)
    engine = make_engine(name, *parts, client=Sgd(RATE), p=P, cohort_size=N)
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


def feddyn(alpha: float) -> Models:
    """Algorithm 1 of the paper, with its names; m = N devices, P_t the active ones."""
    w, h, found = START, np.zeros_like(START), []
    gradients = np.zeros((N, len(START)))
    for active in ROUNDS:
        local = {k: w + moved(k, w, pull=alpha, offset=-gradients[k]) for k in active}
        for k in active:
            gradients[k] -= alpha * (local[k] - w)
        h = h - alpha / N * sum((local[k] - w for k in active), np.zeros_like(START))
        if active:
            w = np.mean(list(local.values()), axis=0) - h / alpha
        found.append(w)
    return found


@ENGINES
def test_fedprox_is_its_own_loop(name: str, make_engine: Callable[..., Any]) -> None:
    found = run(make_engine, name, FedProx("mean", 0.7))
    expected = fedprox(0.7)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(expected[-1] - fedprox(0.0)[-1]).max() > 1e-3


@ENGINES
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_feddyn_is_its_own_loop(name: str, alpha: float, make_engine: Callable[..., Any]) -> None:
    found = run(make_engine, name, FedDyn("mean", alpha))
    np.testing.assert_allclose(found, feddyn(alpha), atol=1e-6)


@ENGINES
def test_fedprox_without_a_pull_is_fedavg_bit_for_bit(
    name: str, make_engine: Callable[..., Any]
) -> None:
    found = run(make_engine, name, FedProx("mean", 0.0))
    np.testing.assert_array_equal(found, run(make_engine, name, WeightedMean()))
