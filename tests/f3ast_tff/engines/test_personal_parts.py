"""Private leaves on the engines: by hand, against isolated clients, and engine against engine.

Every client's step is one of softmax regression on all its examples; coordinates are those of W
`[5, 3]`, then b `[3]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import NUM_CLASSES, NUM_FEATURES, tiny_data, with_nan_client
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines import Engine
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Ranges
from f3ast_tff.methods.parts.personal import Personal
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Sgd
from tests.f3ast_tff.engines.two_biases import ENGINES, ONE_ENGINE
from tests.f3ast_tff.methods.every_memory import EVERY

DATA = tiny_data()
N = DATA.train.num_clients
P = np.full(N, 1 / N)
RATE = 0.3
KERNEL, ALL = NUM_FEATURES * NUM_CLASSES, (NUM_FEATURES + 1) * NUM_CLASSES
BIAS: Ranges = ((KERNEL, ALL),)
EVERYTHING: Ranges = ((0, ALL),)
# A client twice in a cohort, one that comes back, an empty round, and clients 4, 5 never.
ROUNDS: list[tuple[list[int], list[float]]] = [
    ([0, 1], [0.5, 0.25]),
    ([1, 2, 1], [0.25, 1.0, 0.5]),
    ([], []),
    ([0, 3], [1.0, 1.0]),
]


def step(data: FederatedData, k: int, w: np.ndarray, rate: float = RATE) -> np.ndarray:
    """Movement of client k in one step on all its examples, `[ALL]`."""
    features, labels = data.train.client(k)
    x = np.column_stack([features, np.ones(len(labels))])
    logits = x @ w.reshape(-1, NUM_CLASSES)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(labels)), labels] -= 1
    moved: np.ndarray = -rate * (x.T @ chances / len(labels)).ravel()
    return moved


def by_hand(
    rounds: Sequence[tuple[list[int], list[float]]] = ROUNDS, data: FederatedData = DATA
) -> tuple[np.ndarray, np.ndarray]:
    """The shared W and the clients' own b, `[KERNEL]` and `[N, 3]`, of a sum with private b."""
    shared, own = np.zeros(KERNEL), np.zeros((N, NUM_CLASSES))
    for ids, weights in rounds:
        moved = {k: step(data, k, np.concatenate([shared, own[k]])) for k in ids}
        for k in moved:
            own[k] += moved[k][KERNEL:]
        shared = shared + sum(
            (weight * moved[k][:KERNEL] for k, weight in zip(ids, weights)), np.zeros(KERNEL)
        )
    return shared, own


def engine_with(
    made: Callable[..., Any], aggregation: Aggregation, data: FederatedData = DATA, epochs: int = 1
) -> Engine:
    work = LocalTraining(int(data.train.sizes.max()), epochs=epochs)
    parts = (data, work, Sgd(1.0), aggregation)
    engine: Engine = made(*parts, client=Sgd(RATE), p=P, cohort_size=N)
    return engine


def run(engine: Engine, rounds: Sequence[tuple[list[int], list[float]]] = ROUNDS) -> Engine:
    for t, (ids, weights) in enumerate(rounds, start=1):
        engine.run_rounds(t, [Cohort(np.array(ids, int), np.array(weights, float))])
    return engine


def own_of(engine: Engine) -> np.ndarray:
    return engine.state()["client_private_leaves"]


def flat(engine: Engine) -> np.ndarray:
    return np.concatenate([np.ravel(weight) for weight in engine.weights()])


def mean_losses(models: np.ndarray, data: FederatedData = DATA) -> np.ndarray:
    """Mean loss of each client's test examples under its own model; NaN without any."""
    found = []
    for k, model in enumerate(models):
        features, labels = data.test.client(k)
        logits = np.column_stack([features, np.ones(len(labels))]) @ model.reshape(-1, NUM_CLASSES)
        sums = np.log(np.exp(logits).sum(axis=1))
        each = sums - logits[np.arange(len(labels)), labels]
        found.append(each.mean() if len(each) else np.nan)
    return np.array(found)


@ENGINES
def test_a_private_bias_is_that_by_hand(made: Callable[..., Any]) -> None:
    """Client 1, twice in round 2, trains once there: both updates count, b_1 moves once."""
    engine = run(engine_with(made, Personal(WeightedSum(), BIAS)))
    shared, own = by_hand()
    np.testing.assert_allclose(flat(engine)[:KERNEL], shared, atol=1e-6)
    np.testing.assert_array_equal(flat(engine)[KERNEL:], 0)
    np.testing.assert_allclose(own_of(engine), own, atol=1e-6)
    # Clients that never trained keep the initial leaves.
    assert own[:4].any(axis=1).all() and not own_of(engine)[4:].any()
    scores = engine.evaluate()
    loss = np.divide(scores.loss, scores.count, out=np.full(N, np.nan), where=scores.count > 0)
    models = np.column_stack([np.tile(shared, (N, 1)), own])
    np.testing.assert_allclose(loss, mean_losses(models), rtol=1e-5)


