"""What a measured time belongs to: the machine and the libraries on it."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import f3ast_tff
from f3ast_tff.configuration.provenance import cores, package_versions

_CPUINFO = Path("/proc/cpuinfo")
_GPUS = Path("/proc/driver/nvidia/gpus")


def machine() -> dict[str, Any]:
    """Returns processor, cores at hand, GPUs (Linux) and versions, as JSON values."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "gpus": _gpus(),
        "python": platform.python_version(),
        "packages": {"f3ast-tff": f3ast_tff.__version__, **package_versions()},
    }


def _processor() -> str:
    if _CPUINFO.is_file():
        name = _field(_CPUINFO, "model name")
        if name:
            return name
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    return sorted(_field(path, "Model") for path in _GPUS.glob("*/information"))


def _field(path: Path, name: str) -> str:
    """The first value of a file of lines `name : value`; empty if there is none."""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
