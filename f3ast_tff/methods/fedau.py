"""FedAU (Wang and Ji, ICLR 2024): p_k times the mean interval between participations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from f3ast_tff.core.local_training import renewed_shares
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, AlgorithmConfig, StrategyContext
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy
from f3ast_tff.settings import parameter, register


@dataclass
class FedAU(AllAvailable):
    """Takes all available clients with weights p_k omega_k, for a SUM.

    omega_k is the mean length of client k's participation intervals so far; before the first
    interval has ended it is 1. It estimates 1 / (chance of participation) from participation only.
    The length of an interval is the number of rounds from the last participation, exclusive, to
    this one, inclusive; the first interval counts from the start of the run. An interval also ends
    after `cutoff` rounds in a row without the client. An interval that ends in round t counts from
    round t + 1 on. The paper has 1 / N for p_k.

    A participation is an update that arrived. A client that is selected and dropped is absent. If
    the constraint admits fewer clients than are available, clients not drawn are absent too. So
    the intervals estimate the joint chance of being available, drawn and delivered, and the
    weights need no other factor.

    Attributes:
        cutoff: K_cut of the paper (its K), at least 1; `None` for no limit.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Outcome
        >>> from f3ast_tff.methods.fedau import FedAU
        >>> strategy = FedAU(np.full(2, 0.5))
        >>> for t in range(1, 13):  # Client 0 takes part in every round, client 1 in every fourth.
        ...     ids = np.array([0, 1] if t % 4 == 0 else [0])
        ...     strategy.observe(t, Outcome(ids, np.ones(len(ids), bool), np.ones(len(ids))))
        >>> strategy.participation_rates().tolist()
        [1.0, 0.25]
    """

    method: ClassVar[str] = "fedau"
    needs_outcome: ClassVar[bool] = True

    cutoff: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.p)
        # omega_k, the number of ended intervals, and the rounds since the last interval ended.
        self._mean = np.ones(n)
        self._ended, self._rounds = np.zeros((2, n), np.int64)

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> FedAU:
        """The first interval of a client that joins starts now."""
        renewed = replace(self, p=renewed_shares(p, len(self.p)))
        renewed.restore(self.state())
        renewed._mean[joined] = 1
        renewed._ended[joined] = 0
        renewed._rounds[joined] = 0
        return renewed

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        cohort = super().weigh(now, ids, delivered)
        return Cohort(cohort.ids, cohort.weights * self._mean[cohort.ids])

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """Counts the round and its participants; a round without a cohort counts too."""
        ends = np.zeros(len(self.p), bool)
        ends[outcome.ids[outcome.delivered]] = True
        self._rounds[:] += 1
        if self.cutoff is not None:
            ends |= self._rounds >= self.cutoff
        self._ended[ends] += 1
        self._mean[ends] += (self._rounds[ends] - self._mean[ends]) / self._ended[ends]
        self._rounds[ends] = 0

    def participation_rates(self) -> np.ndarray:
        """Returns 1 / omega_k, in (0, 1]; see `BaseStrategy.participation_rates`."""
        return 1 / self._mean

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the three arrays of numbers per client."""
        return {
            "mean_interval": self._mean,
            "intervals_ended": self._ended,
            "interval_rounds": self._rounds,
        }


@register(
    "algorithm",
    "fedau",
    "FedAU",
    about="takes all available clients (or K of them), weighs by p times the mean interval "
    "between a client's participations",
    order=17,
)
@dataclass(frozen=True)
class FedAUConfig(AlgorithmConfig):
    """Configuration of `FedAU`."""

    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    fedau_cutoff: int = parameter(
        50, "rounds of absence that count as an interval, 0 for no limit", minimum=0
    )

    def build(self, world: StrategyContext) -> Strategy:
        return FedAU(world.p, world.seed, self.fedau_cutoff or None)
