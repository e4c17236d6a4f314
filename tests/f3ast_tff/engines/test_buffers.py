"""Buffers on the engines: a mean of those that arrived, by hand, whatever the rules and the step.

On the host engine a training function changes them. The other engines train by gradients, which
change no buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.tiny import NUM_CLASSES, NUM_FEATURES, engine_parts, tiny_data
from f3ast_tff import Trained, TrainingFunction
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.engines.host.engine import HostEngine
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.models.leaves import BUFFER, PARAMETER, LeafKinds
from f3ast_tff.optimizers import Optimizer, Sgd
from f3ast_tff.optimizers.adaptive import Adam
from tests.f3ast_tff.engines.two_biases import FUSED
from tests.f3ast_tff.methods.every_memory import EVERY

DATA = tiny_data()
N = DATA.train.num_clients
P, WORK = np.full(N, 1 / N), LocalTraining(8, seed=1)
# A client twice in a cohort, an empty round, and weights that sum to far more than 1.
ROUNDS: list[tuple[list[int], list[float]]] = [
    ([0, 1], [0.5, 1.5]),
    ([1, 2, 1], [2.0, 4.0, 2.0]),
    ([], []),
    ([0, 3, 5], [9.0, 1.0, 2.0]),
]
VARIANCE = np.linspace(0.2, 1.0, N)


class Median(Aggregation):
    """The median of each coordinate."""

    def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.median(updates, axis=0)


class Mixing(WeightedSum):
    """A late update enters as the client's model."""

    mixes_models: ClassVar[bool] = True


RULES: dict[str, tuple[Aggregation, Optimizer]] = {
    "sum": (WeightedSum(), Sgd(1.0)),
    "a large step": (WeightedSum(), Sgd(30.0)),
    "momentum": (WeightedMean(), Sgd(1.0, momentum=0.9)),
    "adam": (WeightedMean(), Adam(0.1)),
    "median": (Median(), Sgd(1.0)),
    **{name: (rule, Sgd(1.0)) for name, rule in EVERY.items() if name != "focus"},
}


def train(weights: Any, examples: Any, work: Any, offset: Any = None, pull: Any = None) -> Trained:
    """Moves a parameter, and the variance nine tenths of the way to the client's."""
    w, variance = weights
    return Trained([w + 0.01, 0.1 * variance + 0.9 * VARIANCE[work.client]], 1.0)


def moving(**more: Any) -> TrainingFunction:
    def predict(weights: Any, x: np.ndarray) -> np.ndarray:
        return np.zeros((len(x), NUM_CLASSES))

    initial = [np.zeros((2, 2), np.float32), np.ones(3, np.float32)]
    return TrainingFunction(lambda seed: initial, train, predict, **more)


def variances(name: str, model: TrainingFunction, **more: Any) -> list[np.ndarray]:
    aggregation, server = RULES[name]
    given = {"model": model, "p": P, "cohort_size": N, **more}
    engine = HostEngine(engine_parts(DATA, WORK, server, aggregation, **given))
    found = []
    for t, (ids, weights) in enumerate(ROUNDS, start=1):
        engine.run_rounds(t, [Cohort(np.array(ids, int), np.array(weights, float))])
        found.append(engine.weights()[1])
        np.testing.assert_array_equal(engine.scored_weights()[1], found[-1])
    return found


@pytest.mark.parametrize("name", RULES)
def test_the_mean_by_hand(name: str) -> None:
    """v = (1 / sum w) sum w_k (v / 10 + 9 V_k / 10), from v = 1; the empty round leaves it."""
    by_name = moving(leaves=("w", "norm.running_var"))
    declared = moving(buffer_leaves=[1])
    now, expected = 1.0, []
    for ids, weights in ROUNDS:
        if ids:
            total = sum(w * (0.1 * now + 0.9 * VARIANCE[k]) for k, w in zip(ids, weights))
            now = total / sum(weights)
        expected.append(now)
    if name == "mifa_waits":
        # The model stays until every client has taken part.
        expected = [1.0] * len(ROUNDS)
    for model in (by_name, declared):
        np.testing.assert_allclose(
            variances(name, model), np.outer(expected, np.ones(3)), rtol=1e-6
        )


