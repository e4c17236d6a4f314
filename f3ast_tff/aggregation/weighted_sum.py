"""The weighted sum of the cohort's updates (F3AST, Algorithm 1, line 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.aggregation.aggregation import Aggregation, AggregationConfig
from f3ast_tff.components import register


@dataclass(frozen=True)
class WeightedSum(Aggregation):
    """Delta = sum_k w_k v_k; with w_k = p_k / r_k it is unbiased (Lemma B.1)."""


@register("aggregation", "sum", "Sum", about="sum of w_k v_k, the weights as they are", order=1)
@dataclass(frozen=True)
class SumConfig(AggregationConfig):
    """Configuration of `WeightedSum`."""

    # Weights meant for a mean need not sum to anything near 1.
    takes: ClassVar[tuple[str, ...]] = ("fedlaavg", "mifa", "fedstale")

    def build(self) -> WeightedSum:
        """See `AggregationConfig.build`."""
        return WeightedSum()
