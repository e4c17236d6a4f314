"""Which of TFF's engines executes a composition."""

from __future__ import annotations

from typing import Any

from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.tff.engine import TffEngine
from f3ast_tff.engines.tff.host_sum_engine import HostSumTffEngine
from f3ast_tff.engines.tff.late_engine import LateTffEngine


def tff_engine(parts: EngineParts, **options: Any) -> TffEngine:
    """Returns the engine for these parts, with the options of `TffEngine`."""
    if parts.late:
        return LateTffEngine(parts, **options)
    if HostSumTffEngine.needed(parts.aggregation):
        return HostSumTffEngine(parts, **options)
    return TffEngine(parts, **options)
