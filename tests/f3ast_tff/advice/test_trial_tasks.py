"""The tasks of a trial: data for the clients of a log, and a small network in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.advice import trial_tasks
from f3ast_tff.advice.trial_tasks import mnist1d_data, network, sizes_of, synthetic_data
from f3ast_tff.models.training_function import Examples, Work
from f3ast_tff.optimizers import Sgd


@pytest.fixture(autouse=True)
def pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for the package: feature 0 of an example is its label."""
    made = []
    for count in (400, 100):
        labels = np.arange(count, dtype=np.int32) % 10
        features = np.random.default_rng(count).normal(size=(count, 40)).astype(np.float32)
        features[:, 0] = labels
        made.append((features, labels))
    monkeypatch.setattr(trial_tasks, "_pools", lambda: made)


def test_sizes_follow_the_shares_within_limits() -> None:
    assert sizes_of(np.ones(3)).tolist() == [150, 150, 150]
    assert sizes_of(np.array([1, 2, 3.0])).tolist() == [75, 150, 225]
    assert sizes_of(np.array([1, 1000.0, *[1] * 98])).tolist()[:2] == [20, 1000]


def test_clients_have_the_sizes_and_their_own_mix_of_labels() -> None:
    sizes = np.array([40, 100, 7])
    for build in (synthetic_data, mnist1d_data):
        data = build(sizes, draw=1)
        assert (data.train.sizes + data.test.sizes).tolist() == sizes.tolist()
        assert data.sha256() == build(sizes, draw=1).sha256() != build(sizes, draw=2).sha256()
    made = mnist1d_data(sizes, 1)
    assert made.test.sizes.tolist() == [8, 20, 1]
    np.testing.assert_array_equal(made.train.features[:, 0], made.train.labels)
    assert len(np.unique(made.train.client(0)[1])) < 10


def test_the_network_steps_along_its_gradient() -> None:
    """By differences; offset and pull are added to it, and the arguments stay."""
    model, rng = network(), np.random.default_rng(0)
    weights = [array.astype(np.float64) for array in model.initial_weights(0)]
    features, labels = rng.normal(size=(4, 40)), np.array([0, 3, 3, 9])

    def loss(given: list[np.ndarray]) -> float:
        logits = model.predict(given, features)
        return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(4), labels]))

    work = Work(0, 1, 4, 1, None, 1.0, Sgd(1.0), np.arange(4)[None], 0)
    found = model.train(weights, Examples(features, labels), work)
    assert found.loss == pytest.approx(loss(weights))
    for part, place in ((0, (0, 1)), (1, (5,)), (2, (7, 3)), (3, (9,))):
        moved = [array.copy() for array in weights]
        moved[part][place] += 1e-5
        slope = (loss(moved) - loss(weights)) / 1e-5
        step = weights[part][place] - found.weights[part][place]
        assert step == pytest.approx(slope, abs=1e-4)
    offset = [np.full_like(array, 0.25) for array in weights]
    other = model.train(weights, Examples(features, labels), work, offset=offset)
    for before, after in zip(found.weights, other.weights):
        np.testing.assert_allclose(before - after, 0.25, atol=1e-6)
    twice = Work(0, 1, 4, 2, None, 0.1, Sgd(0.1), np.stack([np.arange(4)] * 2), 0)
    free, pulled = (
        model.train(weights, Examples(features, labels), twice, pull=pull) for pull in (0.0, 5.0)
    )
    far, near = (np.abs(each.weights[3] - weights[3]).sum() for each in (free, pulled))
    assert near < far


def test_the_network_learns_under_a_method_with_a_memory() -> None:
    data = mnist1d_data(np.full(12, 60), 0)
    given = {"task": data, "model": network(), "engine": "host", "clients_per_round": 4}
    found = simulate(algorithm="scaffold", rounds=40, client_lr=0.1, local_steps=3, **given)
    assert found.metrics["test_user_accuracy"].iloc[-1] > 0.3


def test_the_examples_are_those_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generators that the package seeds go on as before."""
    monkeypatch.undo()
    monkeypatch.setattr(trial_tasks, "_POOL", 40)
    trial_tasks._pools.cache_clear()
    np.random.seed(3)
    expected = np.random.RandomState(3).random(2)
    first = np.random.random()
    (features, labels), (_, tested) = trial_tasks._pools()
    assert [first, np.random.random()] == expected.tolist()
    assert features.shape == (32, 40) and len(tested) == 8
    assert sorted(np.concatenate([labels, tested]).tolist()) == sorted([*range(10)] * 4)
    trial_tasks._pools.cache_clear()
