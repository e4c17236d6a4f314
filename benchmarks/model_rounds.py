"""Seconds and memory of a round of the large models, both engines, on one core.

    python -m benchmarks.model_rounds --data_dir DIR [--task cifar100] [--rounds 3]

Each engine runs `run_experiments.py` in a new process, the engines in turn on the same core. The
time of a round is the median over the rounds after the first, which compiles. `released` is the
network that TensorFlow Federated has too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import machine

# Aims on CIFAR-100: time of fused over TFF, and memory in MiB, with TFF's worker.
RATIO, MEMORY_MIB = 0.7, 3072
_RUNTIME = {"fused": (), "tff": ("--tff_runtime=worker",)}
OF_TASK = {"cifar100": ["--resnet_variant=released"], "shakespeare": []}


def run(task: str, engine: str, data_dir: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Runs one experiment on the first core; returns its summary."""
    command = [
        sys.executable,
        "run_experiments.py",
        f"--task={task}",
        f"--engine={engine}",
        f"--data_dir={data_dir}",
        f"--rounds={rounds}",
        "--eval_every=1",
        "--test_clients=1",
        "--checkpoint_every=1000",
        f"--output_dir={folder}",
        f"--run_name={engine}",
        *OF_TASK[task],
        *_RUNTIME[engine],
    ]
    core = min(os.sched_getaffinity(0))
    # XLA's own threads would wait for each other on the one core.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    with open(folder / "log.txt", "ab") as log:
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "XLA_FLAGS": flags.strip()},
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
    return json.loads((folder / engine / "summary.json").read_text())


def main(argv: Sequence[str] | None = None) -> int:
    """Prints both sides; the exit code is 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--task", choices=list(OF_TASK), default="cifar100")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(argv)
    print(machine(), "one of them used", flush=True)
    seconds, memory = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for engine in ("fused", "tff"):
            summary = run(given.task, engine, given.data_dir, given.rounds, Path(folder))
            seconds[engine] = summary["seconds_per_round"]
            parts = [summary["peak_memory_mib"], summary.get("worker_peak_memory_mib", 0.0)]
            memory[engine] = sum(parts)
            print(
                f"{given.task}, {engine}: {seconds[engine]:.2f} s a round, at most "
                f"{parts[0]:.0f} MiB, and {parts[1]:.0f} MiB in TFF's worker",
                flush=True,
            )
    ratio = seconds["fused"] / seconds["tff"]
    print(f"{given.task}: fused over TFF {ratio:.2f}")
    return int(ratio > RATIO or max(memory.values()) > MEMORY_MIB)


if __name__ == "__main__":
    raise SystemExit(main())
