"""The flag that makes XLA sum in one order on a GPU."""

from __future__ import annotations

_NAME = "--xla_gpu_deterministic_ops"


def with_deterministic_ops(flags: str) -> str:
    """Returns `XLA_FLAGS` with the flag added, unless they already set it to some value."""
    return flags if _NAME in flags else f"{flags} {_NAME}=true".strip()


def has_deterministic_ops(flags: str) -> bool:
    """Whether these `XLA_FLAGS` set the flag; the last setting counts."""
    values = [flag for flag in flags.split() if flag.split("=")[0] == _NAME]
    return bool(values) and values[-1].lower() in (_NAME, f"{_NAME}=true", f"{_NAME}=1")
