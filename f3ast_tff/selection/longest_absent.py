"""Longest absent first, the selection of FedLaAvg (Yan et al. 2020, Algorithm 1, lines 5-7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.local_training import check_client_shares
from f3ast_tff.randomness import generator
from f3ast_tff.saved_state import check_saved
from f3ast_tff.selection.choosing import admit_by_priority
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Round


@dataclass
class LongestAbsent(BaseStrategy):
    """Takes the K available clients whose last participation is the longest ago.

    Those that never took part come first. With everybody available and K a divisor of N, every
    client takes part once in N / K rounds. FedLaAvg's weights are p_k, for the SUM over the cohort
    of how much each client's update differs from its last one (eq. (4) with the objectives scaled
    by N p_k, Sec. 2). Whose update is lost has not taken part. A constraint of
    another kind lets clients in in that order.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        random_ties: Whether clients absent equally long are ordered at random; else the lowest id
            wins, as in the released code. The paper does not say.
        seed: Seed of the tie-breaks.
    """

    aggregation: ClassVar[str] = "fedlaavg"

    p: np.ndarray
    random_ties: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)
        # Round of the last participation, 0 for never.
        self._last = np.zeros(len(self.p), np.int64)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        rng = generator(self.seed, "selection", now.number) if self.random_ties else None
        return admit_by_priority(
            lambda part: now.number - self._last[part], now.available, now.feasible, rng
        )

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`; a client whose update is lost has not taken part."""
        arrived = ids[delivered]
        self.took_part(arrived, now.number)
        return Cohort(arrived, self.p[arrived])

    def took_part(self, ids: np.ndarray, round_number: int) -> None:
        """Notes that these clients take part in a round."""
        self._last[ids] = round_number

    @property
    def last_participation(self) -> np.ndarray:
        """Round in which each client last took part, 0 for never, `int64 [N]`; a new array."""
        return self._last.copy()

    def state(self) -> dict[str, np.ndarray]:
        """Returns the round of each client's last participation."""
        return {"last_participation": self.last_participation}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned.

        Raises:
            ValueError: If it is missing, or of another number of clients.
        """
        check_saved(state, {"last_participation": self._last}, "selections")
        self._last[:] = state["last_participation"]
