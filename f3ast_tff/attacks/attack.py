"""An attack: which clients attack, and their changes."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability.process import stationary_of
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import uniforms
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.memory import Client, ClientLosses, RoundContext
from f3ast_tff.methods.parts.personal import NoRules
from f3ast_tff.methods.parts.wrapped_memory import WrappedAggregation, WrappedMemory
from f3ast_tff.settings import parameter
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger(__name__)
# Attackers that a line of the log names.
_MOST_NAMED = 10


@dataclass(frozen=True)
class AttackConfig:
    """Base of all attacks, whose fields are their parameters; the methods are pure functions.

    A client that attacks does so in every round in which it takes part. It is selected, weighed and
    lost as any other, and its test examples count.

    Attributes:
        changes_sent: Whether attackers change their updates, by `sent`.
        changes_labels: Whether attackers train on other labels, by `labels`.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.attacks import AttackConfig
        >>> from f3ast_tff.settings import register
        >>> @register("attack", "ones", about="attackers send ones")
        ... @dataclass(frozen=True)
        ... class Ones(AttackConfig):
        ...     changes_sent = True
        ...     def sent(self, update, client, now, seed):
        ...         return now.xp.ones_like(update)
        >>> result = simulate(attack=Ones(attack_share=0.1), rounds=2, num_clients=20)
        >>> int(result.selection["attacks"].sum())
        2
    """

    changes_sent: ClassVar[bool] = False
    changes_labels: ClassVar[bool] = False

    attack_share: float = parameter(
        0.2, "share of the clients with data that attack, rounded to a number", above=0, maximum=1
    )
    attackers: str = parameter(
        "random",
        "clients drawn at random, or those of lowest or highest long-run availability",
        choices=("random", "seldom", "often"),
    )

    def check(self, settings: Settings) -> None:
        """Refuses settings that an attack on updates excludes.

        Raises:
            ParameterError: Names the setting.
        """
        if not self.changes_sent:
            return
        name = component_of(self).name
        for setting, value, why in (
            ("num_workers", settings.num_workers, "which changes each client's update"),
            ("private", settings.training.private, "whose update has the private leaves too"),
        ):
            if value is not None:
                allowed = f"must not be given with attack {name}, {why}"
                raise ParameterError(setting, value, allowed)

    def build(self, world: StrategyContext) -> Attack:
        """Returns the attack on a run.

        Raises:
            ParameterError: If no client would attack, or availability decides and is not known.
        """
        n = np.count_nonzero(world.sizes)
        number = int(np.floor(self.attack_share * n + 0.5))
        if number == 0:
            allowed = f"of {n} clients with data none would attack"
            raise ParameterError("attack_share", self.attack_share, allowed)
        there = np.flatnonzero(world.sizes)
        # Clients of equal availability are drawn.
        keys = [uniforms(world.seed, "attackers", there)]
        if self.attackers != "random":
            pi = stationary_of(world.availability)
            if pi is None:
                name = type(world.availability).__name__
                allowed = f"must be random: the long-run availability of {name} is not known"
                raise ParameterError("attackers", self.attackers, allowed)
            keys.append(pi[there] if self.attackers == "seldom" else -pi[there])
        ids = np.sort(there[np.lexsort(keys)[:number]])
        named = ", ".join(map(str, ids[:_MOST_NAMED])) + (", ..." if number > _MOST_NAMED else "")
        _LOG.info("attack %s by %d of %d clients: %s", component_of(self).name, number, n, named)
        return Attack(self, tuple(ids.tolist()), world.seed)

    def sent(self, update: Any, client: Client, now: RoundContext, seed: int) -> Any:
        """Returns the update that an attacker sends in place of its own, `[num_weights]`.

        Args:
            update: Update that the client would send, `[num_weights]`.
            client: The client.
            now: The round.
            seed: Seed of the run.
        """
        raise ComponentError(f"{type(self).__name__} does not say what attackers send")

    def labels(self, labels: np.ndarray, num_classes: int) -> np.ndarray:
        """Returns the labels that an attacker trains on, of the same shape and dtype.

        Args:
            labels: Its labels, `[n]` or `[n, length]`; negative ones are padding.
            num_classes: Number of classes; 0 if labels are values.
        """
        raise ComponentError(f"{type(self).__name__} does not say which labels attackers have")


@dataclass(frozen=True)
class Attack:
    """The attack on one run.

    Attributes:
        config: The attack's parameters and changes.
        ids: Clients that attack, rising.
        seed: Seed of the run.

    Examples:
        >>> from f3ast_tff.attacks import Attack, LabelFlip
        >>> Attack(LabelFlip(), ids=(1, 3), seed=0).of_clients(4)["attacks"].tolist()
        [False, True, False, True]
    """

    config: AttackConfig
    ids: tuple[int, ...]
    seed: int

    def of_clients(self, num_clients: int) -> dict[str, np.ndarray]:
        """Returns whether each client attacks, `bool [N]`, by name, for the run's files."""
        return {"attacks": np.isin(np.arange(num_clients), self.ids)}

    def poisoned(self, data: FederatedData) -> FederatedData:
        """Returns the data that engines train on: attackers have other training labels."""
        if not self.config.changes_labels:
            return data
        train = data.train
        labels = train.labels.copy()
        for k in self.ids:
            rows = slice(train.offsets[k], train.offsets[k + 1])
            labels[rows] = self.config.labels(labels[rows], data.num_classes)
        return replace(data, train=replace(train, labels=labels))

    def around(self, aggregation: Aggregation) -> Aggregation:
        """Returns the aggregation with attackers among its clients.

        Raises:
            ParameterError: If the aggregation clips clients' movements apart from the rest.
        """
        if not self.config.changes_sent:
            return aggregation
        memory = aggregation.memory
        if memory is not None and memory.echo_clip is not None:
            name = component_of(self.config).name
            allowed = f"must not be given with aggregation {aggregation.own_name} and its clip"
            raise ParameterError("attack", name, allowed)
        return Attacked(aggregation, (), self)


@dataclass(frozen=True)
class AttackedMemory(WrappedMemory):
    """A memory with attackers among the clients, which change the updates that they send.

    Rules that remember a client's update get the unchanged one, also of an attacker.
    """

    attack: Attack

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        honest, factor = self.inner.message(client, update, losses, now)
        sent = self.attack.config.sent(honest, client, now, self.attack.seed)
        attacks = now.xp.any(now.xp.asarray(self.attack.ids) == client.id)
        return now.xp.where(attacks, sent, honest), factor

    @property
    def has_messages(self) -> bool:
        return True

    @property
    def by_client(self) -> bool:
        return True


@dataclass(frozen=True)
class Attacked(WrappedAggregation):
    """An aggregation with attackers among the clients, which change the updates that they send."""

    attack: Attack

    @property
    def memory(self) -> AttackedMemory:
        return AttackedMemory(self.inner.memory or NoRules(), self.ranges, self.attack)
