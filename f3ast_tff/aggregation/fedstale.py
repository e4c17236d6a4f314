"""FedStale: remembered updates count for a part beta (Rodio and Neglia 2024)."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.aggregation.update_memory import CohortWeightsConfig, CorrectedSum
from f3ast_tff.components import parameter, register


@register(
    "aggregation",
    "fedstale",
    "FedStale",
    about="FedVARP with remembered updates counting for a part beta; beta = 0 remembers nothing",
    order=6,
)
@dataclass(frozen=True)
class FedStaleConfig(CohortWeightsConfig):
    """Configuration of FedStale."""

    fedstale_beta: float = parameter(
        0.5, "how much remembered updates count, as in the released scripts", minimum=0, maximum=1
    )

    def build(self) -> CorrectedSum:
        """See `AggregationConfig.build`."""
        return self.corrected(self.fedstale_beta)
