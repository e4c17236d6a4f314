"""FedVARP (Jhunjhunwala et al., UAI 2022): variance reduction on the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.methods.parts.update_memory import UpdateMemory


@method(
    "fedvarp",
    "FedVARP",
    about="changes of the cohort's updates since their last, plus the average of latest updates",
    order=20,
    reaches_optimum=True,
    step_scale=1,
)
@dataclass(frozen=True)
class FedVarp(UpdateMemory, MeanOfAvailable):
    """Delta = mean_S (D_k - y_k) + sum_j p_j y_j, beta = 1; in an empty round the model stays.

    For weights p_k / r_k, those of F3AST, the mean becomes a sum.
    """

    moves_alone: ClassVar[bool] = False
