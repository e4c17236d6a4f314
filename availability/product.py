"""Product: available where all of several processes say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from f3ast_tff.availability.combined import CombinatorConfig, common_size, stationary_of
from f3ast_tff.availability.process import AvailabilityProcess
from f3ast_tff.components import register
from f3ast_tff.selection.population import Population


class Product:
    """For example reachable over the network, and charging."""

    # Not known for every choice of parts; see `AvailabilityProcess`.
    positively_correlated = True

    def __init__(self, parts: Sequence[AvailabilityProcess]) -> None:
        """Takes the parts.

        Args:
            parts: Processes over the same clients, each made with a seed of its own: see
                `combined.part_seed`.

        Raises:
            ValueError: If there is no part, or their numbers of clients differ.
        """
        self.num_clients = common_size(parts)
        self.parts = tuple(parts)
        self.periodic = any(part.periodic for part in parts)

    @property
    def stationary(self) -> np.ndarray | None:
        """The parts' product; `None` for two periodic parts, which may be in or out of step."""
        known = stationary_of(self.parts)
        if known is None or sum(part.periodic for part in self.parts) > 1:
            return None
        return reduce(np.multiply, known)

    def present(self, round_number: int) -> np.ndarray:
        """See `Population.present`: present where all parts say so."""
        present = np.ones(self.num_clients, bool)
        for part in self.parts:
            if isinstance(part, Population):
                present &= part.present(round_number)
        return present

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        mask = self.parts[0].mask(round_number)
        for part in self.parts[1:]:
            mask &= part.mask(round_number)
        return mask


@register(
    "availability", "product", "Product", about="available where all of its parts say so", order=11
)
@dataclass(frozen=True)
class ProductConfig(CombinatorConfig):
    """Configuration of `Product`."""

    def build(self, p: np.ndarray, seed: int, labels: np.ndarray | None = None) -> Product:
        """See `AvailabilityConfig.build`."""
        return Product(self.build_parts(p, seed, labels))
