"""FedStale (Rodio and Neglia 2024): remembered updates count by a factor beta."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import OVER_RATE
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.methods.parts.update_memory import UpdateMemory
from f3ast_tff.methods.unbiased import Unbiased
from f3ast_tff.settings import parameter


@method(
    "fedstale",
    "FedStale",
    about="as FedVARP, with remembered updates counting by a factor beta; beta = 0 remembers none",
    order=21,
    selects=Unbiased,
    takes="takes all available clients (or K of them), weighs by p / pi",
    client_share="equal",
    corrects=MappingProxyType({"algorithm": "unbiased"}),
    reaches_optimum=True,
    step_scale=1,
)
@dataclass(frozen=True)
class FedStale(UpdateMemory, MeanOfAvailable):
    """Delta of `UpdateMemory` with weights p_k / pi_k; in an empty round the model stays."""

    weights: ClassVar[str] = OVER_RATE
    moves_alone: ClassVar[bool] = False

    fedstale_beta: float = parameter(
        0.5, "factor of remembered updates, as in the released scripts", minimum=0, maximum=1
    )

    @property
    def beta(self) -> float:
        return self.fedstale_beta
