"""Five algorithms, five availability models, three seeds: the fused engine's wall time.

    python -m tests.benchmarks.all_cells [ROUNDS]

Runs as many processes at once as there are cores; 1000 rounds of Synthetic(1,1) by default.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.registry import ALGORITHMS, AVAILABILITY
from tests.benchmarks.timing import machine

ROOT = Path(__file__).parent.parent.parent
LIMIT_S = 600
SEEDS = (0, 1, 2)


def run_cell(folder: str, rounds: int, algorithm: str, availability: str, seed: int) -> float:
    """Runs one experiment in a process of its own; returns its seconds."""
    command = [
        sys.executable,
        "run_experiments.py",
        "--engine=fused",
        "--device=cpu",
        f"--rounds={rounds}",
        f"--algorithm={algorithm}",
        f"--availability={availability}",
        f"--seed={seed}",
        f"--output_dir={folder}",
    ]
    # As many processes as cores: threads inside a matrix product would only get in the way.
    environment = {**os.environ, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
    return time.perf_counter() - started


def main() -> int:
    """Prints the wall time; the exit code is 1 if it passes the limit."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    cells = list(itertools.product(ALGORITHMS, AVAILABILITY, SEEDS))
    print(f"{len(cells)} runs of {rounds} rounds; {machine()}", flush=True)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        seconds = list(pool.map(lambda cell: run_cell(folder, rounds, *cell), cells))
    total = time.perf_counter() - started
    for algorithm in ALGORITHMS:
        own = [s for s, cell in zip(seconds, cells) if cell[0] == algorithm]
        print(f"{algorithm}: {sum(own) / len(own):.1f} s a run, {max(own):.1f} s the longest")
    print(f"all: {total:.0f} s (limit {LIMIT_S} for 1000 rounds)")
    return int(total > LIMIT_S)


if __name__ == "__main__":
    raise SystemExit(main())
