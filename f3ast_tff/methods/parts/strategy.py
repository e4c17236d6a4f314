"""The interface of a selection strategy: the clients of a round and their weights."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError, whole_number
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.core.saved_state import SavedState

if TYPE_CHECKING:
    from f3ast_tff.availability import AvailabilityProcess, CommunicationConstraint
    from f3ast_tff.core.federated_data import ClientExamples
    from f3ast_tff.core.preprocessing import Preprocessing
    from f3ast_tff.models import Model

# Function from ids `int [m]` to the clients' current losses, `float [m]`: NaN for a client without
# a loss (no example, or no full batch), infinity if the model has diverged.
Losses = Callable[[np.ndarray], np.ndarray]


def no_losses(ids: np.ndarray) -> np.ndarray:
    """Raises an error: the losses of a `Round` made without losses, see `needs_losses`."""
    raise RuntimeError(
        f"asked clients {ids} for their losses, but the round has none: "
        "Round(t, available, constraint, losses)"
    )


def asked_once(losses: Losses) -> Losses:
    """Returns a function that asks once for the same clients and then repeats the answer.

    It raises `ParameterError` if the answer is not a number per client.
    """
    answers: dict[bytes, np.ndarray] = {}

    def cached(ids: np.ndarray) -> np.ndarray:
        key = ids.tobytes()
        if key not in answers:
            found: Any = losses(ids)
            fits = isinstance(found, np.ndarray) and found.dtype.kind in "biuf"
            if not fits or found.shape != ids.shape:
                kind = getattr(found, "dtype", type(found).__name__)
                shape = f"shape {list(np.shape(found))} of {kind}"
                given = type(found).__name__ if found is None else shape
                allowed = f"must return an array of shape [{len(ids)}], a loss per client asked"
                raise ParameterError("losses", given, allowed)
            answers[key] = found
        return answers[key]

    return cached


@dataclass(frozen=True)
class StrategyContext:
    """The world around a strategy, for building it.

    Attributes:
        p: Client shares p_k, `float64 [N]`, of sum 1.
        sizes: Training examples of each client, `int64 [N]`.
        availability: Process of the available clients.
        constraint: Constraint on the number of participants per round.
        rounds: T, number of rounds.
        seed: Seed of the run.
        train: Training examples by client.
        model: The network.
        preprocessing: Function from stored features to the network's input.
        server_lr: Learning rate of the server's optimizer; `None` on a server of one's own.

    Examples:
        >>> from f3ast_tff import Uniform, simulate
        >>> def build(world):
        ...     print(world.num_clients, world.rounds, world.constraint.limit(1).k)
        ...     return Uniform().build(world)
        >>> result = simulate(algorithm=build, aggregation="mean", rounds=2)
        100 2 10
    """

    p: np.ndarray
    sizes: np.ndarray
    availability: AvailabilityProcess
    constraint: CommunicationConstraint
    rounds: int
    seed: int
    train: ClientExamples
    model: Model
    preprocessing: Preprocessing
    server_lr: float | None

    @property
    def num_clients(self) -> int:
        """Number of clients N."""
        return len(self.p)


@dataclass(frozen=True)
class Round:
    """A round as the server sees it before anybody trains.

    Attributes:
        number: Round t, from 1.
        available: Reachable clients, `bool [N]`.
        constraint: Communication constraint of the round; its `k` is K_t, the largest number of
            clients that the server can talk to.
        losses: Function that asks clients for their current loss, which costs communication. A
            second call for the same clients returns the first answer, see `asked_once`.
        asked_in: Round in which each client of `Strategy.weigh` was asked, `int64 [m]`; `None`
            if updates are never late, and in `Strategy.select`.
        request: Number of earlier calls of `Strategy.select` in the round; above 0 only if clients
            start whenever others finish (`delivery=asynchronous`).

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Round, RoundConstraint
        >>> losses, available = np.array([0.3, 2.0, 0.9]), np.array([True, False, True])
        >>> now = Round(1, available, RoundConstraint(2), losses=lambda ids: losses[ids])
        >>> now.constraint.k, now.losses(np.flatnonzero(now.available)).tolist()
        (2, [0.3, 0.9])
    """

    number: int
    available: np.ndarray
    constraint: RoundConstraint
    losses: Losses = no_losses
    asked_in: np.ndarray | None = None
    request: int = 0

    def __post_init__(self) -> None:
        whole_number("number", self.number, least=0)
        whole_number("request", self.request, least=0)
        if not isinstance(self.constraint, RoundConstraint):
            raise ParameterError("constraint", self.constraint, "must be a RoundConstraint")
        if not callable(self.losses):
            raise ParameterError("losses", self.losses, "must be a function of client ids")
        object.__setattr__(self, "losses", asked_once(self.losses))

    def generator(self, seed: int) -> np.random.Generator:
        """Returns the generator of the draws of `Strategy.select`, a function of its arguments."""
        more = (self.request,) if self.request else ()
        return generator(seed, "selection", self.number, *more)

    def asked_now(self, ids: np.ndarray) -> np.ndarray:
        """Returns the clients among `ids` of `Strategy.weigh` that were asked in this round."""
        return ids if self.asked_in is None else ids[self.asked_in == self.number]


@dataclass(frozen=True)
class Cohort:
    """The clients that train in a round, and the weight of each update in the aggregate.

    Attributes:
        ids: Client ids, `int64 [m]`; with-replacement sampling may repeat a client.
        weights: Aggregation weight of each, `float64 [m]`.
        step: Factor of the server's learning rate in this round; used if updates may be late.
        forgets: Further clients, whose remembered update a memory replaces by 0, `int64 [f]`;
            `None` for nobody. Used if updates may be late.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Cohort
        >>> cohort, updates = Cohort(np.array([4, 7]), np.array([0.5, 1.5])), {4: 1.0, 7: -2.0}
        >>> sum(w * updates[k] for k, w in zip(cohort.ids.tolist(), cohort.weights.tolist()))
        -2.5
    """

    ids: np.ndarray
    weights: np.ndarray
    step: float = 1.0
    forgets: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_lengths(ids=self.ids, weights=self.weights)

    def __len__(self) -> int:
        return len(self.ids)


def _check_lengths(**arrays: Any) -> None:
    for name, value in arrays.items():
        if not isinstance(value, np.ndarray):
            raise ValueError(f"{name} must be an array [m], not {type(value).__name__}")
    shapes = [value.shape for value in arrays.values()]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1:
        given = " and ".join(f"{name} {shape}" for name, shape in zip(arrays, shapes))
        raise ValueError(f"{given} must be [m], of one length")


@dataclass(frozen=True)
class Outcome:
    """Results of a round's cohort.

    Attributes:
        ids: The selected cohort, `int64 [m]`.
        delivered: Whether each client's update entered the aggregate, `bool [m]`: it was delivered
            and finite.
        losses: Mean loss of the batches that each client trained on, `float64 [m]`; NaN without a
            step or a delivery.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Outcome
        >>> from f3ast_tff.methods.fedau import FedAU
        >>> strategy, arrived = FedAU.start([0.5, 0.3, 0.2], k=2), np.array([True, False])
        >>> for t in (1, 2):  # Client 1 is selected, and its update lost.
        ...     strategy.observe(t, Outcome(np.array([0, 1]), arrived, np.array([0.7, np.nan])))
        >>> strategy.saved_arrays()["interval_rounds"].tolist()
        [0, 2, 2]
    """

    ids: np.ndarray
    delivered: np.ndarray
    losses: np.ndarray

    def __post_init__(self) -> None:
        _check_lengths(ids=self.ids, delivered=self.delivered, losses=self.losses)
        # NumPy would take 0 and 1 for places, which are other clients.
        if self.delivered.dtype != np.bool_:
            raise ValueError(f"delivered has dtype {self.delivered.dtype}: must be bool")


class Strategy(Protocol):
    """A selection policy over N clients; owns neither data nor model.

    Randomness comes only from (seed, round), so `state` is the whole state to save.

    Attributes:
        needs_losses: Whether `select` asks clients for their losses.
        needs_outcome: Whether the strategy learns from `observe`. If it needs neither losses nor
            outcome, its cohorts do not depend on the model, and many rounds are selected ahead.

    A run refuses clients that are not available, a client selected twice, and more clients than
    the constraint allows, unless the strategy's attribute `may_select` names it; see
    `BaseStrategy.may_select`.

    Examples:
        >>> from f3ast_tff import F3AST
        >>> strategy, again = (F3AST.start([0.5, 0.3, 0.2], k=1, rate_beta=0.1) for _ in range(2))
        >>> strategy.rates.update([2])
        >>> again.restore(strategy.state())  # After a restart of the server.
        >>> again.participation_rates().round(3).tolist()
        [0.45, 0.27, 0.28]
    """

    @property
    def needs_losses(self) -> bool:
        """See above; a class attribute does."""
        ...

    @property
    def needs_outcome(self) -> bool:
        """See above; a class attribute does."""
        ...

    def select(self, now: Round) -> np.ndarray:
        """Picks the clients of a round; moves no state.

        Returns:
            Client ids, `int64 [m]`; empty if no client is available.
        """
        ...

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Weighs the updates that arrive and moves the state by one round.

        Called once after each `select`, before the clients train. The weights depend on the model
        only through losses that the strategy asks for. If updates may be late, `ids` holds the
        selected clients, then the clients of earlier rounds whose update has arrived; see
        `Round.asked_in`.

        Args:
            now: The round, as `select` saw it.
            ids: Clients selected, `int64 [m]`.
            delivered: Whether each client's update will arrive, `bool [m]`.

        Returns:
            The delivered clients, in the order of `ids`, with the weights of their updates.
        """
        ...

    def observe(self, round_number: int, outcome: Outcome) -> None:
        """Learns from the outcome; called after each round if the strategy `needs_outcome`."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state for a checkpoint."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores a result of `state`."""
        ...


