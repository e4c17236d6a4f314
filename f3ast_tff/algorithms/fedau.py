"""FedAU (Wang and Ji, ICLR 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from f3ast_tff.algorithms.algorithm import AlgorithmConfig, World
from f3ast_tff.algorithms.shared import MEAN_OF_AVAILABLE
from f3ast_tff.components import parameter, register
from f3ast_tff.selection import FedAU, Strategy


@register(
    "algorithm",
    "fedau",
    "FedAU",
    about="takes all available clients (or K of them), weighs by p times the mean interval "
    "between a client's participations",
    order=17,
)
@dataclass(frozen=True)
class FedAUConfig(AlgorithmConfig):
    """Configuration of `FedAU`."""

    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    fedau_cutoff: int = parameter(
        50, "rounds of absence that count as an interval, 0 for no limit", minimum=0
    )

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        return FedAU(world.p, world.seed, self.fedau_cutoff or None)
