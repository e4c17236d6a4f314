"""Which of the fused engines executes a composition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.jax.engine import FusedEngine

if TYPE_CHECKING:
    from f3ast_tff.engines.distributed.ray_workers import RayWorkers


def fused_engine(
    parts: EngineParts, *, workers: RayWorkers | None = None, **options: Any
) -> FusedEngine:
    """Returns the engine for these parts.

    Args:
        parts: Parts of the engine.
        workers: Workers that train the clients instead of this process, if any.
        **options: Options of `FusedEngine`.
    """
    if workers is not None:
        from f3ast_tff.engines.jax.split_engine import SplitFusedEngine

        return SplitFusedEngine(parts, workers=workers, **options)
    if parts.late:
        from f3ast_tff.engines.jax.late_engine import LateFusedEngine

        return LateFusedEngine(parts, **options)
    if parts.aggregation.stacks:
        from f3ast_tff.engines.jax.stacked_engine import StackedFusedEngine

        return StackedFusedEngine(parts, **options)
    return FusedEngine(parts, **options)
