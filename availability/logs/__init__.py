"""Reads logs of online clients, device traces, masks, stays and signals; decided by content."""

from __future__ import annotations

from typing import Any

__all__ = ["AvailabilityLog", "log_of_frame", "read_log"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported on first use: a run that reads no log needs none of it.
    from f3ast_tff.availability.logs import availability_log

    return getattr(availability_log, name)
