"""Old name of `compare.paired_difference`, with a warning; it goes with the next minor release."""

from __future__ import annotations

from typing import Any

from f3ast_tff.analysis.compare import paired_difference
from f3ast_tff.core.moved import moved


def __getattr__(name: str) -> Any:
    return moved(name, old=__name__, new=paired_difference)
