"""AdaFed (Tan et al. 2022), full participation: p / pi, normalised over who is available."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.selection.cohort import Cohort
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.strategy import Losses
from f3ast_tff.selection.unbiased import Unbiased


@dataclass(frozen=True)
class AdaFed(Unbiased):
    """Takes all available clients with q_k proportional to p_k / pi_k, of sum 1 in every round.

    CA-Fed, Sec. V-A c, whose experiments and code cover this case alone; AdaFed's own choice of how
    many clients to sample is not here. Where K is short, the weights of those drawn sum to 1. They
    are meant for a SUM; a normalised mean is the same.
    """

    def select(
        self, round_number: int, available: np.ndarray, k: int | Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`; also observes the round."""
        cohort = super().select(round_number, available, k, losses)
        if len(cohort) == 0:
            return cohort
        return Cohort(cohort.ids, cohort.weights / np.sum(cohort.weights))
