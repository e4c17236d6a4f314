"""Longest absent first, the selection of FedLaAvg (Yan et al. 2020, Algorithm 1, lines 5-7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from f3ast_tff.local_training import check_client_shares
from f3ast_tff.randomness import generator
from f3ast_tff.saved_state import check_saved
from f3ast_tff.selection.choosing import admit_by_priority
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Losses


@dataclass(frozen=True)
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
    # Round of the last participation, 0 for never.
    _last: np.ndarray = field(init=False, repr=False, compare=False)
    # What it was before this round of those who take part in it.
    _before: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_client_shares(self.p)
        object.__setattr__(self, "_last", np.zeros(len(self.p), np.int64))
        object.__setattr__(self, "_before", np.zeros(0, np.int64))

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`; also notes who takes part.

        Raises:
            ValueError: If round t is not after those selected for so far.
        """
        rng = generator(self.seed, "selection", round_number) if self.random_ties else None
        ids = admit_by_priority(
            lambda part: self._absence(part, round_number), available, feasible, rng
        )
        self.took_part(ids, round_number)
        return Cohort(ids, self.p[ids])

    def took_part(self, ids: np.ndarray, round_number: int) -> None:
        """Notes that these clients take part in a round, for one that was selected elsewhere."""
        object.__setattr__(self, "_before", self._last[ids])
        self._last[ids] = round_number

    def received(self, round_number: int, cohort: Cohort, received: np.ndarray) -> Cohort:
        """See `BaseStrategy.received`: a client whose update is lost has not taken part."""
        self._last[cohort.ids[~received]] = self._before[~received]
        return super().received(round_number, cohort, received)

    def _absence(self, part: slice, round_number: int) -> np.ndarray:
        absence = round_number - self._last[part]
        if np.any(absence <= 0):
            raise ValueError(f"round {round_number}: a later or the same one was already selected")
        return absence

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
