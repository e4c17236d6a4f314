"""Learning processes over the tiny data, ours and TFF's own, with their input."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.tiny import NUM_CLASSES, NUM_FEATURES
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizers import Adam, Optimizer, Sgd

# A worker without a test that needs TensorFlow does not import it.
if TYPE_CHECKING:
    import tensorflow as tf
    import tensorflow_federated as tff

CLIENT = Sgd(0.1)
SGD, ADAM = Sgd(0.7), Adam(0.05, epsilon=0.01)
WORK = LocalTraining(4, epochs=2, seed=5)


def ours(data: FederatedData, aggregation: Aggregation, server: Optimizer = SGD) -> Any:
    """Our process; its input is `element_feed`."""
    import tensorflow_federated as tff

    from f3ast_tff.engines.tff.client_work import ClientBatches
    from f3ast_tff.engines.tff.composition import MeanCrossEntropy, batch_spec, stored_spec
    from f3ast_tff.engines.tff.learning_process import RulesInTff, build_process

    def model_fn() -> tff.learning.models.VariableModel:
        model = SoftmaxRegression(NUM_FEATURES, NUM_CLASSES)
        return tff.learning.models.from_keras_model(
            model.keras_model(), MeanCrossEntropy(), input_spec=batch_spec(data.train), metrics=[]
        )

    batches = ClientBatches(stored_spec(data.train), WORK)
    rules = RulesInTff.of(aggregation, (NUM_FEATURES + 1) * NUM_CLASSES)
    return build_process(model_fn, batches, CLIENT, server, rules)


def element_feed(data: FederatedData, round_number: int, ids: np.ndarray) -> list[tf.data.Dataset]:
    """Input as from `TffEngine`, with a different weight for each client."""
    import tensorflow as tf

    from f3ast_tff.engines.tff.client_work import client_dataset

    def client(k: int) -> tf.data.Dataset:
        x, y = data.train.client(k)
        order = WORK.order(round_number, k, len(y))
        examples = OrderedDict(x=tf.constant(x), y=tf.constant(y))
        draws = np.zeros((*order.shape, 0), np.int32)
        return client_dataset(
            examples,
            orders=tf.constant(order),
            draws=tf.constant(draws),
            weight=0.2 + 0.1 * k,
            start=OrderedDict(),
        )

    return [client(int(k)) for k in ids]


def batch_feed(data: FederatedData, round_number: int, ids: np.ndarray) -> list[tf.data.Dataset]:
    """Ordinary datasets, shuffled and mapped, for TFF's own algorithms."""
    import tensorflow as tf

    def client(k: int) -> tf.data.Dataset:
        x, y = data.train.client(k)
        examples = tf.data.Dataset.from_tensor_slices(OrderedDict(x=x, y=y))
        return examples.shuffle(100, seed=round_number).map(_doubled).batch(4)

    return [client(int(k)) for k in ids]


def _doubled(example: Any) -> Any:
    return OrderedDict(x=example["x"] * 2, y=example["y"])


def stock(name: str, data: FederatedData) -> Any:
    """One of TFF's own algorithms; its input is `batch_feed`."""
    import tensorflow as tf
    import tensorflow_federated as tff

    from f3ast_tff.engines.tff.composition import batch_spec
    from f3ast_tff.engines.tff.learning_process import ImportanceWeightedSumFactory, build_optimizer

    def model_fn() -> tff.learning.models.VariableModel:
        return tff.learning.models.from_keras_model(
            SoftmaxRegression(NUM_FEATURES, NUM_CLASSES).keras_model(),
            tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            input_spec=batch_spec(data.train),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
        )

    algorithms, learning = tff.learning.algorithms, tff.learning
    client, server = build_optimizer(CLIENT), build_optimizer(ADAM)
    loop = learning.LoopImplementation.DATASET_ITERATOR
    if name == "fed_prox":
        return algorithms.build_weighted_fed_prox(
            model_fn, 0.5, client, server, loop_implementation=loop
        )
    aggregators = {
        "robust": learning.robust_aggregator(zeroing=True, clipping=True),
        "clipped_sum": ImportanceWeightedSumFactory(
            tff.aggregators.clipping_factory(0.05, tff.aggregators.SumFactory())
        ),
    }
    return algorithms.build_weighted_fed_avg(
        model_fn,
        client,
        server,
        model_aggregator=aggregators.get(name),
        loop_implementation=learning.LoopImplementation.DATASET_REDUCE
        if name == "reduce"
        else loop,
    )
