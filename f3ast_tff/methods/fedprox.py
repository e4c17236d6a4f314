"""FedProx (Li et al., MLSys 2020): clients are pulled towards the model that they were sent."""

from __future__ import annotations

from dataclasses import dataclass

from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE
from f3ast_tff.methods.parts.memory import Client, ClientInit, Memory, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.settings import parameter


@method(
    "fedprox",
    "FedProx",
    about="clients are pulled towards the model that they were sent",
    order=33,
    client_share="examples",
    corrects=MEAN_OF_AVAILABLE,
    step_scale=1,
)
@dataclass(frozen=True)
class FedProx(MeanOfAvailable):
    """Clients step along g + mu (w - w_t): they minimise F_k(w) + (mu / 2) |w - w_t|^2 (eq. (2)).

    With mu = 0 it is FedAvg and has no memory.
    """

    prox_mu: float = parameter(
        1.0, "mu: clients add (mu / 2) |w - w_t|^2 to their loss; 0 for FedAvg", minimum=0
    )

    @property
    def memory(self) -> Memory | None:
        return self if self.prox_mu else None

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(pull=self.prox_mu)
