"""FedAvg whose server does not wait: an update that arrives too late is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from f3ast_tff.methods.fedavg import SampledMean
from f3ast_tff.methods.parts.late import Admitted
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.strategy import Round
from f3ast_tff.settings import parameter


@method(
    "fedavg_in_time",
    "FedAvg in time",
    about="FedAvg; an update that arrives after its round is dropped",
    order=32,
)
@dataclass(frozen=True)
class InTime(SampledMean):
    """FedAvg whose server drops updates that are more than `in_time_rounds` rounds late."""

    deliveries: ClassVar[tuple[str, ...]] = ("late",)
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "fedavg"})

    in_time_rounds: int = parameter(
        0, "largest number of rounds after which an update still enters", minimum=0
    )

    def admit(self, now: Round, asked_in: np.ndarray) -> Admitted:
        """Returns the server's choice among arrived updates; see `admitted_by`."""
        enters = now.number - asked_in <= self.in_time_rounds
        return Admitted(enters, ~enters)
