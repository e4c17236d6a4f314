"""FedAvg first, FedLaAvg later: the trick of FedLaAvg's Sec. 5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.longest_absent import LongestAbsent
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Losses, Strategy


@dataclass(frozen=True)
class Switching(BaseStrategy):
    """Selects as one strategy until a round, longest absent first from that round on.

    Whoever takes part in the first phase is noted, for the order of the second.

    Attributes:
        first: The strategy of the first phase, one for a weighted mean; its weights are divided
            by their sum, being meant here for a sum. Remembers nothing between rounds.
        then: That of the second.
        switch_round: First round of the second phase, at least 1.
    """

    aggregation: ClassVar[str] = "fedlaavg"

    first: Strategy
    then: LongestAbsent
    switch_round: int

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`."""
        if round_number >= self.switch_round:
            return self.then.select(round_number, available, feasible, losses)
        cohort = self.first.select(round_number, available, feasible, losses)
        self.then.took_part(cohort.ids, round_number)
        return Cohort(cohort.ids, cohort.weights / cohort.weights.sum())

    def received(self, round_number: int, cohort: Cohort, received: np.ndarray) -> Cohort:
        """See `BaseStrategy.received`: in the first phase, a mean over those who arrive."""
        kept = self.then.received(round_number, cohort, received)
        if round_number >= self.switch_round or len(kept) == 0:
            return kept
        return Cohort(kept.ids, kept.weights / kept.weights.sum())

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state of the second phase's strategy."""
        return self.then.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned; see `LongestAbsent.restore`."""
        self.then.restore(state)
