"""A strategy over a population that changes: shares p_k(t) among those present in the round."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.selection.population import Population, present_clients, renewed_shares
from f3ast_tff.selection.strategy import Cohort, Round, Strategy
from f3ast_tff.selection.wrapped import Wrapped


@runtime_checkable
class Renewable(Strategy, Protocol):
    """A strategy that can follow clients that join and leave."""

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> Renewable:
        """Returns the strategy for another population, with all it remembers of those who stay.

        Args:
            p: Client shares p_k(t), `float64 [N]`, 0 for those who are not present, of sum 1.
            joined: Ids of those who were not present in the round before, `int64 [m]`: what is
                remembered of them is forgotten.
            initial_rate: Participation rate to start them with, in (0, 1].
        """
        ...


class OfThosePresent(Wrapped):
    """Gives a strategy p_k(t) = p_k / sum of p_j over those present, in every round.

    Who joins in round t starts at the rate min(1, K / N_t), K the mean of K_t and N_t the number
    of those present; those of round 1 do, too. Nothing is remembered of who has left: one that
    came back would start again. Who joins and who leaves follows from (seed, round), so that the
    strategy's state is all there is to save.

    In a round in which nobody is present the shares stay as they are.
    """

    def __init__(
        self, strategy: Strategy, population: Population, p: np.ndarray, mean_k: float
    ) -> None:
        """Takes the strategy, before its first round.

        Args:
            strategy: The strategy, a `Renewable` one.
            population: Who is present when.
            p: Client shares among all clients, `float64 [N]`.
            mean_k: Long-run mean of K_t.

        Raises:
            ParameterError: If the strategy cannot follow clients that join and leave.
        """
        if not isinstance(strategy, Renewable):
            allowed = f"{type(strategy).__name__} does not know clients that join and leave"
            raise ParameterError("client_share_of", "present", allowed)
        super().__init__(strategy)
        self._renewable: Renewable = strategy
        self._population = population
        self._p = p
        self._mean_k = mean_k
        # The last round weighed and its clients, so that the next one is compared with no draw.
        self._last: tuple[int, np.ndarray] | None = None
        self._next: tuple[int, np.ndarray, Renewable] | None = None
        # So that r(0) is what those of round 1 start with.
        self._move_to(1)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        return self._entering(now.number)[2].select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`."""
        self._move_to(now.number)
        return super().weigh(now, ids, delivered)

    def _move_to(self, round_number: int) -> None:
        _, present, renewed = self._entering(round_number)
        self.strategy = self._renewable = renewed
        self._last, self._next = (round_number, present), None

    def _entering(self, round_number: int) -> tuple[int, np.ndarray, Renewable]:
        """Returns a round, the clients of it, and the strategy with their shares."""
        if self._next is None or self._next[0] != round_number:
            present = self._present(round_number)
            self._next = round_number, present, self._renewed(round_number, present)
        return self._next

    def _renewed(self, round_number: int, present: np.ndarray) -> Renewable:
        last = self._last
        follows = last is not None and round_number - last[0] in (0, 1)
        before = last[1] if last and follows else self._present(round_number - 1)
        shares = renewed_shares(self._p, present)
        if shares is None or (follows and np.array_equal(present, before)):
            return self._renewable
        rate = min(1.0, self._mean_k / np.count_nonzero(present))
        return self._renewable.renewed(shares, np.flatnonzero(present & ~before), rate)

    def _present(self, round_number: int) -> np.ndarray:
        n = len(self._p)
        if round_number < 1:
            return np.zeros(n, bool)
        return present_clients(self._population, n, round_number)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Strategy.restore`."""
        super().restore(state)
        self._last = self._next = None