class BaseStrategy(SavedState, Strategy):
    """Base of strategies: equal weights, no state; a subclass defines at least `select`.

    Attributes:
        aggregation: Name of the aggregation for the strategy's weights. Used if the strategy is
            given as an object; otherwise `AlgorithmConfig.aggregation` counts.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import BaseStrategy, Round, RoundConstraint, cohort_of
        >>> class LowestIds(BaseStrategy):
        ...     def select(self, now):
        ...         return now.constraint.admit(np.flatnonzero(now.available))
        >>> now = Round(1, np.array([False, True, True, True]), RoundConstraint(2))
        >>> cohort_of(LowestIds(), now).ids.tolist()
        [1, 2]
    """

    needs_losses: ClassVar[bool] = False
    needs_outcome: ClassVar[bool] = False
    aggregation: ClassVar[str] = "sum"

    @property
    def may_select(self) -> frozenset[str]:
        """Rules that `select` may break; may be a class attribute.

        `"unavailable"`: it may return clients that are not available. `"repeated"`: it may return
        a client more than once. `"too_many"`: it may return more clients than the constraint
        allows.
        """
        return frozenset()

    @property
    def client_loss(self) -> str:
        """The loss to ask for, as `AlgorithmConfig.client_loss`; used as `aggregation` is."""
        return "mean"

    def observe(self, round_number: int, outcome: Outcome) -> None:
        pass

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], np.ones(np.count_nonzero(delivered)))

    def participation_rates(self) -> np.ndarray | None:
        """Returns r(t), the tracked rate of each client, `float64 [N]`, for the run's files.

        The array is new; `None` if the strategy tracks no rates.
        """
        return None


