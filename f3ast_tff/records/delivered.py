"""A round before the engine executes it: who was there, who was asked, and what arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.methods.parts.strategy import Cohort


@dataclass(frozen=True)
class LateRound:
    """A round in which updates may be late.

    Attributes:
        ids: Selected clients, then clients of earlier rounds with an arrived update, `int64 [m]`.
        entered: Whether the update of each client enters the aggregate, `bool [m]`.
        asked_in: Round in which each client was asked, `int64 [m]`.
        lost: Number of clients, selected now or before, whose updates are lost since this round.
        in_flight: Number of updates that the engine keeps after the round.
    """

    ids: np.ndarray
    entered: np.ndarray
    asked_in: np.ndarray
    lost: int
    in_flight: int

    def staleness(self, round_number: int) -> np.ndarray:
        """Returns tau, the rounds since each entering update was asked for, `int64 [e]`."""
        return round_number - self.asked_in[self.entered]


@dataclass(frozen=True)
class RoundDelivery:
    """A round's cohort, and the updates that arrived.

    Attributes:
        num_available: Number of available clients when the round begins.
        asked: The selected clients, whether or not their updates arrive, `int64 [m]`.
        delivered: Whether each client's update arrived and counts, `bool [m]`; all false in a
            failed round. If updates may be late, whether it enters in this same round.
        cohort: The delivered clients, which train, with the weights of their updates; a
            `LateCohort` if updates may be late.
        seconds: Duration of the round; NaN without a clock.
        bytes_down: Bytes that the server sent in the round.
        bytes_up: Bytes that the server received, also in a failed round.
        failed: Whether too few updates arrived for the round to count, see `Arrivals`.
        late: The updates under way, if updates may be late.
    """

    num_available: int
    asked: np.ndarray
    delivered: np.ndarray
    cohort: Cohort
    seconds: float
    bytes_down: int
    bytes_up: int
    failed: bool = False
    late: LateRound | None = None
