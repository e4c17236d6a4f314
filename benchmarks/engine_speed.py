"""Time of a round of the fused engine, TFF's engine and a hand-written JAX round.

    python -m benchmarks.engine_speed

All sides of a ratio run in turns in this process. A round is timed from its cohort to the new
model. The engines also order and pack the batches; the hand-written round gets them
ready-made. If TFF is not installed, its engine is left out.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
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
from f3ast_tff.files.process_memory import peak_memory_mib
from f3ast_tff.methods.parts.strategy import Cohort

COHORT = 10
BLOCK = 10
REPEATS = 15
HAS_TFF = importlib.util.find_spec("tensorflow_federated") is not None


def hand_written(data: FederatedData) -> Callable[[int], Any]:
    """Returns the yardstick: `vmap` over equal clients, `scan` over steps, one jitted round."""
    import jax
    import jax.numpy as jnp

    x, y = jnp.asarray(data.train.features), jnp.asarray(data.train.labels)
    size = int(data.train.sizes[0])
    rng = np.random.default_rng(0)
    weights = np.full(COHORT, 0.1, np.float32)

    def loss(model: Any, rows: Any) -> Any:
        log_p = jax.nn.log_softmax(x[rows] @ model[0] + model[1])
        return -jnp.mean(jnp.sum(jax.nn.one_hot(y[rows], 10) * log_p, axis=1))

    def step(model: Any, rows: Any) -> tuple[Any, None]:
        gradient = jax.grad(loss)(model, rows)
        return jax.tree_util.tree_map(lambda w, g: w - 0.01 * g, model, gradient), None

    @jax.jit
    def one_round(model: Any, rows: Any) -> Any:
        local = jax.vmap(lambda r: jax.lax.scan(step, model, r)[0])(rows)
        return jax.tree_util.tree_map(
            lambda w, v: w + jnp.tensordot(weights, v - w, axes=1), model, local
        )

    def order() -> np.ndarray:
        ids = rng.choice(data.train.num_clients, COHORT, replace=False)
        rows = [data.train.offsets[k] + rng.permutation(size) for k in ids]
        return np.asarray(rows, np.int32).reshape(COHORT, -1, BATCH_SIZE)

    ready = [order() for _ in range(BLOCK)]
    model = (jnp.zeros((60, 10)), jnp.zeros(10))

    def block(repeat: int) -> None:
        nonlocal model
        for rows in ready:
            model = one_round(model, rows)
        jax.block_until_ready(model)

    return block


def rounds(engine: Engine, data: FederatedData, count: int) -> Callable[[int], Any]:
    """Returns a task that executes `count` rounds of random cohorts."""

    def block(repeat: int) -> None:
        rng = np.random.default_rng(repeat)
        cohorts = [
            Cohort(rng.choice(data.train.num_clients, COHORT, replace=False), np.full(COHORT, 0.1))
            for _ in range(count)
        ]
        engine.run_rounds(1 + count * repeat, cohorts)

    return block


def compare(name: str, data: FederatedData, folder: Path, yardstick: bool) -> dict[str, float]:
    """Prints milliseconds per round of all sides; returns the ratios of fused to each other."""
    from f3ast_tff.engines.jax.engine import FusedEngine

    parts = engine_parts(data, LocalTraining(BATCH_SIZE), SERVER, client=CLIENT, folder=folder)
    fused = FusedEngine(parts, device="cpu")
    tasks = {"fused": rounds(fused, data, BLOCK)}
    if yardstick:
        tasks["hand-written"] = hand_written(data)
    with contextlib.ExitStack() as stack:
        if HAS_TFF:
            from f3ast_tff.engines.tff.engine import TffEngine

            tff = stack.enter_context(contextlib.closing(TffEngine(parts, runtime="worker")))
            tasks["TFF"] = rounds(tff, data, 1)
        median = interleaved(tasks, REPEATS)
    per_round = {side: s / (1 if side == "TFF" else BLOCK) for side, s in median.items()}
    for side, seconds in per_round.items():
        print(f"{name}: {side} {1000 * seconds:.2f} ms a round", flush=True)
    ratios = {}
    if HAS_TFF:
        ratios["TFF over fused"] = per_round["TFF"] / per_round["fused"]
    if yardstick:
        ratios["fused over hand-written"] = per_round["fused"] / per_round["hand-written"]
    for side, ratio in ratios.items():
        print(f"{name}: {side} {ratio:.2f}", flush=True)
    print(f"{name}: {fused._programs.traces} programs compiled", flush=True)
    return ratios


def evaluation_cost(data: FederatedData) -> float:
    """Prints and returns the cost of evaluating every 10 rounds, as a share of the training."""
    from f3ast_tff.engines.jax.engine import FusedEngine

    parts = engine_parts(data, LocalTraining(BATCH_SIZE), SERVER, client=CLIENT)
    engine = FusedEngine(parts, device="cpu")
    median = interleaved(
        {"train": rounds(engine, data, BLOCK), "evaluate": lambda _: engine.evaluate()}, REPEATS
    )
    share = median["evaluate"] / median["train"]
    print(f"Synthetic(1,1): evaluation every 10 rounds adds {100 * share:.1f}%", flush=True)
    return share


def main() -> int:
    """Runs all comparisons; the exit code is 1 if an aim is missed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    print(f"median of {REPEATS} blocks, in turns; {machine()}")
    synthetic_data = Synthetic(num_clients=100).build()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        even = compare("10 clients x 600 examples", even_data(100), folder, yardstick=True)
        uneven = compare("Synthetic(1,1)", synthetic_data, folder, yardstick=False)
    evaluation = evaluation_cost(synthetic_data)
    print(f"peak memory of this process: {peak_memory_mib():.0f} MiB")
    met = [even["fused over hand-written"] <= 1.3, evaluation <= 0.2]
    if HAS_TFF:
        met += [even["TFF over fused"] >= 80, uneven["TFF over fused"] >= 30]
    return int(not all(met))


if __name__ == "__main__":
    raise SystemExit(main())