def cohort_of(strategy: Strategy, now: Round, delivered: np.ndarray | None = None) -> Cohort:
    """Plays the strategy's part of one round, without a run around it.

    Args:
        strategy: The strategy; its state moves by one round.
        now: The round.
        delivered: Clients whose update would arrive, `bool [N]`; `None` for all.

    Returns:
        The delivered clients, with their weights.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> from f3ast_tff.methods.parts.all_available import AllAvailable
        >>> now = Round(1, np.ones(4, bool), RoundConstraint(4))
        >>> delivered = np.array([True, True, False, True])
        >>> cohort_of(AllAvailable.start(np.full(4, 0.25), k=4), now, delivered).ids.tolist()
        [0, 1, 3]
    """
    ids = strategy.select(now)
    arrives = np.ones(len(ids), bool) if delivered is None else delivered[ids]
    return strategy.weigh(now, ids, arrives)


@dataclass(frozen=True)
class StrategyFacts:
    """Optional attributes of a strategy; see `BaseStrategy`.

    Attributes:
        aggregation: Name of the aggregation for the strategy's weights.
        client_loss: The loss to ask for, as `AlgorithmConfig.client_loss`.
        may_select: Rules that `select` may break.
        participation_rates: Returns r(t), see `BaseStrategy.participation_rates`.
        num_clients: N, the length of its p; `None` if it has no p.
    """

    aggregation: str
    client_loss: str
    may_select: Collection[str]
    participation_rates: Callable[[], np.ndarray | None]
    num_clients: int | None


class _Defaults(BaseStrategy):
    def select(self, now: Any) -> np.ndarray:
        return np.zeros(0, np.int64)


_DEFAULTS = _Defaults()


def facts_of(strategy: Any) -> StrategyFacts:
    """Returns the optional attributes of a strategy, or of a function that makes one.

    Examples:
        >>> from f3ast_tff import F3AST
        >>> from f3ast_tff.methods.parts.strategy import facts_of
        >>> facts_of(F3AST.start([0.5, 0.5], k=1)).num_clients, facts_of(object()).aggregation
        (2, 'sum')
    """
    names = ("aggregation", "client_loss", "may_select", "participation_rates")
    found = {name: getattr(strategy, name, getattr(_DEFAULTS, name)) for name in names}
    p = getattr(strategy, "p", None)
    return StrategyFacts(**found, num_clients=len(p) if isinstance(p, np.ndarray) else None)


def participation_rates(strategy: Strategy, num_clients: int) -> np.ndarray | None:
    """Returns the strategy's r(t), `float64 [N]`; `None` if it tracks no rates.

    Raises:
        ComponentError: If the rates are not N numbers.
    """
    rates = facts_of(strategy).participation_rates()
    if rates is None:
        return None
    if np.shape(rates) != (num_clients,):
        raise ComponentError(
            f"algorithm {type(strategy).__name__}: participation_rates returned shape "
            f"{np.shape(rates)}: must be ({num_clients},)"
        )
    return np.array(rates, np.float64)
