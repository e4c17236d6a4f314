"""MimiC (Sun et al. 2024): each update is moved to where the whole cohort's was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.all_available import AllAvailableConfig
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.settings import register


@dataclass(frozen=True)
class OffsetMemory(Memory):
    """How far each client's last update was from Delta in that round, c_k.

        Delta = sum_{k in S} a_k (D_k + c_k),   then c_k = Delta - D_k for k in S

    with sum_{k in S} a_k = 1, and c_k = 0 before k's first round: the method counts on everybody
    in the first one. Kept over the client learning rate of its round, as in `UpdateMemory`.
    """

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({"offset": "zero"})

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """See `Memory.client`: D_k + c_k."""
        return ClientInit(shift=now.learning_rate * client.kept["offset"])

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """See `Memory.after_client`: -D_k, to which `after_server_step` adds Delta."""
        return {"offset": -update / now.learning_rate}

    def after_server_step(self, kept: Values, delta: Any, model: Any, now: RoundContext) -> Values:
        """See `Memory.after_server_step`: Delta - D_k."""
        return {"offset": kept["offset"] + delta / now.learning_rate}


@register(
    "aggregation",
    "mimic",
    "MimiC",
    about="mean of the updates, each plus what it lacked to the whole step in its last round",
    order=7,
)
@dataclass(frozen=True)
class Mimic(Aggregation):
    """Delta of `OffsetMemory`."""

    normalise: ClassVar[bool] = True

    @property
    def memory(self) -> OffsetMemory:
        return OffsetMemory()


@register(
    "algorithm",
    "mimic",
    "MimiC",
    about="mean over all available clients (or K of them), each moved to the whole step",
    order=22,
)
@dataclass(frozen=True)
class MimicConfig(AllAvailableConfig):
    """Configuration of `AllAvailable` with MimiC's memory: a mean with weights p_k."""

    aggregation: ClassVar[str] = "mimic"
