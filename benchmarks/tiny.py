"""Data small enough for calculations by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.sum_and_mean import WeightedSum
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizers import Optimizer, Sgd

NUM_FEATURES, NUM_CLASSES = 5, 3
TRAIN_SIZES = (7, 12, 20, 33, 41, 8)
TEST_SIZES = (3, 0, 5, 4, 9, 2)
CLIENT, SERVER = Sgd(0.1), Sgd(1.0)


def tiny_data(seed: int = 0) -> FederatedData:
    """Six clients; client 1 has no test examples."""
    rng = np.random.default_rng(seed)

    def split(sizes: tuple[int, ...]) -> ClientExamples:
        n = sum(sizes)
        features = rng.normal(size=(n, NUM_FEATURES)).astype(np.float32)
        labels = rng.integers(0, NUM_CLASSES, n).astype(np.int32)
        return ClientExamples(features, labels, np.cumsum([0, *sizes]))

    return FederatedData(split(TRAIN_SIZES), split(TEST_SIZES), NUM_CLASSES)


def with_nan_client(data: FederatedData, k: int) -> FederatedData:
    """The same data with a NaN feature for client `k`."""
    features = data.train.features.copy()
    features[data.train.offsets[k], 0] = np.nan
    train = ClientExamples(features, data.train.labels, data.train.offsets)
    return FederatedData(train, data.test, data.num_classes)


def engine_parts(
    data: FederatedData,
    work: LocalTraining,
    server: Optimizer = SERVER,
    aggregation: Aggregation | None = None,
    client: Optimizer = CLIENT,
    **more: Any,
) -> EngineParts:
    """Parts of an engine: softmax regression on flat features, unless `more` replaces it."""
    model = SoftmaxRegression(data.train.features.shape[1], data.num_classes)
    common = {"model": model, "preprocessing": AsStored(), **more}
    return EngineParts(
        data=data,
        work=work,
        client_optimizer=client,
        server_optimizer=server,
        aggregation=aggregation or WeightedSum(),
        **common,
    )
