"""Seconds and memory of a round on the in-process TFF runtime and on TFF's worker.

    python -m benchmarks.tff_runtimes [--tasks synthetic cifar100] [--rounds 2] [--growth]

Both sides get the same learning process, cohorts and feeds, in turns in one process. They run 20
rounds of Synthetic(1,1) and `--rounds` rounds of `cifar100` (ResNet-18, 10 clients of 100 images
of noise, which cost as much as real images). A first round of a single client compiles. The memory
of the in-process side is measured in a separate process. Start it with `taskset -c 1` for one core.
`--growth` runs 200 rounds in process and reads the memory after 50 and after 200.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import machine, noise
from benchmarks.tiny import engine_parts
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored, ImageCrops, Preprocessing
from f3ast_tff.datasets import Synthetic
from f3ast_tff.files.process_memory import peak_memory_mib
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import Model, ResNet18, SoftmaxRegression
from f3ast_tff.optimizers import Sgd

COHORT, BATCH_SIZE = 10, 20
SIDES = ("tf", "worker")
# Aims: time of tf over worker, memory of tf's process in MiB, memory at round 200 over round 50.
RATIO = {"synthetic": 1.0, "cifar100": 0.8}
MEMORY_MIB, GROWTH = 1536, 1.05


def parts(task: str) -> tuple[FederatedData, Model, Preprocessing]:
    """Data, network and the preprocessing of its inputs."""
    if task == "synthetic":
        return Synthetic(num_clients=100).build(), SoftmaxRegression(60, 10), AsStored()
    return noise(100), ResNet18("released"), ImageCrops(32, 24)


class Sides:
    """A learning process, its first state, and its runtimes by name."""

    def __init__(self, task: str, sides: Sequence[str], log: Path) -> None:
        """Builds the learning process and starts the runtimes named by `sides`."""
        import tensorflow_federated as tff

        from f3ast_tff.engines.tff.composition import ClientFeed, process_of, rules_of
        from f3ast_tff.engines.tff.runtime import InProcessRuntime
        from f3ast_tff.engines.tff.worker import WorkerRuntime

        self.data, model, inputs = parts(task)
        work = LocalTraining(BATCH_SIZE)
        engine = engine_parts(self.data, work, client=Sgd(0.01), model=model, preprocessing=inputs)
        self._feed = ClientFeed(self.data.train, work, inputs)
        process = process_of(engine, rules_of(engine), self.data.train)
        at_once = -1 if task == "synthetic" else 1
        make: dict[str, Callable[[], Any]] = {
            "tf": lambda: InProcessRuntime(process, "cpu"),
            "worker": lambda: WorkerRuntime(process, log, at_once),
        }
        self.runtimes = {side: make[side]() for side in sides}
        initial = tff.learning.models.ModelWeights(model.initial_weights(0), [])
        state = self.runtimes[sides[0]].initialize()
        # `process.set_model_weights` would start a worker of TFF's own.
        self._state = state._replace(global_model_weights=initial)

    def task(self, side: str, num_clients: int = COHORT) -> Callable[[int], Any]:
        """Returns a task that executes a round of a random cohort, always from the first state."""

        def one_round(repeat: int) -> None:
            rng = np.random.default_rng(repeat)
            ids = rng.choice(self.data.train.num_clients, num_clients, replace=False)
            feed = self._feed.datasets(repeat, Cohort(ids, np.full(len(ids), 0.1)))
            self.runtimes[side].next(self._state, feed)

        return one_round

    def close(self) -> None:
        """Ends the worker."""
        for runtime in self.runtimes.values():
            runtime.close()


def in_turns(task: str, rounds: int) -> float:
    """Prints seconds per round of both sides, in turns in one process; returns tf over worker."""
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(task, SIDES, Path(folder) / "worker.log")
        for side in SIDES:
            sides.task(side, 1)(0)
        seconds: dict[str, list[float]] = {side: [] for side in SIDES}
        for t in range(1, rounds + 1):
            for side in SIDES:
                started = time.perf_counter()
                sides.task(side)(t)
                seconds[side].append(time.perf_counter() - started)
        worker = sides.runtimes["worker"].statistics()["worker_peak_memory_mib"]
        sides.close()
    median = {side: float(np.median(seconds[side])) for side in SIDES}
    for side in SIDES:
        print(f"{task}, {side}: {median[side]:.3f} s a round", flush=True)
    print(f"{task}: TFF's worker took at most {worker:.0f} MiB, its parent apart", flush=True)
    return median["tf"] / median["worker"]


def memory_alone(task: str) -> float:
    """Prints and returns the MiB that a new process needs for two rounds of the tf side."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "mib"
        command = [sys.executable, "-m", __spec__.name, "--tasks", task, "--out", str(out)]
        with open(Path(folder) / "log.txt", "wb") as log:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        peak = float(out.read_text())
    print(f"{task}, tf: at most {peak:.0f} MiB in all (aim {MEMORY_MIB})", flush=True)
    return peak


def one_side(task: str, out: Path) -> None:
    """Executes two rounds of the tf side; writes the process's peak memory in MiB to a file."""
    sides = Sides(task, ["tf"], Path(os.devnull))
    for t in (1, 2):
        sides.task("tf")(t)
    out.write_text(str(peak_memory_mib()))


def growth() -> float:
    """Prints and returns the ratio of the memory after 200 rounds to the memory after 50."""
    import psutil

    sides = Sides("synthetic", ["tf"], Path(os.devnull))
    resident = {}
    for t in range(1, 201):
        sides.task("tf")(t)
        if t in (50, 200):
            resident[t] = psutil.Process().memory_info().rss / 2**20
            print(f"synthetic, tf: {resident[t]:.0f} MiB after round {t}", flush=True)
    sides.close()
    return resident[200] / resident[50]


def main(argv: Sequence[str] | None = None) -> int:
    """Prints both sides; the exit code is 1 if an aim is missed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", choices=list(RATIO), default=list(RATIO))
    parser.add_argument("--rounds", type=int, default=2, help="of CIFAR-100")
    parser.add_argument("--growth", action="store_true", help="200 rounds in process, memory")
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.out:
        one_side(given.tasks[0], given.out)
        return 0
    print(machine(), flush=True)
    met = []
    for task in given.tasks:
        ratio = in_turns(task, 20 if task == "synthetic" else given.rounds)
        print(f"{task}: tf over worker {ratio:.2f} (at most {RATIO[task]})", flush=True)
        met += [ratio <= RATIO[task], memory_alone(task) <= MEMORY_MIB]
    if given.growth:
        grown = growth()
        print(f"memory of round 200 over round 50: {grown:.3f} (at most {GROWTH})", flush=True)
        met.append(grown <= GROWTH)
    return int(not all(met))


if __name__ == "__main__":
    raise SystemExit(main())
