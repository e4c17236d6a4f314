"""FedBuff (Nguyen et al., AISTATS 2022): the server steps once M updates have arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.saved_state import SavedState
from f3ast_tff.methods.fedavg import drawn_uniformly
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE, StrategyContext, require
from f3ast_tff.methods.parts.late import STALENESS_WEIGHTS, Admitted, staleness_weight
from f3ast_tff.methods.parts.method import method
from f3ast_tff.methods.parts.selecting_method import SelectingMethod
from f3ast_tff.methods.parts.strategy import Cohort, Round
from f3ast_tff.settings import parameter
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings


class Steps(SavedState):
    """The server's steps so far.

    Attributes:
        rounds: Rounds of the steps, rising, `int64 [s]`.
    """

    saved_as: ClassVar[str] = "steps"

    def __init__(self) -> None:
        """Starts before the first step."""
        self.rounds = np.zeros(0, np.int64)
        # The same with room for more, doubled when it is full.
        self._room = np.zeros(16, np.int64)

    def count(self, round_number: int) -> None:
        """Adds a step in this round."""
        steps = len(self.rounds)
        if steps == len(self._room):
            self._room = np.resize(self._room, max(16, 2 * steps))
        self._room[steps] = round_number
        self.rounds = self._room[: steps + 1]

    def since(self, asked_in: np.ndarray) -> np.ndarray:
        """Returns the steps since the start of these rounds, `int64 [m]`."""
        # A client asked in a round is sent the model before that round's step.
        return len(self.rounds) - np.searchsorted(self.rounds, asked_in)

    def saved_arrays(self) -> dict[str, np.ndarray]:
        return {"stepped": self.rounds}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.rounds = self._room = np.zeros_like(state.get("stepped", self.rounds), np.int64)
        super().restore(state)


class OnArrival(SelectingMethod):
    """Base of methods whose server steps on arrived updates and weighs their staleness itself.

    tau_k counts the server's steps between the model that client k was sent and the step that its
    update enters. Clients are drawn uniformly among the available clients without an update on its
    way.
    """

    client_share: ClassVar[str] = "equal"
    corrects: ClassVar[Mapping[str, str]] = MEAN_OF_AVAILABLE

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the rounds in which the server has stepped."""
        return {"": Steps()}

    def select(self, now: Round) -> np.ndarray:
        return drawn_uniformly(now, self.p > 0, self.seed)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Counts a step of the server if any update enters."""
        entering = ids[delivered]
        if len(entering) == 0:
            return Cohort(entering, np.zeros(0))
        asked_in = np.full(len(ids), now.number) if now.asked_in is None else now.asked_in
        steps: Steps = self.kept[""]
        staleness = steps.since(asked_in[delivered])
        steps.count(now.number)
        factor = self.factor(int(staleness.max()))
        return Cohort(entering, self.weight_of(staleness) / len(entering), factor)

    def weight_of(self, staleness: np.ndarray) -> np.ndarray:
        """Returns s(tau) of each update, `float64 [m]` for tau `int64 [m]`."""
        return staleness_weight("constant", staleness)

    def factor(self, longest: int) -> float:
        """Returns the factor of the server's rate for updates of staleness up to `longest`."""
        return 1.0

    def check(self, settings: Settings) -> None:
        """Refuses all but the method's own sum, whose updates it weighs."""
        name = component_of(self).name
        when = f"with algorithm {name}, whose weights are over the updates there"
        require("aggregation", settings.aggregation, self.aggregation, when)
        when = f"with algorithm {name}, which weighs staleness itself"
        require("staleness_weight", settings.staleness_weight, "constant", when)


@dataclass(frozen=True)
class Buffered(OnArrival):
    """Base of methods whose server waits for M updates."""

    deliveries: ClassVar[tuple[str, ...]] = ("late", "asynchronous")

    buffer_size: int = parameter(10, "M, updates that the server waits for", minimum=1)

    def admit(self, now: Round, asked_in: np.ndarray) -> Admitted:
        """The server waits for M updates."""
        full = len(asked_in) >= self.buffer_size
        return Admitted(np.full(len(asked_in), full), np.zeros(len(asked_in), bool))


@method(
    "fedbuff",
    "FedBuff",
    about="steps once M late updates have arrived, each weighed by 1 / sqrt(1 + its staleness)",
    order=30,
)
@dataclass(frozen=True)
class FedBuff(Buffered):
    """Delta = (1 / m) sum_k s(tau_k) D_k over the m >= M updates in the buffer.

    s(tau) = 1 / sqrt(1 + tau) (Sec. 4 of the paper). The divisor is the number of updates, not the
    sum of s, so old updates shorten the step. In the paper a step takes exactly M updates; here all
    arrived updates enter, and a round may bring more.
    """

    fedbuff_weight: str = parameter(
        "root",
        "s(tau), weight of an update that is tau steps old: 1, 1 / sqrt(1 + tau), 1 / (1 + tau)",
        choices=STALENESS_WEIGHTS,
    )

    def weight_of(self, staleness: np.ndarray) -> np.ndarray:
        return staleness_weight(self.fedbuff_weight, staleness)
