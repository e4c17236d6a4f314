"""Cost of our TFF round relative to stock `build_weighted_fed_avg`, in one process.

    python -m benchmarks.round_cost

Ten clients train per round. Stock FedAvg gets client datasets that are built once and never
shuffled, the cheapest feed there is. Our round gets a fresh order and fresh weights.
"""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from pathlib import Path

import numpy as np

from benchmarks.timing import interleaved, machine
from benchmarks.tiny import engine_parts
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.datasets import Synthetic
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.optimizers import Sgd

LIMIT = 1.15
BATCH_SIZE = 20
CLIENT, SERVER = Sgd(0.01), Sgd(1.0)


def even_data(num_clients: int = 20, size: int = 600) -> FederatedData:
    """Clients of 600 examples each, 60 features, 10 classes."""
    rng = np.random.default_rng(0)
    n = num_clients * size
    examples = ClientExamples(
        rng.normal(size=(n, 60)).astype(np.float32),
        rng.integers(0, 10, n).astype(np.int32),
        np.arange(0, n + 1, size),
    )
    return FederatedData(examples, examples, 10)


def compare(name: str, data: FederatedData, folder: Path, repeats: int) -> float:
    """Prints the times of both sides; returns ours over stock."""
    import tensorflow as tf
    import tensorflow_federated as tff

    from f3ast_tff.engines.tff.composition import batch_spec
    from f3ast_tff.engines.tff.engine import TffEngine
    from f3ast_tff.engines.tff.learning_process import build_optimizer

    parts = engine_parts(data, LocalTraining(BATCH_SIZE), SERVER, client=CLIENT, folder=folder)
    engine = TffEngine(parts, runtime="worker")
    stock = tff.learning.algorithms.build_weighted_fed_avg(
        lambda: tff.learning.models.from_keras_model(
            parts.model.keras_model(),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            input_spec=batch_spec(data.train),
        ),
        build_optimizer(CLIENT),
        build_optimizer(SERVER),
    )
    fed = [
        tf.data.Dataset.from_tensor_slices(OrderedDict(x=x, y=y)).batch(BATCH_SIZE)
        for x, y in map(data.train.client, range(data.train.num_clients))
    ]
    context = tff.framework.get_context_stack().install(engine._runtime._context)
    with context:
        stock_state = stock.initialize()

        def ids(repeat: int) -> np.ndarray:
            return np.random.default_rng(repeat).choice(len(fed), 10, replace=False)

        def ours(repeat: int) -> None:
            engine.run_rounds(repeat, [Cohort(ids(repeat), np.full(10, 0.1))])

        def theirs(repeat: int) -> None:
            stock.next(stock_state, [fed[k] for k in ids(repeat)])

        median = interleaved({"ours": ours, "stock": theirs}, repeats)
    engine.close()
    ratio = median["ours"] / median["stock"]
    print(
        f"{name}: ours {1000 * median['ours']:.0f} ms a round, "
        f"stock {1000 * median['stock']:.0f} ms, ratio {ratio:.3f} (limit {LIMIT})",
        flush=True,
    )
    return ratio


def main() -> int:
    """Runs both workloads; the exit code is 1 if a limit is passed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    print(f"median of 100 rounds each, in turns; {machine()}")
    with tempfile.TemporaryDirectory() as folder:
        ratios = [
            compare(
                "10 clients x 600 examples", data=even_data(), folder=Path(folder), repeats=100
            ),
            compare(
                "Synthetic(1,1)",
                data=Synthetic(num_clients=100).build(),
                folder=Path(folder),
                repeats=100,
            ),
        ]
    return int(max(ratios) > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
