"""The weighted mean of the cohort's updates (FedAvg)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.aggregation.aggregation import Aggregation, AggregationConfig
from f3ast_tff.components import register


@dataclass(frozen=True)
class WeightedMean(Aggregation):
    """Delta = sum_k w_k v_k / sum_k w_k."""

    normalise: ClassVar[bool] = True


@register("aggregation", "mean", "Mean", about="sum of w_k v_k over the sum of w_k", order=2)
@dataclass(frozen=True)
class MeanConfig(AggregationConfig):
    """Configuration of `WeightedMean`."""

    def build(self) -> WeightedMean:
        """See `AggregationConfig.build`."""
        return WeightedMean()
