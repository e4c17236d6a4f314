"""Fixed-policy F3AST, Algorithm 2: a static policy, its updates weighed by p / r."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.local_training import check_client_shares
from f3ast_tff.randomness import generator
from f3ast_tff.selection.policies import Policy
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Round


@dataclass(frozen=True)
class FixedPolicy(BaseStrategy):
    """Selects by a policy f^r and weighs each update by p_k / r_k, r its long-term rate (line 8).

    The weights are meant for a SUM; it is unbiased (Lemma C.1) if r is the rate that the policy
    achieves. `f3ast_tff.rate_region` gives a policy for a target rate, or for the best one.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        rates: r, `float64 [N]`, above 0 for whoever the policy can select.
        policy: f^r.
        seed: Seed of the draws.
    """

    p: np.ndarray
    rates: np.ndarray
    policy: Policy
    seed: int = 0

    def __post_init__(self) -> None:
        check_client_shares(self.p)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        if not now.feasible.counts_only:
            raise ValueError("a fixed policy knows no constraint but the number of clients")
        rng = generator(self.seed, "selection", now.number)
        return self.policy.choose(now.available, now.feasible.k, rng)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`."""
        arrived = ids[delivered]
        return Cohort(arrived, self.p[arrived] / self.rates[arrived])
