"""Accuracy of the networks on real data when one client holds all of it.

    python -m benchmarks.centralised --data_dir DIR [mnist cifar10 shakespeare]

Trains with the fused engine on the CPU and plain SGD. The exit code is 1 if an aim is missed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.timing import machine
from benchmarks.tiny import engine_parts
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.optimizers import Sgd
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve


@dataclass(frozen=True)
class Aim:
    """Aim of a network: scores to reach within a time.

    Attributes:
        model: Name of the network.
        learning_rate: Learning rate of SGD.
        batch_size: Examples per batch.
        accuracy: Test accuracy to pass; 0 for none.
        loss: Test loss to fall below; infinity for none.
        minutes: CPU budget, minutes, scoring included.
        steps: Batches between two scorings.
        test_clients: Number of test clients to score, for a task with slow scoring; `None` for
            all.
    """

    model: str
    learning_rate: float
    batch_size: int
    minutes: float
    steps: int
    accuracy: float = 0.0
    loss: float = float("inf")
    test_clients: int | None = None


AIMS = {
    "mnist": Aim(
        model="softmax_regression",
        learning_rate=0.1,
        batch_size=32,
        minutes=2,
        steps=1000,
        accuracy=0.9,
    ),
    "cifar10": Aim(
        model="fedlaavg_cnn",
        learning_rate=0.05,
        batch_size=32,
        minutes=10,
        steps=1000,
        accuracy=0.5,
    ),
    "shakespeare": Aim(
        model="character_lstm",
        learning_rate=2.0,
        batch_size=16,
        minutes=15,
        steps=250,
        loss=2.6,
        test_clients=60,
    ),
}


def learn(task: str, data_dir: str, aim: Aim) -> bool:
    """Trains until the aim is reached or the budget spent; returns whether it was reached."""
    from f3ast_tff.engines.jax.engine import FusedEngine

    configuration = resolve(
        {
            "task": task,
            "model": aim.model,
            "data_dir": data_dir,
            "test_clients": aim.test_clients,
            "ridge": 0.0 if aim.model == "softmax_regression" else None,
        }
    )
    builder = Builder(configuration)
    data = replace(builder.data, train=builder.data.train.pooled())
    parts = engine_parts(
        data,
        LocalTraining(aim.batch_size, steps=aim.steps),
        client=Sgd(aim.learning_rate),
        model=builder.model,
        preprocessing=builder.preprocessing,
    )
    engine = FusedEngine(parts, device="cpu")
    started, block = time.process_time(), 0
    while True:
        block += 1
        engine.run_rounds(block, [Cohort(np.array([0]), np.ones(1))])
        scores = engine.evaluate()
        accuracy, loss = scores.sample_mean(scores.correct), scores.sample_mean(scores.loss)
        minutes = (time.process_time() - started) / 60
        print(
            f"{task}, {aim.model}: {block * aim.steps} batches of {aim.batch_size}, "
            f"{minutes:.2f} CPU minutes, test accuracy {accuracy:.4f}, loss {loss:.3f}",
            flush=True,
        )
        if minutes > aim.minutes:
            return False
        if accuracy > aim.accuracy and loss < aim.loss:
            return True


def main(argv: Sequence[str] | None = None) -> int:
    """Trains for the tasks on the command line, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("tasks", nargs="*", choices=[*AIMS, []], default=list(AIMS))
    arguments = parser.parse_args(argv)
    print(machine())
    reached = {task: learn(task, arguments.data_dir, AIMS[task]) for task in arguments.tasks}
    for task, yes in reached.items():
        print(f"{task}: {'reached' if yes else 'MISSED'} within {AIMS[task].minutes} CPU minutes")
    return int(not all(reached.values()))


if __name__ == "__main__":
    raise SystemExit(main())
