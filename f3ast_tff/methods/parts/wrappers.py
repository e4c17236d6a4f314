"""Wrappers of any strategy: a minimum separation, and clients that join and leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy, check_saved


class Wrapped:
    """Does as the strategy inside it does; a subclass overrides what is otherwise.

    Attributes:
        strategy: The strategy.
    """

    def __init__(self, strategy: Strategy) -> None:
        """Takes the strategy, before its first round."""
        self.strategy = strategy

    @property
    def needs_losses(self) -> bool:
        """See `Strategy`."""
        return self.strategy.needs_losses

    @property
    def needs_outcome(self) -> bool:
        """See `Strategy`."""
        return self.strategy.needs_outcome

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        return self.strategy.select(now)

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`."""
        return self.strategy.weigh(now, ids, delivered)

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """See `Strategy.observe`."""
        self.strategy.observe(round_number, outcome)

    def participation_rates(self) -> np.ndarray | None:
        """See `BaseStrategy.participation_rates`."""
        tell = getattr(self.strategy, "participation_rates", None)
        return None if tell is None else tell()

    def state(self) -> dict[str, np.ndarray]:
        """See `Strategy.state`."""
        return self.strategy.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Strategy.restore`."""
        self.strategy.restore(state)


class Separated(Wrapped):
    """Whoever is selected in round t cannot be in rounds t + 1 .. t + R: C_t holds no set with it.

    The strategy sees those who rest as not available. So F3AST's rates, which follow who is
    selected, stay right; what knows or estimates pi_k does not know of the rest, and its weights
    p_k / pi_k are too small.
    """

    def __init__(self, strategy: Strategy, separation: int, num_clients: int) -> None:
        """Takes the strategy, before its first round.

        Args:
            strategy: Picks among the others.
            separation: R, rounds between two selections, at least 1.
            num_clients: Number of clients N.
        """
        super().__init__(strategy)
        self._separation = separation
        # First round in which each client can be selected.
        self._free = np.zeros(num_clients, np.int64)

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`."""
        return super().select(self._rested(now))

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`; a selected client rests for R rounds, its update lost or not."""
        cohort = super().weigh(self._rested(now), ids, delivered)
        self._free[ids] = now.number + self._separation + 1
        return cohort

    def _rested(self, now: Round) -> Round:
        return replace(now, available=now.available & (self._free <= now.number))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the strategy's state, and from which round on each client is free."""
        return {**super().state(), "free_from": self._free.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned.

        Raises:
            ValueError: If a part is missing, or is of another number of clients.
        """
        check_saved(state, {"free_from": self._free}, "selections")
        super().restore({n: value for n, value in state.items() if n != "free_from"})
        self._free[:] = state["free_from"]


@runtime_checkable
class Population(Protocol):
    """What an availability process has if clients join and leave.

    Nobody is available who is not present; `mask` sees to it.
    """

    def present(self, round_number: int) -> np.ndarray:
        """Returns who exists in round t (from 1), `bool [N]`, by (seed, round) alone."""
        ...


def present_clients(population: Population, num_clients: int, round_number: int) -> np.ndarray:
    """Returns who exists in a round, `bool [N]`.

    Raises:
        ComponentError: If the process returns anything else.
    """
    present = population.present(round_number)
    shape, dtype = getattr(present, "shape", None), getattr(present, "dtype", None)
    if shape != (num_clients,) or dtype != np.bool_:
        raise ComponentError(
            f"availability {type(population).__name__}: present({round_number}) returned shape "
            f"{shape} and dtype {dtype}: must be ({num_clients},) and bool"
        )
    return present


def renewed_shares(p: np.ndarray, present: np.ndarray) -> np.ndarray | None:
    """Returns p_k(t) = p_k / sum of p_j over those present, 0 for those who are not.

    Args:
        p: Shares among all clients, `float64 [N]`.
        present: Who exists, `bool [N]`.

    Returns:
        `float64 [N]`, of sum 1; `None` where nobody is present who has a share.
    """
    shares = np.where(present, p, 0.0)
    total = shares.sum()
    return shares / total if total > 0 else None


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
