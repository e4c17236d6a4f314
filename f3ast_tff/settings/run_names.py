"""Names of run folders, from settings."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from typing import Any

# Settings whose values appear without the setting's name.
_PLAIN = ("task", "model", "algorithm", "availability", "reading", "engine")
_UNFIT = re.compile(r"[^A-Za-z0-9_.+-]")
_LONGEST = 150


def name_part(name: str, value: Any) -> str:
    """Returns the part of a name for a setting, such as `seed3` or `constraint-cycle_5`."""
    if isinstance(value, str):
        return value if name in _PLAIN else f"{name}-{value}"
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{name}{value:g}"
    return f"{name}{value}"


def path_part(name: str, value: str) -> str:
    """Returns the part of a name for a file: the file's name, and a digest of its path."""
    digest = hashlib.sha256(os.path.abspath(value).encode()).hexdigest()[:8]
    return f"{name}-{os.path.basename(value)}-{digest}"


def run_name(parts: Sequence[str]) -> str:
    """Returns the name of a run; equal parts give equal names, different parts different names."""
    text = "-".join(parts) or "run"
    fit = _UNFIT.sub("_", text)[:_LONGEST]
    if fit == text and not fit.startswith("."):
        return fit
    return f"run-{fit.lstrip('.')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
