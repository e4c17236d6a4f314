"""The interface of a selection strategy: who trains this round, with what weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, ClassVar, Protocol

import numpy as np

from f3ast_tff.selection.feasible import Feasible

# Current losses of the clients asked for: ids `int [m]` -> `float [m]`, NaN for a client without a
# loss (no example, or no full batch), infinity where the model has diverged.
Losses = Callable[[np.ndarray], np.ndarray]


def no_losses(ids: np.ndarray) -> np.ndarray:
    """Losses where there is no model: for strategies that ask nobody, see `needs_losses`."""
    raise RuntimeError(f"asked clients {ids} for their losses, but there is no model")


@dataclass(frozen=True)
class Cohort:
    """Who trains in a round, and with what weight each update enters the aggregate.

    Attributes:
        ids: Client ids, `int64 [m]`; with-replacement sampling may repeat a client.
        weights: Aggregation weight of each, `float64 [m]`.
    """

    ids: np.ndarray
    weights: np.ndarray

    def __post_init__(self) -> None:
        ids, weights = np.shape(self.ids), np.shape(self.weights)
        arrays = isinstance(self.ids, np.ndarray) and isinstance(self.weights, np.ndarray)
        if not arrays or ids != weights or len(ids) != 1:
            raise ValueError(f"ids {ids} and weights {weights} must be [m], arrays of one length")

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, received: np.ndarray) -> Cohort:
        """Returns the cohort of those received, `bool [m]`, with their weights."""
        return Cohort(self.ids[received], self.weights[received])


@dataclass(frozen=True)
class Outcome:
    """What came back from the cohort of a round.

    Attributes:
        ids: The cohort as it was selected, `int64 [m]`.
        received: Whether each client's update entered the aggregate, `bool [m]`: it was delivered,
            and finite.
        losses: Mean loss of the batches that each client trained on, `float64 [m]`; NaN where it
            had no step, or was not delivered.
    """

    ids: np.ndarray
    received: np.ndarray
    losses: np.ndarray


class Strategy(Protocol):
    """A selection policy over N clients; owns neither data nor model.

    Randomness comes from (seed, round) alone, so that the state below is all there is to save.

    Attributes:
        needs_losses: Whether `select` asks clients for their losses.
        needs_outcome: Whether it learns from `observe`. If it needs neither, its cohorts do not
            depend on the model, and many rounds are selected ahead.
    """

    @property
    def needs_losses(self) -> bool:
        """See above; a class attribute does."""
        ...

    @property
    def needs_outcome(self) -> bool:
        """See above; a class attribute does."""
        ...

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """Picks the cohort of a round.

        Args:
            round_number: Round t, from 1.
            available: Who is reachable, `bool [N]`.
            feasible: The communication constraint of this round; `feasible.k` is K_t, the most
                clients that the server can talk to.
            losses: Asks clients for their current loss; costs communication, so a strategy asks
                only those that its definition asks.

        Returns:
            The cohort; empty where nobody is available.
        """
        ...

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """Learns from what came back; called after each round if it `needs_outcome`."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Returns all that a checkpoint must hold."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned."""
        ...


class BaseStrategy:
    """Base of strategies: needs nothing, remembers nothing; override what is otherwise.

    Attributes:
        aggregation: Name of the aggregation that its weights are meant for. Read where a strategy
            is given as an object; an `AlgorithmConfig` has its own.
    """

    needs_losses: ClassVar[bool] = False
    needs_outcome: ClassVar[bool] = False
    aggregation: ClassVar[str] = "sum"

    @property
    def client_loss(self) -> str:
        """Which loss it asks for, as `AlgorithmConfig.client_loss`; read as `aggregation` is."""
        return "mean"

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """See `Strategy.observe`: nothing is learnt."""

    def received(self, round_number: int, cohort: Cohort, received: np.ndarray) -> Cohort:
        """Returns the cohort of a round in which not every update arrives.

        Called after `select`, before anybody trains, and only where an update is lost; a strategy
        need not have it. What it learns of the loss must not depend on the model.

        Args:
            round_number: Round t.
            cohort: What `select` returned.
            received: Whose update will arrive, `bool [m]`, not all of them.

        Returns:
            Those received, in their order, with the weights of their updates.
        """
        return cohort.only(received)

    def participation_rates(self) -> np.ndarray | None:
        """Returns r(t), the rate that stands for each client, `float64 [N]`, for the run's files.

        `None` where the strategy tracks none. A new array.
        """
        return None

    def state(self) -> dict[str, np.ndarray]:
        """Returns nothing to save."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Checks that there is nothing to take back."""
        if state:
            raise ValueError(f"unexpected saved state: {sorted(state)}")
