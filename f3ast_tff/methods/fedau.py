"""FedAU (Wang and Ji, ICLR 2024): p_k times the mean interval between participations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, StrategyContext
from f3ast_tff.methods.parts.all_available import TakesAvailable
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import RenewedMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round
from f3ast_tff.settings import parameter


@takes_old_arguments
@method(
    "fedau",
    "FedAU",
    about="takes all available clients (or K of them), weighs by p times the mean interval "
    "between a client's participations",
    order=17,
    client_share="equal",
    corrects=MEAN_OF_AVAILABLE,
    step_scale=1,
)
@dataclass(frozen=True)
class FedAU(RenewedMethod, TakesAvailable):
    """Takes all available clients with weights p_k omega_k, for a SUM.

    omega_k is the mean length of client k's participation intervals so far; before the first
    interval has ended it is 1. It estimates 1 / (chance of participation) from participation only.
    The length of an interval is the number of rounds from the last participation, exclusive, to
    this one, inclusive; the first interval counts from the start of the run. An interval also ends
    after K_cut rounds in a row without the client. An interval that ends in round t counts from
    round t + 1 on. The paper has 1 / N for p_k.

    A participation is an update that arrived. A client that is selected and dropped is absent. If
    the constraint admits fewer clients than are available, clients not drawn are absent too. So
    the intervals estimate the joint chance of being available, drawn and delivered, and the
    weights need no other factor.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Outcome
        >>> from f3ast_tff.methods.fedau import FedAU
        >>> strategy = FedAU.start([0.5, 0.5], k=2)
        >>> for t in range(1, 13):  # Client 0 takes part in every round, client 1 in every fourth.
        ...     ids = np.array([0, 1] if t % 4 == 0 else [0])
        ...     strategy.observe(t, Outcome(ids, np.ones(len(ids), bool), np.ones(len(ids))))
        >>> strategy.participation_rates().tolist()
        [1.0, 0.25]
    """

    needs_outcome: ClassVar[bool] = True

    fedau_cutoff: int = parameter(
        50, "rounds of absence that count as an interval, 0 for no limit", minimum=0
    )

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns omega_k, the number of ended intervals, and the rounds since the last ended."""
        n = world.num_clients
        return {
            "mean_interval": np.ones(n),
            "intervals_ended": np.zeros(n, np.int64),
            "interval_rounds": np.zeros(n, np.int64),
        }

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        cohort = super().weigh(now, ids, delivered)
        return Cohort(cohort.ids, cohort.weights * self.kept["mean_interval"][cohort.ids])

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """Counts the round and its participants; a round without a cohort counts too."""
        ends = np.zeros(len(self.p), bool)
        ends[outcome.ids[outcome.delivered]] = True
        mean, ended, rounds = self.kept.values()
        rounds += 1
        if self.fedau_cutoff:
            ends |= rounds >= self.fedau_cutoff
        ended[ends] += 1
        mean[ends] += (rounds[ends] - mean[ends]) / ended[ends]
        rounds[ends] = 0

    def participation_rates(self) -> np.ndarray:
        """Returns 1 / omega_k, in (0, 1]; see `BaseStrategy.participation_rates`."""
        rates: np.ndarray = 1 / self.kept["mean_interval"]
        return rates
