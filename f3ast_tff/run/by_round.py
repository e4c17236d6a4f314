"""A round of the loop whose events are those of one round: select, then deliver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from f3ast_tff.availability.round_clients import available_clients
from f3ast_tff.delivery import Delivery
from f3ast_tff.methods.parts.strategy import Losses, Round, Strategy
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.run.delivering import Payload, deliver
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.run.selecting import constraint_of, select_clients

# Losses in round t, which adds the ids of the clients asked to a list.
AskLosses = Callable[[int, list[np.ndarray]], Losses]


class PlannedRound(NamedTuple):
    """A round before the engine executes it.

    Attributes:
        num_available: Number of available clients when the round begins.
        delivery: The cohort, and the updates that arrived.
    """

    num_available: int
    delivery: RoundDelivery


class ByRound(ABC):
    """Updates between rounds, if a round selects clients once."""

    is_late: ClassVar[bool]

    def plan(self, parts: Experiment, t: int, losses: AskLosses) -> PlannedRound:
        """Selects the clients of round t and determines which updates arrive."""
        mask = available_clients(parts.availability, parts.num_clients, t)
        scored: list[np.ndarray] = []
        constraint = constraint_of(parts.constraint, t)
        now = Round(t, self.free(mask, t), constraint, losses(t, scored))
        ids = select_clients(parts.strategy, now)
        found = self.deliver(parts.delivery, parts.strategy, parts.payload, now, ids, scored)
        return PlannedRound(int(np.count_nonzero(mask)), found)

    @abstractmethod
    def free(self, available: np.ndarray, round_number: int) -> np.ndarray:
        """Returns the available clients that may be asked, `bool [N]`."""

    @abstractmethod
    def deliver(
        self,
        delivery: Delivery,
        strategy: Strategy,
        payload: Payload,
        now: Round,
        ids: np.ndarray,
        scored: Sequence[np.ndarray] = (),
    ) -> RoundDelivery:
        """See the function `deliver`."""


class InTime(ByRound):
    """Delivery within the round: nothing is on its way between rounds."""

    is_late: ClassVar[bool] = False

    def free(self, available: np.ndarray, round_number: int) -> np.ndarray:
        """Returns the available clients, `bool [N]`."""
        return available

    def deliver(
        self,
        delivery: Delivery,
        strategy: Strategy,
        payload: Payload,
        now: Round,
        ids: np.ndarray,
        scored: Sequence[np.ndarray] = (),
    ) -> RoundDelivery:
        """See the function `deliver`."""
        return deliver(delivery, strategy, payload, now, ids, scored)

    def engine_inputs(self, block: Sequence[RoundDelivery]) -> dict[str, Any]:
        """Returns further arguments of `Engine.run_rounds`: none."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the state for a checkpoint: none."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores a result of `arrays`."""
