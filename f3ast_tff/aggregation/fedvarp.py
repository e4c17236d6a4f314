"""FedVARP: variance reduction on the server (Jhunjhunwala et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.aggregation.update_memory import CohortWeightsConfig, CorrectedSum
from f3ast_tff.components import register


@register(
    "aggregation",
    "fedvarp",
    "FedVARP",
    about="what the cohort's updates differ from their last, plus the average of all latest ones",
    order=5,
)
@dataclass(frozen=True)
class FedVarpConfig(CohortWeightsConfig):
    """Configuration of FedVARP: Delta = mean_S (D_k - y_k) + sum_j p_j y_j, beta = 1.

    With weights p_k / r_k the mean is a sum: F3AST's selection under this correction.
    """

    def build(self) -> CorrectedSum:
        """See `AggregationConfig.build`."""
        return self.corrected(1.0)
