"""FedLaAvg: the model follows the average of all clients' latest updates (Yan et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.aggregation.aggregation import AggregationConfig
from f3ast_tff.aggregation.update_memory import CorrectedSum
from f3ast_tff.components import Derived, parameter, register


@register(
    "aggregation", "fedlaavg", "FedLaAvg", about="average of all clients' latest updates", order=3
)
@dataclass(frozen=True)
class FedLaAvgConfig(AggregationConfig):
    """Configuration of FedLaAvg: with weights p_k, Delta = g_t, the average of eqs. (4) to (6).

    With multiple local steps (App. E) a client's "gradient" is its update over the learning rate.
    """

    # It counts on weights p_k.
    takes: ClassVar[tuple[str, ...]] = ("mifa",)

    memory_from_round: int = parameter(
        Derived(lambda known: known.get("switch_round", 1), "1, or switch_round"),
        "first round in which the model follows the average; updates are noted from round 1",
        minimum=1,
    )

    def build(self) -> CorrectedSum:
        """See `AggregationConfig.build`."""
        return CorrectedSum(first_round=self.memory_from_round)
