"""F3AST with a rate per cluster of clients, if too little is known of each client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import best_feasible
from f3ast_tff.core.local_training import check_client_shares
from f3ast_tff.core.rates import ParticipationRates, bounded, check_weight_bound, numerators
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round


@dataclass
class ClusterF3AST(BaseStrategy):
    """Algorithm 1 with one rate shared by the clients of a cluster.

    r_g is the tracked share of cluster g's clients that take part in a round, eq. (5) with
    |S in g| / n_g for 1_S. It replaces r_k for every client of the cluster. One more pick from g
    lowers H = sum_k c_k / r_g(k) at the rate (mean of c_k over g) / r_g^2. This is the utility of
    all clients of g, so they tie; ties are broken at random. Weights p_k / r_g are unbiased if the
    clients of a cluster are equally often available. The state takes 8 bytes per client and 12 per
    cluster.

    With one client per cluster this is `F3AST`.

    Attributes:
        p: Client shares p_k, `float64 [N]`; if only a cluster's share is known, the share over n_g.
        clusters: Cluster of each client, `int [N]`, in 0 .. G - 1; no cluster is empty.
        rates: The tracked rates of the G clusters, moved by every `weigh`.
        objective: `"p_squared"` or `"p"`, the case of eq. (3).
        seed: Seed of the tie-breaks.
        weight_bound: Largest p_k / r_g of a selected client, above 0; `None` for no bound. A bound
            that takes effect biases the aggregate.
        follow: See `F3AST`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import ClusterF3AST
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> strategy = ClusterF3AST.start(np.full(6, 1 / 6), k=2, rate_clusters=2, rate_beta=0.2)
        >>> cohort = cohort_of(strategy, Round(1, np.arange(6) < 3, RoundConstraint(2)))
        >>> strategy.participation_rates().round(2).tolist()  # Clients 0, 1, 2 share a rate.
        [0.4, 0.4, 0.4, 0.27, 0.27, 0.27]
    """

    method: ClassVar[str] = "f3ast"

    p: np.ndarray
    clusters: np.ndarray
    rates: ParticipationRates
    objective: str = "p_squared"
    seed: int = 0
    weight_bound: float | None = None
    follow: str = "delivered"

    def __post_init__(self) -> None:
        check_client_shares(self.p)
        check_weight_bound(self.weight_bound)
        if self.clusters.shape != self.p.shape or np.any(self.clusters < 0):
            raise ValueError("clusters must give a number from 0 for each client")
        sizes = np.bincount(self.clusters, minlength=len(self.rates.unscaled))
        if len(sizes) > len(self.rates.unscaled) or np.any(sizes == 0):
            raise ValueError(f"{len(self.rates.unscaled)} rates, but clusters of sizes {sizes}")
        total = np.bincount(self.clusters, numerators(self.p, self.objective))
        self._sizes, self._mean_c = sizes, total / sizes

    def select(self, now: Round) -> np.ndarray:
        by_cluster = self._mean_c / self.rates.unscaled**2

        def utility(part: slice) -> np.ndarray:
            return by_cluster[self.clusters[part]]

        rng = now.generator(self.seed)
        return best_feasible(utility, now.available, now.constraint, rng)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """r_g weighs the delivered updates and counts only these."""
        cohort_ids = ids[delivered]
        follows = cohort_ids if self.follow == "delivered" else now.asked_now(ids)
        touched, shares = self._shares(follows)
        self.rates.update(touched, shares)
        weights = self.p[cohort_ids] / self.rates.at(self.clusters[cohort_ids])
        return Cohort(cohort_ids, bounded(weights, self.weight_bound))

    def _shares(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the clusters of these clients, and the share of each cluster that is in `ids`."""
        touched, picks = np.unique(self.clusters[ids], return_counts=True)
        return touched, picks / self._sizes[touched]

    def participation_rates(self) -> np.ndarray:
        return self.rates.at(self.clusters)

    def saved_parts(self) -> dict[str, Any]:
        """Returns the rates of the clusters."""
        return {"": self.rates}
