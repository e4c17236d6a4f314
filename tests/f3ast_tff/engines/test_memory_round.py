"""FedLaAvg's rounds of broken clients and of no client, compared with NumPy by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines import Engine, RoundOutcome
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.optimizers import Geometric, Sgd
from tests.f3ast_tff.engines import reference
from tests.f3ast_tff.engines.tiny import NUM_CLASSES, NUM_FEATURES, tiny_data, with_nan_client

LR, DECAY = 0.1, 0.8
WORK = LocalTraining(4, epochs=2, seed=3)
P = np.array([0.1, 0.2, 0.15, 0.25, 0.05, 0.25])
N, SIZE = len(P), NUM_CLASSES * (NUM_FEATURES + 1)
NAN_CLIENT = 2


def cohort(ids: list[int]) -> Cohort:
    return Cohort(np.array(ids, np.int64), P[ids])


def make(
    make_engine: Callable[..., Any], name: str, data: FederatedData, first_round: int = 1
) -> Engine:
    client = Sgd(LR, schedule=Geometric(DECAY))
    parts = (data, WORK, Sgd(1.0), FedLaAvg(first_round))
    return make_engine(name, *parts, client=client, p=P, cohort_size=N)


# `test_memories_alike.py` has FOCUS, whose rounds without clients move the model on both engines.
@pytest.fixture(
    scope="module",
    params=[pytest.param("tff_in_process", marks=pytest.mark.slow), "fused", "fused_lanes"],
)
def decaying(request: pytest.FixtureRequest, make_engine: Callable[..., Any]) -> Any:
    return make(make_engine, request.param, with_nan_client(tiny_data(), NAN_CLIENT))


@pytest.fixture
def engine(decaying: Any) -> Iterator[Any]:
    """The engine, restored to its start after each test."""
    start = {name: value.copy() for name, value in decaying.state().items()}
    yield decaying
    decaying.restore(start)


def run_round(engine: Any, round_number: int, ids: list[int]) -> RoundOutcome:
    (outcome,) = engine.run_rounds(round_number, [cohort(ids)])
    return outcome


def flat(weights: reference.Weights) -> np.ndarray:
    return np.concatenate([weight.ravel() for weight in weights])


def gradients(engine: Any, round_number: int, ids: list[int], rate: float) -> np.ndarray:
    """Returns updates divided by the learning rate, by hand."""
    train, start = tiny_data().train, engine.weights()
    found = []
    for k in ids:
        x, y = train.client(k)
        order = WORK.order(round_number, k, len(y))
        update = reference.local_update(start, x, y, order, WORK.batch_size, rate)
        found.append(flat(update) / rate)
    return np.array(found)


def test_round_of_broken_clients_is_an_empty_one(engine: Any) -> None:
    """Without the broken clients B_t is empty, so g_2 = g_1; the rate is round 2's."""
    before = flat(engine.weights())
    first = P[[0, 5]] @ gradients(engine, 1, [0, 5], LR)
    run_round(engine, 1, [0, 5])
    saved = {name: value.copy() for name, value in engine.state().items()}
    outcome = run_round(engine, 2, [NAN_CLIENT])
    assert not outcome.rejected and outcome.num_dropped == 1
    assert np.isnan(outcome.train_loss) and outcome.update_norm > 0
    moved = flat(engine.weights())
    np.testing.assert_allclose(moved - before, LR * (1 + DECAY) * first, atol=3e-6)
    engine.restore({name: value.copy() for name, value in saved.items()})
    (empty,) = engine.run_rounds(2, [cohort([])], by_client=True)
    assert (empty.num_dropped, empty.rejected) == (0, False)
    assert empty.update_norm == outcome.update_norm
    assert empty.client_losses is not None and empty.delivered is not None
    assert empty.client_losses.shape == empty.delivered.shape == (0,)
    np.testing.assert_array_equal(flat(engine.weights()), moved)
    engine.restore({name: value.copy() for name, value in saved.items()})
    (broken,) = engine.run_rounds(2, [cohort([NAN_CLIENT])], by_client=True)
    assert broken.delivered is not None and broken.delivered.tolist() == [False]
    assert broken.client_losses is not None and np.isnan(broken.client_losses).tolist() == [True]


@pytest.mark.parametrize("name", [pytest.param("tff_in_process", marks=pytest.mark.slow), "fused"])
def test_empty_round_by_hand(name: str, make_engine: Callable[..., Any]) -> None:
    """Two clients of one example each, features 0: a model of two biases (a, -a), from a = 0.

    p = (1/4, 3/4), rates 1/2, 1/4, 1/8, one local step. The loss's derivative in the first bias is
    s(2a) - 1 for label 0 and s(2a) for label 1, with s(x) = 1 / (1 + exp(-x)). The derivative in
    the second bias is its negative.

    Round 1: client 0, label 0, gives 1/2; g_1 = 1/4 * 1/2 = 1/8 (uphill), a = 1/2 * 1/8 = 1/16.
    Round 2: no client. g_2 = g_1, a = 1/16 + 1/4 * 1/8 = 3/32; |step| = sqrt(2) / 32.
    Round 3: client 1, label 1, gives -s(3/16); g_3 = 1/8 - 3/4 s(3/16), a = 3/32 + 1/8 g_3.
    """
    p = np.array([0.25, 0.75])
    pair = ClientExamples(np.zeros((2, 1), np.float32), np.array([0, 1], np.int32), np.arange(3))
    parts = (FederatedData(pair, pair, 2), LocalTraining(1), Sgd(1.0), Mifa())
    client = Sgd(0.5, schedule=Geometric(0.5))
    engine = make_engine(name, *parts, client=client, p=p, cohort_size=1)
    rounds = [Cohort(np.array(ids, int), p[ids]) for ids in ([0], [], [1])]
    last = 3 / 32 + (1 / 8 - 3 / 4 / (1 + np.exp(-3 / 16))) / 8
    for t, (one, bias) in enumerate(zip(rounds, (1 / 16, 3 / 32, last)), start=1):
        (outcome,) = engine.run_rounds(t, [one])
        kernel, biases = engine.weights()
        np.testing.assert_allclose(biases, [bias, -bias], rtol=1e-6)
        assert not kernel.any() and not outcome.rejected and outcome.num_dropped == 0
        if t == 2:
            assert np.isnan(outcome.train_loss)
            assert outcome.update_norm == pytest.approx(np.sqrt(2) / 32, rel=1e-6)
