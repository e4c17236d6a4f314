"""One measurement of `benchmarks.gpu`, which starts a process for it; prints a line of JSON.

    python -m benchmarks.gpu_case "round cifar100 lanes=10" FOLDER

Data are random, in the shapes of CIFAR-100 and Shakespeare: a round's cost does not depend on the
content of images. A client has 57 sequences, the mean of Shakespeare.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.gpu import read_case
from benchmarks.tiny import engine_parts
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored, ImageCrops, Preprocessing
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.jax.engine import FusedEngine
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import CharacterLSTM, Model, ResNet18, SmallCNN
from f3ast_tff.models.jax_layers import plain
from f3ast_tff.optimizers import Sgd

LAYERS = ("convolution", "group_norm", "lstm", "max_pool")
K = 10


class Task(NamedTuple):
    """Model, preprocessing and sizes of a measured round."""

    model: Model
    preprocessing: Preprocessing
    batch_size: int
    client_lr: float
    num_clients: int
    most_examples: int


def task(name: str, small: bool) -> Task:
    """Returns a task by name; `small` has fewer clients, for a trial on a CPU."""
    clients = 12 if small else 500
    images = functools.partial(Task, preprocessing=ImageCrops(32, 24, seed=1), batch_size=20)
    examples = 20 if small else 100
    if name == "shakespeare":
        units = 16 if small else 256
        return Task(
            model=CharacterLSTM(units=units),
            preprocessing=AsStored(),
            batch_size=4,
            client_lr=1.0,
            num_clients=clients,
            most_examples=4 if small else 114,
        )
    models: dict[str, Model] = {
        "cifar100": ResNet18("strided"),
        "cifar100_released": ResNet18("released"),
        "small_cnn": SmallCNN((16, 32), hidden=(128,), input_shape=(24, 24, 3), num_classes=100),
    }
    return images(models[name], client_lr=0.03, num_clients=clients, most_examples=examples)


def data_of(given: Task) -> FederatedData:
    """Returns random data: images of 100 classes, or sequences of 80 characters."""
    rng = np.random.default_rng(0)
    if isinstance(given.model, CharacterLSTM):
        sizes = rng.integers(1, given.most_examples + 1, given.num_clients)
        rows = rng.integers(1, 90, (sizes.sum(), 81)).astype(np.uint8)
        examples = ClientExamples(
            rows[:, :-1], rows[:, 1:].astype(np.int32), np.cumsum([0, *sizes])
        )
        return FederatedData(examples, examples.take(np.arange(10)), 90)
    number = given.num_clients * given.most_examples
    images = rng.integers(0, 256, (number, 32, 32, 3)).astype(np.uint8)
    labels = rng.integers(0, 100, number).astype(np.int32)
    offsets = np.arange(0, number + 1, given.most_examples)
    examples = ClientExamples(images, labels, offsets)
    return FederatedData(examples, examples.take(np.arange(10)), 100)


def parts_of(given: Task, data: FederatedData) -> EngineParts:
    """Returns the parts of the engine."""
    work = LocalTraining(given.batch_size, 1, None, drop_remainder=False, seed=2)
    return engine_parts(
        data,
        work,
        client=Sgd(given.client_lr),
        model=given.model,
        preprocessing=given.preprocessing,
        cohort_size=K,
    )


def use_plain_layers() -> None:
    """Replaces the fast layers by plain ones."""
    for name in LAYERS:
        module = importlib.import_module(f"f3ast_tff.models.jax_layers.{name}")
        vars(module)[name] = getattr(plain, name)


def cohorts(num_clients: int, rounds: int) -> list[Cohort]:
    """Returns a cohort of K clients for each round."""
    rng = np.random.default_rng(1)
    return [
        Cohort(np.sort(rng.choice(num_clients, K, replace=False)), np.full(K, 1 / K))
        for _ in range(rounds)
    ]


def measure_round(case: dict[str, Any]) -> dict[str, Any]:
    """Returns the seconds of a round in a block, as a run queues rounds, and of the first."""
    if case.get("layers") == "plain":
        use_plain_layers()
    given = task(case["task"], bool(case.get("small")))
    lanes, precision = case.get("lanes", K), case.get("precision", "highest")
    parts = parts_of(given, data_of(given))
    engine = FusedEngine(parts, device="auto", num_lanes=lanes, matmul_precision=precision)
    rounds = cohorts(given.num_clients, 1 + case.get("rounds", 10))
    seconds = [_seconds(engine, 1, rounds[:1])]
    # The second block finds its programs compiled.
    seconds += [_seconds(engine, 2, rounds[1:]) for _ in range(3)]
    started = time.perf_counter()
    engine.evaluate()
    evaluation = time.perf_counter() - started
    if "trace" in case:
        with jax.profiler.trace(str(Path(sys.argv[2]) / f"trace_{case['task']}")):
            engine.run_rounds(len(rounds) + 1, rounds[:1])
    statistics = jax.devices()[0].memory_stats() or {}
    return {
        "first_round_seconds": seconds[0],
        "seconds_a_round": min(seconds[2:]) / len(rounds[1:]),
        "first_evaluation_seconds": evaluation,
        "peak_mib": statistics.get("peak_bytes_in_use", 0) / 2**20,
    }


def _seconds(engine: FusedEngine, first_round: int, block: Sequence[Cohort]) -> float:
    """Seconds of a block, whose outcomes are there when all rounds are done."""
    started = time.perf_counter()
    engine.run_rounds(first_round, block)
    return time.perf_counter() - started


def measure_equality(case: dict[str, Any]) -> dict[str, Any]:
    """Returns the gap between GPU and CPU after one round, at the highest precision.

    The gap is the norm of the difference of all weights over the norm of their change. In a second
    round a unit that rounding switches on or off can multiply it, on one device too.
    """
    given = task(case["task"], bool(case.get("small")))
    parts = parts_of(given, data_of(given))
    cohort = Cohort(cohorts(given.num_clients, 1)[0].ids[:2], np.full(2, 0.5))
    ends = []
    for device in ("auto", "cpu"):
        engine = FusedEngine(parts, device=device, num_lanes=case.get("lanes", 2))
        engine.run_rounds(1, [cohort])
        ends.append(_joined(engine.weights()))
    one, two = ends
    change = two - _joined(parts.model.initial_weights(parts.seed))
    return {"relative_gap": float(np.linalg.norm(one - two) / np.linalg.norm(change))}


def _joined(weights: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.asarray(weight, np.float64).ravel() for weight in weights])


def main() -> int:
    """Measures the case in the first argument; the second is the folder for profiles."""
    case = read_case(sys.argv[1])
    measure = {"round": measure_round, "equality": measure_equality}[case["kind"]]
    device = jax.devices()[0]
    found = {**measure(case), "device": device.device_kind, "jax": jax.__version__}
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