@ENGINES
def test_a_client_reports_the_loss_of_its_own_model(made: Callable[..., Any]) -> None:
    engine = run(engine_with(made, Personal(WeightedSum(), BIAS)))
    shared, own = by_hand()
    models = np.column_stack([np.tile(shared, (N, 1)), own])
    on_train = FederatedData(DATA.train, DATA.train, NUM_CLASSES)
    found = engine.client_losses(np.array([3, 1, 5]))
    np.testing.assert_allclose(found, mean_losses(models, on_train)[[3, 1, 5]], rtol=1e-5)


@ENGINES
def test_all_leaves_private_is_each_client_alone(made: Callable[..., Any]) -> None:
    """The server's model stays; client 0 has trained in rounds 1 and 4, by itself."""
    engine = run(engine_with(made, Personal(WeightedMean(), EVERYTHING)))
    alone = np.zeros((N, ALL))
    for ids, _ in ROUNDS:
        for k in set(ids):
            alone[k] += step(DATA, k, alone[k])
    np.testing.assert_allclose(own_of(engine), alone, atol=1e-6)
    assert not flat(engine).any()


@ONE_ENGINE
def test_an_update_that_does_not_count_leaves_the_client_as_it_was(
    made: Callable[..., Any],
) -> None:
    """Client 3's update is not finite. A lost update is not in the cohort: nothing trains it."""
    data = with_nan_client(DATA, 3)
    rounds = [([0, 1], [0.5, 0.5]), ([2, 3], [1.0, 1.0])]
    engine = run(engine_with(made, Personal(WeightedSum(), BIAS), data), rounds)
    shared, own = by_hand([rounds[0], ([2], [1.0])], data)
    np.testing.assert_allclose(own_of(engine), own, atol=1e-6)
    np.testing.assert_allclose(flat(engine)[:KERNEL], shared, atol=1e-6)
    assert not own_of(engine)[3:].any()


WRAPPED = {
    "sum": WeightedSum(),
    "mean": WeightedMean(),
    **{name: EVERY[name] for name in ("mifa", "fedawe", "scaffold", "feddyn", "fednova")},
}


@pytest.mark.long
@pytest.mark.parametrize("inner", WRAPPED)
def test_host_agrees_with_fused(inner: str, make_engine: Callable[..., Any]) -> None:
    """Around aggregations of all forms, over rounds with several steps."""
    found = []
    for name in ("host", "fused", *(["fused_lanes"] if inner == "scaffold" else [])):
        aggregation = Personal(WRAPPED[inner], BIAS)
        made = partial(make_engine, name)
        engine = run(engine_with(made, aggregation, epochs=3), 2 * ROUNDS)
        scores = engine.evaluate()
        found.append(np.concatenate([flat(engine)[:KERNEL], own_of(engine).ravel(), scores.loss]))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-5, atol=1e-5)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("inner", ["scaffold", "feddyn", "mifa"])
@ONE_ENGINE
def test_a_memory_inside_remembers_shared_coordinates_alone(
    inner: str, made: Callable[..., Any]
) -> None:
    engine = run(engine_with(made, Personal(EVERY[inner], BIAS), epochs=2))
    tables = {n: each for n, each in engine.state().items() if n.startswith("client_")}
    del tables["client_private_leaves"]
    vectors = [each for each in tables.values() if each.ndim == 2]
    assert vectors and all(each[:, :KERNEL].any() for each in vectors)
    assert not any(each[:, KERNEL:].any() for each in vectors)


@ENGINES
def test_a_restored_engine_goes_on_bit_for_bit(made: Callable[..., Any]) -> None:
    aggregation = Personal(WeightedMean(), BIAS)
    whole = run(engine_with(made, aggregation), 2 * ROUNDS)
    half = run(engine_with(made, aggregation))
    saved = {key: value.copy() for key, value in half.state().items()}
    resumed = engine_with(made, aggregation)
    resumed.restore(saved)
    for t, (ids, weights) in enumerate(ROUNDS, start=len(ROUNDS) + 1):
        resumed.run_rounds(t, [Cohort(np.array(ids, int), np.array(weights, float))])
    for key, value in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[key], value, err_msg=key)
    np.testing.assert_array_equal(resumed.evaluate().loss, whole.evaluate().loss)


@ONE_ENGINE
def test_a_test_client_is_scored_by_its_owner(made: Callable[..., Any]) -> None:
    """Two test clients, of training clients 3 and 0."""
    ids = np.array([3, 0])
    data = FederatedData(DATA.train, DATA.test.take(ids), NUM_CLASSES)
    work = LocalTraining(int(data.train.sizes.max()))
    parts = (data, work, Sgd(1.0), Personal(WeightedSum(), BIAS))
    more: dict[str, Any] = {"client": Sgd(RATE), "p": P, "cohort_size": N, "test_owners": ids}
    scores = run(made(*parts, **more)).evaluate()
    shared, own = by_hand()
    models = np.column_stack([np.tile(shared, (N, 1)), own])
    np.testing.assert_allclose(scores.loss / scores.count, mean_losses(models)[ids], rtol=1e-5)
