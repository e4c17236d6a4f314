"""q-FedAvg: clients with a large loss count for more.

f3ast-tff run --plugin=q_fedavg.py --algorithm=fedavg --aggregation=q_fedavg

Li et al. (ICLR 2020), Algorithm 2. With F_k the loss of client k at w_t, L = 1 / rate and
v_k = -L D_k, the server steps by -sum_k F_k^q v_k / sum_k h_k,
h_k = q F_k^(q-1) |v_k|^2 + L F_k^q. Both sums have the cohort's weights here; q = 0 is FedAvg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Client, ClientLosses, Memory, RoundContext
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class FairWeights(Memory):
    """Client k sends F_k^q D_k / f_k with the factor f_k = h_k / L of its weight.

    So the mean, sum_k w_k F_k^q D_k / sum_k w_k f_k, is the server's step.

    Attributes:
        q: At least 0.
    """

    q: float

    start_loss: ClassVar[bool] = True

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        """A client without any step sends 0 with factor 1."""
        loss = now.xp.where(client.steps > 0, losses.start, 1.0)
        # A loss of 0 has no power q - 1 < 0.
        loss = now.xp.maximum(loss, 1e-10)
        size = now.xp.sum(update**2) / now.learning_rate
        factor = self.q * loss ** (self.q - 1) * size + loss**self.q
        return loss**self.q * update / factor, factor


@register("aggregation", "q_fedavg", "q-FedAvg", about="mean that favours clients of large loss")
@dataclass(frozen=True)
class QFedAvg(Aggregation):
    """The weighted mean with `FairWeights`."""

    normalise: ClassVar[bool] = True

    fair_q: float = parameter(1.0, "q: 0 for FedAvg, larger for more equal losses", minimum=0)

    @property
    def memory(self) -> FairWeights:
        """The rules."""
        return FairWeights(self.fair_q)
