"""This machine's GPUs, and which of them each process of a campaign sees."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"
FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION"
# Of a GPU's memory, for all processes on it; the rest is CUDA's own.
_SHARE = 0.9
_PATIENCE_S = 20.0


def visible_gpus(environment: Mapping[str, str]) -> list[str]:
    """Returns the GPUs that this process may use, as `CUDA_VISIBLE_DEVICES` names them.

    Args:
        environment: `os.environ`; if it has `CUDA_VISIBLE_DEVICES`, no more than these.
    """
    named = environment.get(VISIBLE)
    if named is not None:
        found = []
        for name in map(str.strip, named.split(",")):
            # As CUDA reads it: what follows an invalid one is hidden.
            if not name or name.startswith("-"):
                break
            found.append(name)
        return found
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split()


def uses_gpu(environment: tuple[str, str]) -> bool:
    """Whether runs of a `PlannedRun.environment` train on a GPU if there is one."""
    engine, device = environment
    return device == "gpu" or (device == "auto" and engine == "fused")


def default_processes(environments: Iterable[tuple[str, str]]) -> int:
    """Returns one process for each GPU if runs train there, otherwise one for each core.

    Args:
        environments: `PlannedRun.environment` of all runs.
    """
    gpus = visible_gpus(os.environ) if any(map(uses_gpu, environments)) else []
    return len(gpus) or len(os.sched_getaffinity(0))


def gpu_variables(
    gpus: Sequence[str], taken: Sequence[str], slots: int, environment: Mapping[str, str]
) -> dict[str, str]:
    """Returns the environment variables that give a new process a GPU of its own, or a share.

    Args:
        gpus: All, at least one.
        taken: The GPU of each process that lives.
        slots: Most processes at a time; each has an equal part of its GPU's memory.
        environment: A memory fraction that it sets stays.
    """
    on_each = Counter(taken)
    found = {VISIBLE: min(gpus, key=lambda gpu: on_each[gpu])}
    sharing = -(-slots // len(gpus))
    if sharing > 1 and FRACTION not in environment:
        found[FRACTION] = f"{_SHARE / sharing:.3f}"
    return found
