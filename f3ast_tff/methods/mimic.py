"""MimiC (Sun et al. 2024): corrects each update by its last gap to the whole cohort's step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MethodRules, method


@method(
    "mimic",
    "MimiC",
    about="mean of the updates, each plus the client's last gap to the whole step",
    order=22,
    step_scale=1,
)
@dataclass(frozen=True)
class Mimic(MethodRules):
    """c_k, the gap between client k's last update and Delta of that round.

        Delta = sum_{k in S} a_k (D_k + c_k),   then c_k = Delta - D_k for k in S

    with sum_{k in S} a_k = 1, and c_k = 0 before k's first participation: the method expects all
    clients in the first round. The memory holds c_k over the client learning rate of its round, as
    `UpdateMemory` does.
    """

    normalise: ClassVar[bool] = True

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"offset": "zero"})

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Client k sends D_k + c_k."""
        return ClientInit(shift=now.learning_rate * client.kept["offset"])

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """-D_k, to which `after_server_step` adds Delta."""
        return {"offset": -update / now.learning_rate}

    def after_server_step(self, kept: Values, delta: Any, model: Any, now: RoundContext) -> Values:
        """Delta - D_k."""
        return {"offset": kept["offset"] + delta / now.learning_rate}
