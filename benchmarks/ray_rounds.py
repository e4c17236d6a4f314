"""Seconds per round with the cohort split over 1, 2 and 4 Ray actors, and without actors.

    python -m benchmarks.ray_rounds [--rounds 20] [--image_rounds 3]

Runs the fused engine on the CPU with all sides in turns, 10 clients per round: Synthetic(1,1) with
100 clients, and the CNN of CA-Fed (3.4 million weights) on noise in CIFAR-10's shape, 20 clients of
100 images. More actors than cores cannot be faster. A last table is computed, not measured: the
bytes that each model moves per round, and the bandwidth at which moving them takes as long as the
arithmetic.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.timing import interleaved, machine, noise
from benchmarks.tiny import engine_parts
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored, Preprocessing, ScaledPixels
from f3ast_tff.datasets import Synthetic
from f3ast_tff.engines.distributed.ray_connection import LOCAL, connect
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import Model, SoftmaxRegression, cafed_cnn
from f3ast_tff.optimizers import Sgd

ACTORS = (1, 2, 4)
COHORT = 10
BATCH_SIZE = 20
FLOAT32 = 4
# Seconds of a client's training on one core, measured on the machine of the README's figures.
ON_PAPER = [
    ("softmax regression", 610, None),
    ("CA-Fed's CNN", 3_353_034, None),
    ("Shakespeare's LSTM", 820_522, 2.74),
    ("ResNet-18", 11_227_812, 2.24),
]


def sides(
    data: FederatedData, model: Model, inputs: Preprocessing
) -> tuple[dict[str, Any], list[Any]]:
    """Returns a round of each side by its name, and the engines to close."""
    # Ray forks, so it starts before JAX.
    from f3ast_tff.engines.distributed.ray_workers import RayWorkers

    connect(LOCAL, 2 * sum(ACTORS))
    from f3ast_tff.engines.jax.choosing import fused_engine
    from f3ast_tff.engines.jax.engine import FusedEngine
    from f3ast_tff.engines.jax.trainer import FusedTrainer

    parts = engine_parts(
        data,
        LocalTraining(BATCH_SIZE),
        client=Sgd(0.01),
        model=model,
        preprocessing=inputs,
        cohort_size=COHORT,
    )
    absent: Any = None  # A worker gets its shard.
    factory = partial(FusedTrainer, parts=replace(parts, data=absent), device="cpu")

    def engine(num_actors: int) -> FusedEngine:
        workers = (
            RayWorkers(factory, examples=data.train, num_workers=num_actors, address=LOCAL)
            if num_actors
            else None
        )
        return fused_engine(parts, workers=workers, device="cpu")

    def one_round(of: FusedEngine) -> Callable[[int], object]:
        def task(repeat: int) -> object:
            rng = np.random.default_rng(repeat)
            ids = np.sort(rng.choice(data.train.num_clients, COHORT, replace=False))
            return of.run_rounds(repeat, [Cohort(ids, np.full(COHORT, 1 / COHORT))])

        return task

    engines = {"no actors": engine(0), **{f"{m} actors": engine(m) for m in ACTORS}}
    return {name: one_round(of) for name, of in engines.items()}, list(engines.values())


def measure(name: str, repeats: int, *parts: Any) -> tuple[dict[str, float], list[Any]]:
    """Prints and returns the seconds per round of each side; leaves the engines open."""
    tasks, engines = sides(*parts)
    seconds = interleaved(tasks, repeats)
    alone = seconds["no actors"]
    for side, s in seconds.items():
        print(f"{name}, {side}: {s:.4f} s a round, ratio to no actors {s / alone:.2f}", flush=True)
    return seconds, engines


def on_paper() -> None:
    """Prints bytes per round, and the bandwidth at which they take as long as the arithmetic."""
    print(f"\n{COHORT} clients a round; a core an actor; MB and MB/s are 10^6 bytes (a second)")
    print("| model | one update | K updates | actors | crosses | arithmetic | as long at |")
    print("|---|---|---|---|---|---|---|")
    for name, num_weights, client_s in ON_PAPER:
        update = num_weights * FLOAT32 / 1e6
        for m in ACTORS:
            # A broadcast to each actor, and a partial sum from each.
            crosses, rest = 2 * m * update, "not measured | - |"
            if client_s is not None:
                arithmetic = client_s * -(-COHORT // m)
                rest = f"{arithmetic:.3g} s | {crosses / arithmetic:.3g} MB/s |"
            print(
                f"| {name} | {update:.4g} MB | {COHORT * update:.4g} MB | {m} | {crosses:.4g} MB "
                f"| {rest}"
            )


def main(argv: Sequence[str] | None = None) -> int:
    """Prints all tables; the exit code is always 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="of Synthetic")
    parser.add_argument("--image_rounds", type=int, default=3, help="of the CNN")
    given = parser.parse_args(argv)
    print(f"{machine()}, Ray {version('ray')}, JAX {version('jax')}", flush=True)
    softmax = (Synthetic(num_clients=100).build(), SoftmaxRegression(60, 10), AsStored())
    _, engines = measure("Synthetic", given.rounds, *softmax)
    images = (noise(10), cafed_cnn(), ScaledPixels(-1.0, 1.0))
    _, others = measure("CNN", given.image_rounds, *images)
    # Only now: Ray cannot be started again once JAX has threads.
    for engine in [*engines, *others]:
        engine.close()
    on_paper()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
