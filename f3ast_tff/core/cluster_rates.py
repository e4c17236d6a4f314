"""Participation rates of clusters of clients, if too little is known of each client."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import Utility
from f3ast_tff.core.rates import ParticipationRates, numerators
from f3ast_tff.core.saved_state import SavedState


class ClusterRates(SavedState):
    """One rate r_g for all clients of a cluster g, in place of r_k.

    r_g is the tracked share of cluster g's clients that take part in a round, eq. (5) with
    |S in g| / n_g for 1_S. One more pick from g lowers H = sum_k c_k / r_g(k) at the rate
    (mean of c_k over g) / r_g^2. This is the utility of all clients of g, so they tie. Weights
    p_k / r_g are unbiased if the clients of a cluster are equally often available. The state takes
    8 bytes per client and 12 per cluster. With one client per cluster r_g is r_k.

    Attributes:
        clusters: Cluster of each client, `int [N]`, in 0 .. G - 1; no cluster is empty.
        of_clusters: The tracked rates of the G clusters.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import F3AST
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> strategy = F3AST.start(np.full(6, 1 / 6), k=2, rate_clusters=2, rate_beta=0.2)
        >>> cohort = cohort_of(strategy, Round(1, np.arange(6) < 3, RoundConstraint(2)))
        >>> strategy.participation_rates().round(2).tolist()  # Clients 0, 1, 2 share a rate.
        [0.4, 0.4, 0.4, 0.27, 0.27, 0.27]
    """

    saved_as: ClassVar[str] = "rates"

    def __init__(self, clusters: np.ndarray, of_clusters: ParticipationRates) -> None:
        """Takes the clusters and their rates before the first round.

        Raises:
            ValueError: If a cluster is empty or has no rate.
        """
        rates = len(of_clusters.unscaled)
        if clusters.ndim != 1 or np.any(clusters < 0):
            raise ValueError("clusters must give a number from 0 for each client")
        sizes = np.bincount(clusters, minlength=rates)
        if len(sizes) > rates or np.any(sizes == 0):
            raise ValueError(f"{rates} rates, but clusters of sizes {sizes}")
        self.clusters, self.of_clusters = clusters, of_clusters
        self._sizes = sizes

    @property
    def beta(self) -> float:
        """Step size."""
        return self.of_clusters.beta

    @property
    def falling(self) -> bool:
        """Whether the step falls; see `ParticipationRates`."""
        return self.of_clusters.falling

    @property
    def values(self) -> np.ndarray:
        """The rate of each client's cluster, `float64 [N]`; a new array."""
        return self.of_clusters.at(self.clusters)

    def at(self, clients: np.ndarray) -> np.ndarray:
        """Returns the rates of some clients, `float64 [m]` for ids `int [m]`."""
        return self.of_clusters.at(self.clusters[clients])

    def update(self, clients: np.ndarray) -> None:
        """Moves the rates by one round in which these clients take part, distinct ids `int [m]`."""
        touched, picks = np.unique(self.clusters[clients], return_counts=True)
        self.of_clusters.update(touched, picks / self._sizes[touched])

    def utility(self, p: np.ndarray, objective: str) -> Utility:
        """Returns the utility of clients; see above, and `numerators` for the objective."""
        mean = np.bincount(self.clusters, numerators(p, objective)) / self._sizes
        by_cluster = mean / self.of_clusters.unscaled**2

        def of(part: slice) -> np.ndarray:
            found: np.ndarray = by_cluster[self.clusters[part]]
            return found

        return of

    def saved_parts(self) -> dict[str, Any]:
        """Returns the rates of the clusters."""
        return {"": self.of_clusters}
