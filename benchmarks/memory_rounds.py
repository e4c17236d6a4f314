"""Cost of a memory of clients per round: CIFAR-10's CNN, N = 100, K = 10, fused engine.

    python -m benchmarks.memory_rounds [--rounds 5] [--turns 5]

All aggregations train the same cohorts on images of CIFAR-10's shape, in turns in one process; a
figure is the median over turns of the ratio to FedAvg's mean in the same turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.timing import machine, noise
from benchmarks.tiny import engine_parts
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import ScaledPixels
from f3ast_tff.engines.jax.engine import FusedEngine
from f3ast_tff.methods.amplified_scaffold import AmplifiedScaffold
from f3ast_tff.methods.fedawe import FedAwe
from f3ast_tff.methods.fedvarp import FedVarp
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.mimic import Mimic
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.scaffold import Scaffold
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.models.small_cnn import cafed_cnn
from f3ast_tff.optimizers import Sgd

AIM = 1.3
N, K, EXAMPLES = 100, 10, 500
AGGREGATIONS = {
    "fedavg": WeightedMean(),
    "mifa": Mifa("zero"),
    "fedvarp": FedVarp("mean"),
    "mimic": Mimic(),
    "fedawe": FedAwe(),
    "scaffold": Scaffold("mean"),
    "amplified_scaffold": AmplifiedScaffold("mean"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Prints seconds and ratios per aggregation; the exit code is 1 if MIFA misses the aim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args(argv)
    data, p = noise(10, num_clients=N, size=EXAMPLES), np.full(N, 1 / N)
    common = {"model": cafed_cnn(), "preprocessing": ScaledPixels(-1.0, 1.0), "p": p}
    engines = {
        name: FusedEngine(
            engine_parts(
                data,
                LocalTraining(32),
                aggregation=aggregation,
                client=Sgd(0.03),
                cohort_size=K,
                **common,
            ),
            device="cpu",
        )
        for name, aggregation in AGGREGATIONS.items()
    }
    rng = np.random.default_rng(1)
    print(machine(), flush=True)
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(given.turns + 1):
        cohorts = [Cohort(ids, p[ids]) for ids in (rng.permutation(N)[:K],) * given.rounds]
        for name, engine in engines.items():
            begin = time.perf_counter()
            engine.run_rounds(1 + turn * given.rounds, cohorts)
            if turn:  # The first compiles.
                seconds[name].append((time.perf_counter() - begin) / given.rounds)
    for name, found in seconds.items():
        ratio = np.median(np.array(found) / np.array(seconds["fedavg"]))
        print(f"{name}: {np.median(found):.3f} s a round, {ratio:.2f} times FedAvg's", flush=True)
    return int(np.median(np.array(seconds["mifa"]) / np.array(seconds["fedavg"])) > AIM)


if __name__ == "__main__":
    raise SystemExit(main())
