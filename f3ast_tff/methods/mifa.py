"""MIFA (Gu et al., NeurIPS 2021): latest updates of absent clients stand in for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.methods.parts.aggregation import SHARE
from f3ast_tff.methods.parts.method import MethodRules, method
from f3ast_tff.methods.parts.update_memory import UpdateMemory
from f3ast_tff.settings import parameter


@method(
    "mifa",
    "MIFA",
    about="sum of p_k times each client's latest update, at once or once all have taken part",
    order=19,
    reaches_optimum=True,
    step_scale=1,
)
@dataclass(frozen=True)
class Mifa(UpdateMemory, MethodRules):
    """Algorithm 1: Delta of `UpdateMemory` with weights p_k and beta = 1.

    The model moves in every round, also in a round without clients. The analysis assumes that all
    clients take part in the first round. With waiting the model instead stays until every client
    has taken part once; if a client never comes, the model never moves.
    """

    weights: ClassVar[str] = SHARE
    takes: ClassVar[tuple[str, ...]] = (SHARE,)

    mifa_start: str = parameter(
        "zero",
        "a client that has not taken part yet counts as zero, or the model waits until every "
        "client has taken part once",
        choices=("zero", "wait"),
    )

    @property
    def waits(self) -> bool:
        return self.mifa_start == "wait"
