"""FedVARP (Jhunjhunwala et al., UAI 2022): variance reduction on the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import UpdateMemory
from f3ast_tff.settings import register


@register(
    "aggregation",
    "fedvarp",
    "FedVARP",
    about="changes of the cohort's updates since their last, plus the average of latest updates",
    order=5,
)
@dataclass(frozen=True)
class FedVarp(SumOrMean):
    """Delta = mean_S (D_k - y_k) + sum_j p_j y_j, beta = 1; in an empty round the model stays.

    For weights p_k / r_k, those of F3AST, the mean becomes a sum.
    """

    @property
    def memory(self) -> UpdateMemory:
        return UpdateMemory(moves_alone=False)


@register(
    "algorithm",
    "fedvarp",
    "FedVARP",
    about="mean over all available clients (or K of them), corrected by latest updates",
    order=20,
)
@dataclass(frozen=True)
class FedVarpConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with FedVARP's memory: a mean with weights p_k."""

    aggregation: ClassVar[str] = "fedvarp"
