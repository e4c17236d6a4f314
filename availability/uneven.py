"""Uneven: the more data, the rarer (Sec. IV-b, model 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.process import AvailabilityConfig, IndependentAvailability
from f3ast_tff.components import register
from f3ast_tff.errors import ParameterError


class Uneven(IndependentAvailability):
    """q_k proportional to 1 / p_k; the client with the least data is always available.

    With equal shares, as those of CIFAR-100's clients, everybody is always available.
    """

    def __init__(self, p: np.ndarray, seed: int) -> None:
        """Makes the process.

        Args:
            p: Client shares p_k, `float [N]`, each above 0.
            seed: Seed of the draws.

        Raises:
            ParameterError: If a share is not above 0.
        """
        p = np.asarray(p, np.float64)
        wrong = np.flatnonzero(~(p > 0))
        if len(wrong):
            k = wrong[0]
            allowed = f"needs every p_k above 0, as q_k is proportional to 1 / p_k; p_{k} is {p[k]}"
            raise ParameterError("availability", "uneven", allowed)
        super().__init__(p.min() / p, seed)


@register(
    "availability",
    "uneven",
    "Uneven",
    about="q_k proportional to 1 / p_k: the more data, the rarer",
    order=4,
)
@dataclass(frozen=True)
class UnevenConfig(AvailabilityConfig):
    """Configuration of `Uneven`."""

    def build(self, p: np.ndarray, seed: int) -> Uneven:
        """See `AvailabilityConfig.build`."""
        return Uneven(p, seed)
