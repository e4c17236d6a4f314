"""FedAvg first, FedLaAvg later: the trick of FedLaAvg's Sec. 5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.selection.longest_absent import LongestAbsent
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Round, Strategy


@dataclass
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

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        return self._phase(now).select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`; in the first phase, a mean over the clients delivered."""
        cohort = self._phase(now).weigh(now, ids, delivered)
        if now.number >= self.switch_round:
            return cohort
        self.then.took_part(cohort.ids, now.number)
        return Cohort(cohort.ids, cohort.weights / cohort.weights.sum())

    def _phase(self, now: Round) -> Strategy:
        return self.then if now.number >= self.switch_round else self.first

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state of the second phase's strategy."""
        return self.then.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned; see `LongestAbsent.restore`."""
        self.then.restore(state)
