"""FedLaAvg: the model follows the average of all clients' latest updates (Yan et al. 2020)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from f3ast_tff.aggregation.aggregation import Aggregation, AggregationConfig
from f3ast_tff.components import Derived, parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.selection import Cohort


class UpdateMemory:
    """Latest update of every client and their average g_t, for eqs. (4) to (6).

    With multiple local steps (App. E) a client's "gradient" is its update. It is kept over the
    client learning rate of its round, so that g_t is in gradients and eq. (5) moves the model by
    today's rate times g_t, also where the rate decays. A client that has not taken part yet
    counts as zero.

    Held in host memory, N times the size of the model; the operating system gives a client's part
    when it first takes part.
    """

    def __init__(self, p: np.ndarray, num_weights: int, first_round: int = 1) -> None:
        """Starts with zeros.

        Args:
            p: Weight of each client in the average, `float64 [N]`.
            num_weights: Numbers in an update.
            first_round: Round from which the model follows the average; before it updates are
                noted alone.

        Raises:
            ParameterError: If the machine has less memory than all updates take.
        """
        needed = len(p) * num_weights * np.dtype(np.float32).itemsize
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > there:
            allowed = (
                f"the latest updates of these clients take {needed / 2**30:.1f} GiB, "
                f"this machine has {there / 2**30:.1f}"
            )
            raise ParameterError("num_clients", len(p), allowed)
        self._p = p
        self._first_round = first_round
        self._remembered = np.zeros((len(p), num_weights), np.float32)
        # In double precision, so that rounding does not build up over the rounds.
        self._average = np.zeros(num_weights)

    @property
    def average(self) -> np.ndarray:
        """g_t, `float64 [num_weights]`; a new array."""
        return self._average.copy()

    def correction(self, round_number: int, ids: np.ndarray, learning_rate: float) -> np.ndarray:
        """See `Memory.correction`: the contribution of the clients that are not in the cohort B_t.

        That is g_{t-1} - sum_{i in B_t} p_i v_i(last), eq. (4); zero before `first_round`.
        """
        if round_number < self._first_round:
            return np.zeros(len(self._average), np.float32)
        absent = self._average - self._p[ids] @ self._remembered[ids].astype(np.float64)
        return (learning_rate * absent).astype(np.float32)

    def steps_when_empty(self, round_number: int) -> bool:
        """See `Memory.steps_when_empty`: from `first_round` on, once there is an update.

        Where B_t is empty eq. (4) says g_t = g_{t-1}, and eq. (5) still moves the model by today's
        rate times g_t. B_t are those whose update came back: a round whose clients were all
        dropped is such a round too.
        """
        return round_number >= self._first_round and bool(np.any(self._average))

    def store(self, ids: np.ndarray, updates: np.ndarray, learning_rate: float) -> None:
        """See `Memory.store`."""
        ids, first = np.unique(ids, return_index=True)
        new = updates[first] / np.float32(learning_rate)
        self._average += self._p[ids] @ (new.astype(np.float64) - self._remembered[ids])
        self._remembered[ids] = new

    def without(self, round_number: int, cohort: Cohort, finite: np.ndarray) -> Cohort:
        """See `Memory.without`.

        Clients left out keep their latest update, so that the sum over the others is still right.
        Before `first_round` weights sum to 1 (a mean), and do again.
        """
        weights = cohort.weights[finite]
        if round_number < self._first_round:
            weights = weights / weights.sum()
        return replace(cohort, ids=cohort.ids[finite], weights=weights)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the updates, `float32 [N, num_weights]`, and their average; not copies."""
        return {"remembered_updates": self._remembered, "average_update": self._average}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """See `Memory.restore`."""
        self._remembered = np.array(state["remembered_updates"], np.float32)
        self._average = np.array(state["average_update"], np.float64)


@dataclass(frozen=True)
class FedLaAvg(Aggregation):
    """Delta = g_t, the average of all clients' latest updates, once it is followed.

    Attributes:
        memory_from_round: Round from which the model follows it; before, Delta is the cohort's sum.
    """

    needs_memory: ClassVar[bool] = True

    memory_from_round: int = 1

    def memory(self, p: np.ndarray, num_weights: int) -> UpdateMemory:
        """See `Aggregation.memory`."""
        return UpdateMemory(p, num_weights, self.memory_from_round)


@register(
    "aggregation", "fedlaavg", "FedLaAvg", about="average of all clients' latest updates", order=3
)
@dataclass(frozen=True)
class FedLaAvgConfig(AggregationConfig):
    """Configuration of `FedLaAvg`."""

    splits: ClassVar[bool] = False
    # It counts on weights p_k.
    takes: ClassVar[tuple[str, ...]] = ()

    memory_from_round: int = parameter(
        Derived(lambda known: known.get("switch_round", 1), "1, or switch_round"),
        "first round in which the model follows the average; updates are noted from round 1",
        minimum=1,
    )

    def build(self) -> FedLaAvg:
        """See `AggregationConfig.build`."""
        return FedLaAvg(self.memory_from_round)
