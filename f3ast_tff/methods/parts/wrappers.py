"""Wrappers of any strategy: a minimum separation, and clients that join and leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from f3ast_tff.availability.round_clients import Population, present_clients
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.saved_state import SavedState
from f3ast_tff.methods.parts.late import Admitted, admitted_by
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy, facts_of


class Wrapped(SavedState, Strategy):
    """Delegates to another strategy, except for `select` and `weigh`, which a subclass defines.

    Attributes:
        strategy: The strategy inside.
        may_select: See `BaseStrategy.may_select`.
    """

    def __init__(self, strategy: Strategy) -> None:
        """Takes the strategy, before its first round."""
        self.strategy = strategy
        self.may_select = frozenset(facts_of(strategy).may_select)

    @property
    def needs_losses(self) -> bool:
        return self.strategy.needs_losses

    @property
    def needs_outcome(self) -> bool:
        return self.strategy.needs_outcome

    def admit(self, now: Round, asked_in: np.ndarray) -> Admitted:
        """Returns the strategy's choice among arrived updates; see `admitted_by`."""
        return admitted_by(self.strategy, now, asked_in)

    def observe(self, round_number: int, outcome: Outcome) -> None:
        self.strategy.observe(round_number, outcome)

    def participation_rates(self) -> np.ndarray | None:
        """The strategy's rates, if it learns any."""
        return facts_of(self.strategy).participation_rates()

    def saved_parts(self) -> dict[str, Any]:
        """Returns the strategy."""
        return {"": self.strategy}


class Separated(Wrapped):
    """A selected client rests for R rounds: selected in t, it is unavailable in t + 1 .. t + R.

    The strategy inside sees resting clients as unavailable. F3AST's rates count the rounds in which
    a client takes part, and so stay right. A method that knows pi_k ignores the rest, so its
    weights p_k / pi_k are too small; one that estimates pi_k counts resting as absence.
    """

    saved_as: ClassVar[str] = "selections"

    def __init__(self, strategy: Strategy, separation: int, num_clients: int) -> None:
        """Takes the strategy, before its first round.

        Args:
            strategy: Strategy that selects among the rested clients.
            separation: R, rounds between two selections, at least 1.
            num_clients: Number of clients N.
        """
        super().__init__(strategy)
        self._separation = separation
        # First round in which each client can be selected.
        self._free = np.zeros(num_clients, np.int64)

    def select(self, now: Round) -> np.ndarray:
        return self.strategy.select(self._rested(now))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """A selected client rests even if its update is lost."""
        cohort = self.strategy.weigh(self._rested(now), ids, delivered)
        self._free[now.asked_now(ids)] = now.number + self._separation + 1
        return cohort

    def _rested(self, now: Round) -> Round:
        return replace(now, available=now.available & (self._free <= now.number))

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns each client's first free round."""
        return {"free_from": self._free}


@runtime_checkable
class Renewable(Strategy, Protocol):
    """A strategy that can follow clients that join and leave."""

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> Renewable:
        """Returns the strategy for a new population; it remembers the clients that stay.

        Args:
            p: Client shares p_k(t) of sum 1, `float64 [N]`, 0 for absent clients.
            joined: Ids of clients absent in the round before, `int64 [m]`; they are forgotten.
            initial_rate: Their first participation rate, in (0, 1].
        """
        ...


class OfThosePresent(Wrapped):
    """Gives a strategy p_k(t) = p_k / sum of p_j over present clients in every round.

    A client that joins in round t, or is present in round 1, starts at the rate min(1, K / N_t).
    K is the mean of K_t, N_t the number of present clients. A client that leaves is forgotten.
    Arrivals and departures follow from (seed, round), so the only state is the strategy's. In a
    round without present clients the shares stay.
    """

    strategy: Renewable

    def __init__(
        self, strategy: Strategy, population: Population, p: np.ndarray, mean_k: float
    ) -> None:
        """Takes the strategy, before its first round.

        Args:
            strategy: A `Renewable` strategy.
            population: Clients present by round.
            p: Client shares among all clients, `float64 [N]`.
            mean_k: Long-run mean of K_t.

        Raises:
            ParameterError: If the strategy cannot follow clients that join and leave.
        """
        if not isinstance(strategy, Renewable):
            allowed = f"{type(strategy).__name__} does not know clients that join and leave"
            raise ParameterError("client_share_of", "present", allowed)
        super().__init__(strategy)
        self._population = population
        self._p = p
        self._mean_k = mean_k
        # The round whose shares the strategy has.
        self._round = 0
        # Sets r(0) for the clients of round 1.
        self._move_to(1)

    def select(self, now: Round) -> np.ndarray:
        return self._renewed(now.number).select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        self._move_to(now.number)
        return self.strategy.weigh(now, ids, delivered)

    def _move_to(self, round_number: int) -> None:
        self.strategy, self._round = self._renewed(round_number), round_number

    def _renewed(self, round_number: int) -> Renewable:
        """Returns the strategy with the shares of a round."""
        if round_number == self._round:
            return self.strategy
        n = len(self._p)
        present = present_clients(self._population, n, round_number)
        before = present_clients(self._population, n, round_number - 1)
        if round_number == self._round + 1 and np.array_equal(present, before):
            return self.strategy
        shares, joined = np.where(present, self._p, 0.0), present & ~before
        # In a round without shares those of the last round with any stay; a restored strategy may
        # have others.
        last = round_number
        while not shares.sum() > 0:
            if last in (1, self._round + 1):
                return self.strategy
            last, joined = last - 1, np.zeros(n, bool)
            shares = np.where(present_clients(self._population, n, last), self._p, 0.0)
        rate = min(1.0, self._mean_k / max(1, int(np.count_nonzero(present))))
        return self.strategy.renewed(shares / shares.sum(), np.flatnonzero(joined), rate)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        super().restore(state)
        # The restored strategy may have the shares of any round.
        self._round = -1
