"""The old name of F3AST with a rate per cluster of clients."""

from __future__ import annotations

from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.selecting_method import takes_old_arguments


@takes_old_arguments
class ClusterF3AST(F3AST):
    """`F3AST` with `rate_clusters`, by its old name."""