def test_a_leaf_that_is_no_buffer_follows_the_step() -> None:
    """The sum's weights are 2 in round 1: 1 + .5 (.1 + .9 V_0 - 1) + 1.5 (.1 + .9 V_1 - 1)."""
    moved = variances("sum", moving(leaves=("w", "running_var"), buffer_leaves=()))[0]
    weights = np.array([0.5, 1.5])
    np.testing.assert_allclose(moved, 1 + weights @ (0.9 * VARIANCE[:2] - 0.9), rtol=1e-6)


@pytest.mark.parametrize("mixes", [False, True], ids=["updates", "models"])
def test_a_late_buffer_enters_as_it_was_sent(mixes: bool) -> None:
    """Client 0 trains in round 1 from v = 1, client 1 in round 2; both enter in round 2.

    A server that starts again between the rounds has the buffer that is under way.
    """
    aggregation = Mixing() if mixes else WeightedSum()
    given = {"model": moving(buffer_leaves=[1]), "p": P, "cohort_size": N, "late": True}
    parts = engine_parts(DATA, WORK, Sgd(3.0), aggregation, **given)
    first, second = HostEngine(parts), HostEngine(parts)
    ids, nobody = np.array([0, 1]), np.zeros(0, np.int64)
    starts = LateCohort(
        nobody, np.zeros(0), asked=ids[:1], slots=np.array([0]), entering=nobody, asked_in=nobody
    )
    first.run_rounds(1, [starts])
    second.restore({name: np.array(value) for name, value in first.state().items()})
    enters = LateCohort(
        ids,
        np.array([4.0, 12.0]),
        0.5,
        asked=ids[1:],
        slots=np.array([1]),
        entering=ids,
        asked_in=ids + 1,
    )
    second.run_rounds(2, [enters])
    expected = 0.1 + 0.9 * (4 * VARIANCE[0] + 12 * VARIANCE[1]) / 16
    np.testing.assert_allclose(second.weights()[1], np.full(3, expected), rtol=1e-6)


KINDS = LeafKinds((PARAMETER, BUFFER), (NUM_FEATURES * NUM_CLASSES, NUM_CLASSES))
START = [np.zeros((NUM_FEATURES, NUM_CLASSES), np.float32), np.float32([0.5, 0.1, -0.3])]


def played(
    make_engine: Callable[..., Any], engine: str, name: str, client: Optimizer
) -> np.ndarray:
    """The parameters after each round; the bias is a buffer."""
    aggregation, server = RULES[name]
    server = replace(server, learning_rate=0.5) if name != "fedawe" else server
    given = {"client": client, "p": P, "cohort_size": N, "kinds": KINDS, "start": START}
    made = make_engine(engine, DATA, WORK, server, aggregation, **given)
    found = []
    for t, (ids, weights) in enumerate(ROUNDS, start=1):
        made.run_rounds(t, [Cohort(np.array(ids, int), np.array(weights, float) / 10)])
        kernel, bias = made.weights()
        np.testing.assert_array_equal(bias, START[1])
        np.testing.assert_array_equal(made.scored_weights()[1], START[1])
        found.append(kernel)
    return np.array(found)


QUICK = ("momentum", "scaffold", "fedawe")


@pytest.mark.tff
@pytest.mark.parametrize("engine", [pytest.param("tff_in_process", marks=pytest.mark.slow), FUSED])
@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RULES],
)
def test_the_engines_agree(make_engine: Callable[..., Any], engine: str, name: str) -> None:
    """No gradient, pull, offset, clip or step moves the buffer, and the parameters are alike."""
    client = Adam(0.05) if name == "adam" else Sgd(0.1, momentum=0.5, clip_norm=0.4)
    if name in ("mifa", "mifa_waits", "fedvarp", "fedstale", "mimic", "scaffold", "feddyn"):
        client = Sgd(0.1)
    ours, host = (played(make_engine, each, name, client) for each in (engine, "host"))
    np.testing.assert_allclose(ours, host, atol=1e-5)
    assert np.abs(host[-1]).max() > 1e-3 or name == "mifa_waits"
