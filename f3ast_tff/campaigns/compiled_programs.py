"""XLA programs kept between the runs of a worker: most runs of a campaign compile the same ones."""

from __future__ import annotations

import os
import platform
from collections.abc import MutableMapping
from pathlib import Path

FOLDER = ".compiled"


def keep_compiled_programs(campaign: Path, environment: MutableMapping[str, str]) -> None:
    """Has JAX keep its programs on disk; before JAX is imported.

    A folder of this process alone: JAX writes entries in place, so another process could read
    half of one, and programs are made for the processor of this machine.

    Args:
        campaign: The campaign's folder, which removes `FOLDER` in it at its start and end.
        environment: `os.environ`; what is set already stays.
    """
    own = campaign.absolute() / FOLDER / f"{platform.node()}-{os.getpid()}"
    environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(own))
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
