"""Timing several things side by side, so that noise hits all of them alike."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping

import numpy as np


def interleaved(tasks: Mapping[str, Callable[[int], object]], repeats: int) -> dict[str, float]:
    """Returns the median seconds of each task, run in turns; each is warmed up first."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(-2, repeats):
        for name, task in tasks.items():
            started = time.perf_counter()
            task(repeat + 3)
            if repeat >= 0:
                seconds[name].append(time.perf_counter() - started)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def machine() -> str:
    """Returns what the figures were measured on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
