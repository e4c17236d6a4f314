"""Shared by benchmarks: timing in turns, so that noise hits all sides alike; random images."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData


def interleaved(
    tasks: Mapping[str, Callable[[int], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Returns the median seconds of each task, run in turns; each is warmed up first."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(-2, repeats):
        for name, task in tasks.items():
            started = clock()
            task(repeat + 3)
            if repeat >= 0:
                seconds[name].append(clock() - started)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def seconds_of(*arguments: str) -> float:
    """Returns the seconds of a new Python process in the root folder, start to end."""
    started = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=Path(__file__).parent.parent, check=True, capture_output=True)
    return time.perf_counter() - started


def peak_mib() -> float:
    """Returns the peak memory of the child processes so far, MiB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def machine() -> str:
    """Returns a description of the machine."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def noise(num_classes: int, num_clients: int = 20, size: int = 100) -> FederatedData:
    """Returns noise in CIFAR's shape, as costly as images; `size` examples per client."""
    rng = np.random.default_rng(0)
    n = num_clients * size
    images = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    split = ClientExamples(images, rng.integers(0, num_classes, n), np.arange(0, n + 1, size))
    return FederatedData(split, split, num_classes)
