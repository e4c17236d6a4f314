"""FedBuff (Nguyen et al., AISTATS 2022): the server steps once M updates have arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.methods.parts.algorithm import (
    MEAN_OF_AVAILABLE,
    AlgorithmConfig,
    StrategyContext,
)
from f3ast_tff.methods.parts.late import STALENESS_WEIGHTS, Buffered, staleness_weight
from f3ast_tff.methods.parts.strategy import Cohort, Round, Strategy
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.component import component_of


class FedBuff(Buffered):
    """Delta = (1 / m) sum_k s(tau_k) D_k over the m >= M updates in the buffer.

    tau_k counts the server's steps since client k was sent its model (Sec. 4 of the paper), and
    s(tau) = 1 / sqrt(1 + tau). The divisor is the number of updates, not the sum of s, so old
    updates shorten the step. Clients are drawn uniformly among the available clients without an
    update on its way. In the paper a step takes exactly M updates; here a round may bring more.
    """

    method: ClassVar[str] = "fedbuff"

    def __init__(self, num_clients: int, buffer: int, weight: str = "root", seed: int = 0) -> None:
        """Starts before the server's first step.

        Args:
            num_clients: N.
            buffer: M, at least 1.
            weight: s, one of `STALENESS_WEIGHTS`.
            seed: Seed of the draws.
        """
        super().__init__(buffer)
        self.weight, self.seed = weight, seed
        self._uniform = Uniform(np.ones(num_clients), seed)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        return self._uniform.select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`; counts a step of the server if any update enters."""
        entering = ids[delivered]
        if len(entering) == 0:
            return Cohort(entering, np.zeros(0))
        asked_in = np.full(len(ids), now.number) if now.asked_in is None else now.asked_in
        staleness = self.staleness(asked_in[delivered])
        self.step(now.number)
        weights = staleness_weight(self.weight, staleness) / len(entering)
        return Cohort(entering, weights, self.factor(int(staleness.max())))

    def factor(self, longest: int) -> float:
        """Returns the factor of the server's rate for updates of staleness up to `longest`."""
        return 1.0


@dataclass(frozen=True)
class BufferedConfig(AlgorithmConfig):
    """Base of the configurations of methods with a buffer."""

    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({"delivery": "late"})
    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    buffer_size: int = parameter(10, "M, updates that the server waits for", minimum=1)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`: the method weighs the updates of a plain sum."""
        name = component_of(self).name
        for setting, only, why in (
            ("aggregation", "sum", "whose weights are over the updates there"),
            ("staleness_weight", "constant", "which weighs staleness itself"),
        ):
            value = settings.get(setting, only)
            if value != only:
                raise ParameterError(setting, value, f"must be {only} with algorithm {name}, {why}")


@register(
    "algorithm",
    "fedbuff",
    "FedBuff",
    about="steps once M late updates have arrived, each weighed by 1 / sqrt(1 + its staleness)",
    order=30,
)
@dataclass(frozen=True)
class FedBuffConfig(BufferedConfig):
    """Configuration of `FedBuff`."""

    fedbuff_weight: str = parameter(
        "root",
        "s(tau), weight of an update that is tau steps old: 1, 1 / sqrt(1 + tau), 1 / (1 + tau)",
        choices=STALENESS_WEIGHTS,
    )

    def build(self, world: StrategyContext) -> Strategy:
        return FedBuff(world.num_clients, self.buffer_size, self.fedbuff_weight, world.seed)
