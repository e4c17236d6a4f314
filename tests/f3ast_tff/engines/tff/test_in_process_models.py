"""Two rounds of every network on the runtimes: worker, in this process, split and merged."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.tff.composition import batch_spec, stored_spec
from f3ast_tff.engines.tff.processes.client_data import ClientBatches, client_dataset
from f3ast_tff.engines.tff.processes.learning_process import build_parts
from f3ast_tff.engines.tff.runtime import InProcessRuntime
from f3ast_tff.engines.tff.scorer import MeanCrossEntropy
from f3ast_tff.engines.tff.worker import WorkerRuntime
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Adam, Sgd
from tests.f3ast_tff.engines.test_models_agree import CASES, small_data

pytestmark = pytest.mark.tff

SGD, ADAM = Sgd(1.0), Adam(0.03, epsilon=1e-3)
# Aggregation and server optimizer.
SUM, MEAN = WeightedSum(), WeightedMean()
COMPOSITIONS = {"FedAvg": (MEAN, SGD), "F3AST": (SUM, SGD), "F3AST+Adam": (SUM, ADAM)}


class SplitRuntime(InProcessRuntime):
    """As over Ray: each client accumulated by itself, on the host in between."""

    def next(self, state: Any, client_data: Sequence[tf.data.Dataset]) -> Any:
        prepared = self.prepare(state)
        parts = [self.accumulate(prepared, [dataset]) for dataset in client_data]
        return self.finish(state, functools.reduce(self.merge, parts))


@pytest.mark.slow
@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("name", CASES)
def test_two_rounds_are_the_workers(name: str, composition: str, tmp_path: Path) -> None:
    """To 1e-4 of how far the weights moved."""
    aggregation, server = COMPOSITIONS[composition]
    model, inputs, shape, rate = CASES[name]
    data, work = small_data(model, shape), LocalTraining(2, seed=2)

    def model_fn() -> tff.learning.models.VariableModel:
        spec = batch_spec(data.train, inputs)
        return tff.learning.models.from_keras_model(
            model.keras_model(), MeanCrossEntropy(), input_spec=spec, metrics=[]
        )

    process = build_parts(
        model_fn,
        ClientBatches(stored_spec(data.train), work, inputs),
        Sgd(rate),
        server,
        aggregation,
    ).compose()

    def client(t: int, k: int) -> tf.data.Dataset:
        x, y = data.train.client(k)
        order = work.order(t, k, len(y))
        draws = inputs.draws(t, k, order.shape)
        examples = OrderedDict(x=tf.constant(x), y=tf.constant(y))
        return client_dataset(
            examples, tf.constant(order), tf.constant(draws), 0.3 + k, OrderedDict()
        )

    runtimes = [
        WorkerRuntime(process, tmp_path / "log", 1),
        InProcessRuntime(process, "cpu"),
        SplitRuntime(process, "cpu"),
    ]
    start = model.initial_weights(0)
    ends = []
    for runtime in runtimes:
        initial = tff.learning.models.ModelWeights(start, [])
        # `process.set_model_weights` would start a worker of TFF's own.
        state = runtime.initialize()._replace(global_model_weights=initial)
        for t in (1, 2):
            state = runtime.next(state, [client(t, 1), client(t, 0)]).state
        ends.append(state.global_model_weights.trainable)
        runtime.close()
    reference, *others = ends
    moved = [np.linalg.norm(end - begin) for end, begin in zip(reference, start)]
    assert max(moved) > 1e-3
    for end in others:
        for here, there, distance in zip(end, reference, moved):
            assert np.linalg.norm(here - there) <= 1e-4 * max(distance, 1e-2)
