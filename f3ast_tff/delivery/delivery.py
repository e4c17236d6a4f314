"""Delivery: which updates of the asked clients are delivered, and when."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from f3ast_tff.availability import AvailabilityProcess, CommunicationConstraint
from f3ast_tff.core.errors import ComponentError
from f3ast_tff.settings.configuration import Settings


@dataclass(frozen=True)
class Arrivals:
    """Outcome of asking a round's clients.

    Attributes:
        delivered: Whether each client's update is delivered, `bool [m]`.
        seconds: Time from asking a client to its update's arrival, `float64 [m]`; infinite if the
            update never arrives, NaN without a clock.
        round_seconds: Duration of the round; NaN without a clock.
        failed: Whether the round fails: the server drops all updates, and every asked client counts
            as lost. Bytes and seconds still count.
        rounds: Number of rounds until each update arrives, at least 0, `int64 [m]`; for a lost
            update, until the server gives it up. Used if the delivery `is_late`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.delivery import Late
        >>> late = Late(late_by="fixed", late_rounds=2)
        >>> arrivals = late.arrivals(round_number=1, ids=np.array([7, 4]))
        >>> arrivals.delivered.tolist(), arrivals.rounds.tolist()
        ([True, True], [2, 2])
    """

    delivered: np.ndarray
    seconds: np.ndarray
    round_seconds: float
    failed: bool = False
    rounds: np.ndarray | None = None


class RememberedMasks:
    """The masks of an availability process, kept until they are no longer needed.

    Without it, a process that remembers its last round would go back and forth: the run asks for
    round t, a delivery for t + 1, the run for t + 1 again.
    """

    def __init__(self, process: AvailabilityProcess) -> None:
        """Takes the process."""
        self._process = process
        self._masks: dict[int, np.ndarray] = {}

    def mask(self, round_number: int) -> np.ndarray:
        if round_number not in self._masks:
            self._masks[round_number] = self._process.mask(round_number)
        return self._masks[round_number].copy()

    def forget_before(self, round_number: int) -> None:
        """Drops the masks of earlier rounds."""
        for t in [t for t in self._masks if t < round_number]:
            del self._masks[t]


class Delivery(Protocol):
    """Arrivals of updates: a function of seed, round and the asked clients.

    It does not depend on the model, so many rounds can be selected ahead. It has no state, so a
    resumed run repeats an uninterrupted run.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import Arrivals
        >>> class FirstThree:  # A delivery of one's own.
        ...     def arrivals(self, round_number, ids):
        ...         no_clock = np.full(len(ids), np.nan)
        ...         return Arrivals(np.arange(len(ids)) < 3, no_clock, np.nan)
        >>> simulate(delivery=FirstThree(), rounds=5).selection["num_delivered"].tolist()
        [3, 3, 3, 3, 3]
    """

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """Returns the outcome of asking clients.

        Args:
            round_number: Round t, from 1.
            ids: Asked clients, `int64 [m]`; a client drawn twice has one outcome for both draws.
        """
        ...


@dataclass(frozen=True)
class DeliveryWorld:
    """Clients, model and constraint that a delivery is bound to.

    Attributes:
        sizes: Training examples of each client, `int64 [N]`.
        examples: Number of examples that each client trains on per round, with repetitions,
            `int64 [N]`.
        bytes_down: Bytes that an asked client receives.
        bytes_up: Bytes that a client sends.
        availability: The availability process.
        masks: Masks of the process, for a delivery that `looks_ahead`.
        constraint: The run's constraint on participants, before `DeliveryConfig.asking`.
        seed: Seed of all draws.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import FixedK, ScarceConfig
        >>> from f3ast_tff.delivery import Bernoulli, DeliveryWorld
        >>> from f3ast_tff.delivery.delivery import RememberedMasks
        >>> sizes = np.array([10, 20, 900])
        >>> scarce = ScarceConfig().build(sizes / sizes.sum(), seed=0)
        >>> masks, most = RememberedMasks(scarce), FixedK()
        >>> world = DeliveryWorld(sizes, sizes, 1000, 1000, scarce, masks, most, seed=0)
        >>> bernoulli = Bernoulli(loss_probability=0.3, loss_follows="size")
        >>> bernoulli.build(world).loss.round(2).tolist()
        [0.1, 0.3, 0.5]
    """

    sizes: np.ndarray
    examples: np.ndarray
    bytes_down: int
    bytes_up: int
    availability: AvailabilityProcess
    masks: RememberedMasks
    constraint: CommunicationConstraint
    seed: int

    @property
    def num_clients(self) -> int:
        """Number of clients N."""
        return len(self.sizes)


@dataclass(frozen=True)
class DeliveryConfig:
    """Base of a delivery's `Config`; once bound by `build`, it is the delivery.

    Attributes:
        looks_ahead: Whether the delivery reads the masks of later rounds.
        is_late: Whether an update may arrive in a later round than it was asked in.
        is_asynchronous: Whether rounds end when updates arrive, see `Asynchronous`.
        world: Clients, model and constraint, bound by `build`.

    Examples:
        >>> from dataclasses import dataclass
        >>> import numpy as np
        >>> from f3ast_tff.delivery import Arrivals, DeliveryConfig
        >>> from f3ast_tff.settings import register
        >>> @register("delivery", "odd_rounds", about="updates of even rounds are lost")
        ... @dataclass(frozen=True)
        ... class InOddRounds(DeliveryConfig):
        ...     def arrivals(self, round_number, ids):
        ...         odd = np.full(len(ids), round_number % 2 == 1)
        ...         return Arrivals(odd, np.full(len(ids), np.nan), np.nan)
        >>> ids = np.array([7, 4])
        >>> [InOddRounds().arrivals(t, ids).delivered.tolist() for t in (1, 2)]
        [[True, True], [False, False]]
    """

    looks_ahead: ClassVar[bool] = False
    is_late: ClassVar[bool] = False
    is_asynchronous: ClassVar[bool] = False

    world: DeliveryWorld = field(default=None, repr=False)  # type: ignore[assignment]

    def build(self, world: DeliveryWorld) -> Delivery:
        """Returns the delivery in a world.

        Raises:
            ParameterError: If the world contradicts a parameter.
            DataError: If a file is missing or damaged.
        """
        bound = replace(self, world=world)
        bound.prepare()
        return bound

    def prepare(self) -> None:
        """Computes values that depend on the world, and raises the errors of `build`."""

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        raise ComponentError(f"{type(self).__name__} does not say whose update arrives")

    def of_clients(self) -> dict[str, np.ndarray]:
        """Returns facts about the clients for the run's files, each `[N]`; by default none."""
        return {}

    def asking(
        self, constraint: CommunicationConstraint, num_clients: int
    ) -> CommunicationConstraint:
        """Returns the constraint on the clients to ask; the run's constraint unless overridden.

        Args:
            constraint: The run's constraint.
            num_clients: N.
        """
        return constraint

    def check(self, settings: Settings) -> None:
        """Raises `ParameterError` if other settings contradict this one's parameters."""
