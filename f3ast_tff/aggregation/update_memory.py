"""FedLaAvg's memory on the server: the latest update of every client (Yan et al. 2020)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from f3ast_tff.errors import SettingError
from f3ast_tff.selection import Cohort


class LatestUpdates:
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
            SettingError: If the machine has less memory than all updates take.
        """
        needed = len(p) * num_weights * np.dtype(np.float32).itemsize
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > there:
            allowed = (
                f"the latest updates of so many clients take {needed / 2**30:.1f} GiB, "
                f"this machine has {there / 2**30:.1f}"
            )
            raise SettingError("num_clients", len(p), allowed)
        self._p = p
        self._first_round = first_round
        self._latest = np.zeros((len(p), num_weights), np.float32)
        # In double precision, so that rounding does not build up over the rounds.
        self._average = np.zeros(num_weights)

    @property
    def average(self) -> np.ndarray:
        """g_t, `float64 [num_weights]`; a new array."""
        return self._average.copy()

    def correction(self, round_number: int, ids: np.ndarray, learning_rate: float) -> np.ndarray:
        """Returns what the sum of p_i v_i(t) over the cohort lacks to g_t: its absent clients.

        That is g_{t-1} - sum_{i in B_t} p_i v_i(last), eq. (4); zero before `first_round`.

        Args:
            round_number: Round t.
            ids: The cohort B_t, `int [m]`.
            learning_rate: Today's client learning rate.

        Returns:
            `float32 [num_weights]`.
        """
        if round_number < self._first_round:
            return np.zeros(len(self._average), np.float32)
        absent = self._average - self._p[ids] @ self._latest[ids].astype(np.float64)
        return (learning_rate * absent).astype(np.float32)

    def store(self, ids: np.ndarray, updates: np.ndarray, learning_rate: float) -> None:
        """Notes the updates of a round.

        Args:
            ids: Clients, `int [m]`; one that is there twice has made the same update twice.
            updates: Finite, `float32 [m, num_weights]`.
            learning_rate: With which they were made.
        """
        ids, first = np.unique(ids, return_index=True)
        new = updates[first] / np.float32(learning_rate)
        self._average += self._p[ids] @ (new.astype(np.float64) - self._latest[ids])
        self._latest[ids] = new

    def without(self, round_number: int, cohort: Cohort, finite: np.ndarray) -> Cohort:
        """Returns the cohort without clients whose update is not finite.

        They keep their latest update, so that the sum over the others is still right. Before
        `first_round` weights sum to 1 (a mean), and do again.
        """
        weights = cohort.weights[finite]
        if round_number < self._first_round:
            weights = weights / weights.sum()
        return replace(cohort, ids=cohort.ids[finite], weights=weights)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the updates, `float32 [N, num_weights]`, and their average; not copies."""
        return {"latest_updates": self._latest, "average_update": self._average}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Takes back what `state` returned; shapes are the caller's to check."""
        self._latest = np.array(state["latest_updates"], np.float32)
        self._average = np.array(state["average_update"], np.float64)
