"""Time of the host engine: beside a hand-written round in NumPy, beside fused, and of whole runs.

    python -m benchmarks.host_engine

All sides of a ratio run in turns in this process, on one core, in processor seconds. The engines
also order and lay out the batches; the hand-written round gets them ready-made. Whole runs are new
processes. If JAX is not installed, the fused engine is left out.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.round_cost import BATCH_SIZE, CLIENT, SERVER, even_data
from benchmarks.timing import interleaved, machine
from benchmarks.tiny import engine_parts
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.datasets import Synthetic
from f3ast_tff.engines import Engine
from f3ast_tff.engines.host.engine import HostEngine
from f3ast_tff.methods.parts.strategy import Cohort

COHORT = 10
BLOCK = 5
REPEATS = 15
ROOT = Path(__file__).parent.parent
# Largest ratios, seconds to the end of round 1, MB, and processor seconds of 200 rounds.
MOST_OVER_HAND_WRITTEN, MOST_OVER_FUSED = 1.25, 2.3
MOST_S, MOST_MB, MOST_CPU_S = 0.6, 120, 3.0


def hand_written(data: FederatedData) -> Callable[[int], Any]:
    """Returns the yardstick: ten equal clients side by side, [clients, batch, ...]."""
    x, y = data.train.features, data.train.labels
    size, classes, features = int(data.train.sizes[0]), 10, x.shape[1]
    rng = np.random.default_rng(0)
    weights = np.full(COHORT, 0.1, np.float32)

    def order() -> np.ndarray:
        ids = rng.choice(data.train.num_clients, COHORT, replace=False)
        rows = np.array([data.train.offsets[k] + rng.permutation(size) for k in ids])
        return np.ascontiguousarray(rows.reshape(COHORT, -1, BATCH_SIZE).swapaxes(0, 1))

    ready = [order() for _ in range(BLOCK)]
    clients, places = np.ogrid[:COHORT, :BATCH_SIZE]
    model = [np.zeros((features, classes), np.float32), np.zeros(classes, np.float32)]

    def one_round(steps: np.ndarray) -> None:
        kernels, biases = (np.repeat(weight[None], COHORT, axis=0) for weight in model)
        for rows in steps:
            inputs, labels = x[rows], y[rows]
            logits = inputs @ kernels + biases[:, None]
            logits -= logits.max(axis=2, keepdims=True)
            error = np.exp(logits)
            error /= error.sum(axis=2, keepdims=True)
            error[clients, places, labels] -= 1
            error *= np.float32(0.01 / BATCH_SIZE)
            kernels -= inputs.swapaxes(1, 2) @ error
            biases -= error.sum(axis=1)
        model[0] += np.tensordot(weights, kernels - model[0], axes=1)
        model[1] += np.tensordot(weights, biases - model[1], axes=1)

    def block(repeat: int) -> None:
        for steps in ready:
            one_round(steps)

    return block


def rounds(engine: Engine, data: FederatedData) -> Callable[[int], Any]:
    """Returns a task that executes a block of rounds of random cohorts."""

    def block(repeat: int) -> None:
        rng = np.random.default_rng(repeat)
        cohorts = [
            Cohort(rng.choice(data.train.num_clients, COHORT, replace=False), np.full(COHORT, 0.1))
            for _ in range(BLOCK)
        ]
        engine.run_rounds(1 + BLOCK * repeat, cohorts)

    return block


def compare(name: str, data: FederatedData, yardstick: bool) -> dict[str, float]:
    """Prints milliseconds per round of all sides; returns the ratios of host to each other."""
    parts = engine_parts(data, LocalTraining(BATCH_SIZE), SERVER, client=CLIENT)
    tasks = {"host": rounds(HostEngine(parts), data)}
    if yardstick:
        tasks["hand-written"] = hand_written(data)
    if importlib.util.find_spec("jax") is not None:
        from f3ast_tff.engines.jax.engine import FusedEngine

        tasks["fused"] = rounds(FusedEngine(parts, device="cpu"), data)
    median = interleaved(tasks, REPEATS, clock=time.process_time)
    for side, seconds in median.items():
        print(f"{name}: {side} {1000 * seconds / BLOCK:.2f} ms a round", flush=True)
    ratios = {side: median["host"] / seconds for side, seconds in median.items() if side != "host"}
    for side, ratio in ratios.items():
        print(f"{name}: host over {side} {ratio:.2f}", flush=True)
    return ratios


def whole_run(num_rounds: int) -> tuple[float, float, float]:
    """Returns seconds, processor seconds and peak MB of a run in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        given = [f"--rounds={num_rounds}", "--engine=host", f"--output_dir={folder}"]
        started = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "run_experiments.py", *given],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
    assert process.returncode == 0
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def main() -> int:
    """Runs all comparisons; the exit code is 1 if an aim is missed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"median of {REPEATS} blocks of {BLOCK}, in turns, on one core; {machine()}")
    even = compare("10 clients x 600 examples", even_data(100), yardstick=True)
    uneven = compare("Synthetic(1,1)", Synthetic(num_clients=100).build(), yardstick=False)
    first = sorted(whole_run(1) for _ in range(5))[2]
    many = sorted(whole_run(200)[1] for _ in range(3))[1]
    print(
        f"first round, process start to end: {first[0]:.2f} s (processor {first[1]:.2f}), "
        f"{first[2]:.0f} MB; 200 rounds: {many:.2f} processor seconds"
    )
    met = [
        even["hand-written"] <= MOST_OVER_HAND_WRITTEN,
        uneven.get("fused", 0) <= MOST_OVER_FUSED,
    ]
    met += [first[0] <= MOST_S, first[2] <= MOST_MB, many <= MOST_CPU_S]
    print("aims met: " + ", ".join(map(str, met)))
    return int(not all(met))


if __name__ == "__main__":
    raise SystemExit(main())
