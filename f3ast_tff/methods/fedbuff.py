"""FedBuff (Nguyen et al., AISTATS 2022): the server steps once M updates have arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.methods.parts.algorithm import (
    MEAN_OF_AVAILABLE,
    AlgorithmConfig,
    StrategyContext,
    require,
)
from f3ast_tff.methods.parts.late import STALENESS_WEIGHTS, Admitted, staleness_weight
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round, Strategy
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings


class FedBuff(BaseStrategy):
    """Delta = (1 / m) sum_k s(tau_k) D_k over the m >= M updates in the buffer.

    tau_k counts the server's steps between the model that client k was sent and the step that its
    update enters (Sec. 4 of the paper), and s(tau) = 1 / sqrt(1 + tau). The divisor is the number
    of updates, not the sum of s, so old updates shorten the step. Clients are drawn uniformly among
    the available clients without an update on its way. In the paper a step takes exactly M updates;
    here all arrived updates enter, and a round may bring more.
    """

    method: ClassVar[str] = "fedbuff"
    saved_as: ClassVar[str] = "steps"

    def __init__(
        self,
        num_clients: int,
        buffer: int,
        weight: str = "root",
        seed: int = 0,
        candidates: np.ndarray | None = None,
    ) -> None:
        """Starts before the server's first step.

        Args:
            num_clients: N.
            buffer: M, at least 1.
            weight: s, one of `STALENESS_WEIGHTS`.
            seed: Seed of the draws.
            candidates: See `Uniform`.
        """
        self.buffer, self.weight, self.seed = buffer, weight, seed
        self._uniform = Uniform(np.ones(num_clients), seed, candidates)
        # Rounds in which the server has stepped, rising.
        self._stepped = np.zeros(0, np.int64)
        # The same with room for more, doubled when it is full.
        self._room = np.zeros(16, np.int64)

    def select(self, now: Round) -> np.ndarray:
        return self._uniform.select(now)

    def admit(self, now: Round, asked_in: np.ndarray) -> Admitted:
        """The server waits for M updates."""
        full = len(asked_in) >= self.buffer
        return Admitted(np.full(len(asked_in), full), np.zeros(len(asked_in), bool))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Counts a step of the server if any update enters."""
        entering = ids[delivered]
        if len(entering) == 0:
            return Cohort(entering, np.zeros(0))
        asked_in = np.full(len(ids), now.number) if now.asked_in is None else now.asked_in
        # A client asked in a round is sent the model before that round's step.
        staleness = len(self._stepped) - np.searchsorted(self._stepped, asked_in[delivered])
        self._count_step(now.number)
        weights = self.weight_of(staleness) / len(entering)
        return Cohort(entering, weights, self.factor(int(staleness.max())))

    def _count_step(self, round_number: int) -> None:
        steps = len(self._stepped)
        if steps == len(self._room):
            self._room = np.resize(self._room, max(16, 2 * steps))
        self._room[steps] = round_number
        self._stepped = self._room[: steps + 1]

    def weight_of(self, staleness: np.ndarray) -> np.ndarray:
        """Returns s(tau) of each update, `float64 [m]` for tau `int64 [m]`."""
        return staleness_weight(self.weight, staleness)

    def factor(self, longest: int) -> float:
        """Returns the factor of the server's rate for updates of staleness up to `longest`."""
        return 1.0

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the rounds in which the server has stepped."""
        return {"stepped": self._stepped}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._stepped = self._room = np.zeros_like(state.get("stepped", self._stepped), np.int64)
        super().restore(state)


@dataclass(frozen=True)
class StalenessConfig(AlgorithmConfig):
    """Base of the configurations of methods that weigh staleness themselves."""

    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def check(self, settings: Settings) -> None:
        """Refuses all but the method's own sum, whose updates it weighs."""
        name = component_of(self).name
        when = f"with algorithm {name}, whose weights are over the updates there"
        require("aggregation", settings.aggregation, self.aggregation, when)
        when = f"with algorithm {name}, which weighs staleness itself"
        require("staleness_weight", settings.staleness_weight, "constant", when)


@dataclass(frozen=True)
class BufferedConfig(StalenessConfig):
    """Base of the configurations of methods with a buffer."""

    deliveries: ClassVar[tuple[str, ...]] = ("late", "asynchronous")

    buffer_size: int = parameter(10, "M, updates that the server waits for", minimum=1)


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
        n, with_data = world.num_clients, world.p > 0
        return FedBuff(n, self.buffer_size, self.fedbuff_weight, world.seed, with_data)
