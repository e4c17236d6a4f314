"""What an algorithm is: a strategy, and what it goes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.federated_data import ClientExamples

if TYPE_CHECKING:
    from f3ast_tff.availability import AvailabilityProcess, CommunicationConstraint
    from f3ast_tff.models import Model
    from f3ast_tff.preprocessing import Preprocessing
    from f3ast_tff.selection import Strategy


@dataclass(frozen=True)
class World:
    """What a strategy may look at when it is built.

    Attributes:
        p: Client shares p_k, `float64 [N]`, of sum 1.
        sizes: Training examples of each client, `int64 [N]`.
        availability: Who is reachable when.
        constraint: How many may take part.
        rounds: T, number of rounds.
        seed: Seed of the run.
        train: Training examples by client.
        model: The network.
        preprocessing: From stored features to what the network reads.
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

    @property
    def num_clients(self) -> int:
        """Number of clients N."""
        return len(self.p)


@dataclass(frozen=True)
class AlgorithmConfig:
    """Base of an algorithm's `Config`.

    Attributes:
        aggregation: Name of the aggregation that its weights are meant for.
        server_optimizer: Name of its server optimizer.
        fixed: Settings that it leaves no choice in, by name.
        pooled: Whether one client holds all data: no federated learning.
        client_share: The objective of its paper, the default of `--client_share`: `"examples"`
            for p_k = n_k / n, `"equal"` for 1 / N.
        corrects: Its own baseline, as settings: the method without what its paper adds; empty for
            a method that is a baseline itself.
        published: Its published values by task, then setting, in place of the task's; a value may
            be a mapping by server optimizer.
        made: Whether it stands for a function given in Python that makes the strategy, which then
            says what its weights are meant for.
    """

    aggregation: ClassVar[str] = "sum"
    server_optimizer: ClassVar[str] = "sgd"
    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    pooled: ClassVar[bool] = False
    client_share: ClassVar[str] = "examples"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "fedavg"})
    published: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    made: ClassVar[bool] = False

    def build(self, world: World) -> Strategy:
        """Returns a new strategy.

        Raises:
            ParameterError: If the world contradicts a parameter.
        """
        raise TypeError(f"{type(self).__name__} does not say how its strategy is built")

    @classmethod
    def depends_on_rounds(cls, settings: Any) -> bool:
        """Returns whether the first rounds of a longer run are others, as with a policy from T.

        Args:
            settings: All settings by name.
        """
        return False

    @property
    def client_loss(self) -> str:
        """What a client reports as its loss; one of `engines.engine.LOSS_REDUCTIONS`."""
        return "mean"

    @property
    def client_clip_norm(self) -> float | None:
        """Global norm to which clients clip their gradients; `None` for none."""
        return None

    def check(self, settings: Mapping[str, Any]) -> None:
        """Checks parameters against other settings, before anything is built.

        Args:
            settings: All settings of the experiment by name.

        Raises:
            ParameterError: On the first that cannot be together.
        """


def require(settings: Mapping[str, Any], name: str, value: Any, when: str) -> None:
    """Checks that a setting has the only value that makes sense beside another one.

    Raises:
        ParameterError: If it has not; `when` says beside what.
    """
    if settings[name] != value:
        raise ParameterError(name, settings[name], f"must be {value} {when}")


def require_a_number(world: World, name: str, value: Any, allowed: str) -> None:
    """Checks that the constraint is a number of clients, where a setting can keep to no other.

    Raises:
        ParameterError: If it is not; `allowed` is the value to give.
    """
    if not world.constraint.limit(1).counts_only:
        when = "under a constraint that is more than the number of clients"
        raise ParameterError(name, value, f"must be {allowed} {when}")


def has_byte_budget(settings: Mapping[str, Any]) -> bool:
    """Returns whether the communication constraint is a budget in bytes."""
    return (settings.get("communication") or "").startswith("bytes:")
