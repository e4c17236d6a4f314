"""Our composition with FedAvg's parts equals TFF's own FedAvg."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.tiny import engine_parts, tiny_data
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Adam, Optimizer, Sgd

pytestmark = pytest.mark.tff


@pytest.mark.long
@pytest.mark.parametrize(
    "server", [pytest.param(Sgd(0.7), marks=pytest.mark.slow), Adam(0.05, epsilon=0.01)]
)
def test_equals_build_weighted_fed_avg(server: Optimizer, tmp_path: Path) -> None:
    """Same cohorts, same batches, weights n_k: equal to 1e-6 after each of 5 rounds."""
    import tensorflow as tf
    import tensorflow_federated as tff

    from f3ast_tff.engines.tff.composition import batch_spec
    from f3ast_tff.engines.tff.engine import TffEngine
    from f3ast_tff.engines.tff.learning_process import build_optimizer

    data, work = tiny_data(), LocalTraining(4, seed=5)
    client = Sgd(0.1)
    parts = engine_parts(data, work, server, WeightedMean(), client, folder=tmp_path)
    engine = TffEngine(parts, runtime="worker")

    def model_fn() -> tff.learning.models.VariableModel:
        return tff.learning.models.from_keras_model(
            parts.model.keras_model(),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            input_spec=batch_spec(data.train),
        )

    def batches(round_number: int, k: int) -> tf.data.Dataset:
        x, y = data.train.client(k)
        order = work.order(round_number, k, len(y))[0]
        return tf.data.Dataset.from_tensor_slices(OrderedDict(x=x[order], y=y[order])).batch(4)

    stock = tff.learning.algorithms.build_weighted_fed_avg(
        model_fn, build_optimizer(client), build_optimizer(server)
    )
    rng = np.random.default_rng(0)
    try:
        with tff.framework.get_context_stack().install(engine._runtime._context):
            state = stock.initialize()
            for round_number in range(1, 6):
                ids = rng.choice(6, 3, replace=False)
                weights = data.train.sizes[ids].astype(np.float64)
                engine.run_rounds(round_number, [Cohort(ids, weights)])
                state = stock.next(state, [batches(round_number, int(k)) for k in ids]).state
                expected = state.global_model_weights.trainable
                for ours, theirs in zip(engine.weights(), expected):
                    np.testing.assert_allclose(ours, theirs, atol=1e-6)
            assert np.abs(engine.weights()[0]).max() > 1e-3
    finally:
        engine.close()
