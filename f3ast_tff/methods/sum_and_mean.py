"""The weighted sum (F3AST, Algorithm 1, line 9) and the weighted mean (FedAvg) of updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import OVER_RATE, SHARE, Aggregation
from f3ast_tff.settings import register


@register("aggregation", "sum", "Sum", about="sum of w_k v_k, the weights as they are", order=1)
@dataclass(frozen=True)
class WeightedSum(Aggregation):
    """Delta = sum_k w_k v_k; with w_k = p_k / r_k it is unbiased (Lemma B.1)."""

    # Weights for a mean may have any sum, so a sum refuses them.
    weights: ClassVar[str] = OVER_RATE
    takes: ClassVar[tuple[str, ...]] = (OVER_RATE, SHARE)


@register("aggregation", "mean", "Mean", about="sum of w_k v_k over the sum of w_k", order=2)
@dataclass(frozen=True)
class WeightedMean(Aggregation):
    """Delta = sum_k w_k v_k / sum_k w_k."""

    normalise: ClassVar[bool] = True
