"""Markov clusters: whole clusters on and off together (CA-Fed, Sec. V-B, paragraph e)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability.draws import gather, smallest_integers
from f3ast_tff.availability.markov import Markov
from f3ast_tff.availability.process import AvailabilityConfig, numbers
from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError

# c = 0..4: more available, no memory; c = 5..9: less available, lambda_c = c / 10.
PAPER_PI = (0.9,) * 5 + (0.1,) * 5
PAPER_EIGENVALUES = (0.0,) * 5 + (0.5, 0.6, 0.7, 0.8, 0.9)


class MarkovClusters:
    """Each cluster follows one chain of `Markov`; all its clients are available, or none is.

    Attributes:
        cluster_of: Cluster of each client, unsigned `int [N]`.
    """

    positively_correlated = True
    periodic = False

    def __init__(
        self,
        num_clients: int,
        seed: int,
        pi: Sequence[float] | np.ndarray = PAPER_PI,
        eigenvalue: Sequence[float] | np.ndarray = PAPER_EIGENVALUES,
        cluster_of: np.ndarray | None = None,
    ) -> None:
        """Makes the clusters' chains.

        Args:
            num_clients: Number of clients N.
            seed: Seed of the draws.
            pi: Stationary probability of each cluster, `float [C]`.
            eigenvalue: Eigenvalue of each cluster, `float [C]`; see `Markov`.
            cluster_of: Cluster of each client, `int [N]` in 0..C-1; by default C blocks of ids,
                as equal as can be.

        Raises:
            ParameterError: If the numbers of values differ or a value is not allowed.
            ValueError: If `cluster_of` is not N clusters.
        """
        if not len(pi) == len(eigenvalue) > 0:
            allowed = f"must be as many values as cluster_pi has, {len(pi)}, and at least one"
            raise ParameterError("cluster_eigenvalues", _text(eigenvalue), allowed)
        try:
            self._chains = Markov(np.asarray(pi, float), np.asarray(eigenvalue, float), seed)
        except ValueError as error:
            raise ParameterError("cluster_eigenvalues", _text(eigenvalue), str(error)) from error
        if cluster_of is None:
            cluster_of = np.arange(num_clients) * len(pi) // max(num_clients, 1)
        cluster_of = np.asarray(cluster_of)
        if cluster_of.shape != (num_clients,) or not np.all(
            (cluster_of >= 0) & (cluster_of < len(pi))
        ):
            raise ValueError(f"cluster_of must be {num_clients} integers in 0..{len(pi) - 1}")
        self.num_clients = num_clients
        self.cluster_of = smallest_integers(cluster_of)

    @property
    def stationary(self) -> np.ndarray:
        """The pi of each client's cluster, `float64 [N]`."""
        return self._chains.pi[self.cluster_of]

    @property
    def eigenvalue(self) -> np.ndarray:
        """The lambda of each client's cluster, `float64 [N]`."""
        return self._chains.eigenvalue[self.cluster_of]

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        return gather(self._chains.mask(round_number), self.cluster_of)


def _text(values: Sequence[float] | np.ndarray) -> str:
    return ",".join(f"{value:g}" for value in values)


@register(
    "availability",
    "markov_clusters",
    "Markov clusters",
    about="whole clusters on and off together, each an on-off chain (CA-Fed)",
    order=8,
)
@dataclass(frozen=True)
class MarkovClustersConfig(AvailabilityConfig):
    """Configuration of `MarkovClusters`."""

    positively_correlated: ClassVar[bool] = MarkovClusters.positively_correlated

    cluster_pi: str = parameter(_text(PAPER_PI), "pi of each cluster, separated by commas")
    cluster_eigenvalues: str = parameter(
        _text(PAPER_EIGENVALUES), "lambda of each cluster, separated by commas"
    )

    def build(self, p: np.ndarray, seed: int) -> MarkovClusters:
        """See `AvailabilityConfig.build`."""
        pi = numbers("cluster_pi", self.cluster_pi)
        eigenvalue = numbers("cluster_eigenvalues", self.cluster_eigenvalues)
        return MarkovClusters(len(p), seed, pi, eigenvalue)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        self.build(np.ones(1), seed=0)
