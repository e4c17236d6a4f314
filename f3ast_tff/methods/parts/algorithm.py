"""An algorithm: its strategy, its settings, and parameters that several algorithms share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.methods.parts.strategy import StrategyContext as StrategyContext
from f3ast_tff.methods.parts.strategy import facts_of
from f3ast_tff.settings import Derived, Reading, parameter, parameters_of
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

if TYPE_CHECKING:
    from f3ast_tff.methods.parts.strategy import Strategy


@dataclass(frozen=True)
class AlgorithmConfig:
    """Base of an algorithm's `Config`.

    Attributes:
        aggregation: Name of the aggregation for the algorithm's weights.
        server_optimizer: Name of the server optimizer.
        fixed: Settings that the algorithm fixes, by name.
        deliveries: Deliveries that the algorithm runs with, its default first; empty for all.
        pooled: Whether one client holds all data: no federated learning.
        client_share: Objective of the paper, the default of `--client_share`: `"examples"` for
            p_k = n_k / n, `"equal"` for 1 / N.
        corrects: Settings of the algorithm's baseline, the method without the paper's addition;
            empty for a baseline.
        reaches_optimum: Whether on quadratics with one local step the model settles at the optimum
            of F, however often each client is there; `None` if that is not known.
        unbiased: Whether a client's mean weight in a round is p_k; `None` if that is not known.
        step_scale: If all clients have one update, the mean step over that update, above 0: 1 of a
            mean, and of weights that are p_k on average; `None` if that is not known.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
        >>> from f3ast_tff.methods.parts.all_available import AllAvailable
        >>> @dataclass(frozen=True)
        ... class EverybodyConfig(AlgorithmConfig):
        ...     def build(self, world):
        ...         return AllAvailable().build(world)
        >>> EverybodyConfig.start([0.5, 0.3, 0.2], k=3).p.tolist()
        [0.5, 0.3, 0.2]
    """

    aggregation: ClassVar[str] = "sum"
    server_optimizer: ClassVar[str] = "sgd"
    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    deliveries: ClassVar[tuple[str, ...]] = ()
    pooled: ClassVar[bool] = False
    client_share: ClassVar[str] = "examples"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "fedavg"})
    reaches_optimum: ClassVar[bool | None] = None
    unbiased: ClassVar[bool | None] = None
    step_scale: ClassVar[float | None] = None

    def build(self, world: StrategyContext) -> Strategy:
        """Returns a new strategy.

        Raises:
            ParameterError: If the world contradicts a parameter.
        """
        raise ComponentError(f"{type(self).__name__} does not say how its strategy is built")

    @classmethod
    def start(
        cls,
        p: Any,
        k: Any,
        *,
        seed: int = 0,
        sizes: Any = None,
        rounds: int | None = None,
        availability: Any = None,
        **parameters: Any,
    ) -> Strategy:
        """Returns a new strategy for a user's server; needs only NumPy.

        Each round calls `select`, then `weigh` with the updates that arrived, then `observe` if the
        strategy `needs_outcome`. `state` and `restore` carry the strategy over a restart.

        Parameters have the defaults of a run whose network is not convex and whose clients are
        available independently of each other. So F3AST starts at the rates that would be best if
        all clients were always available: K clients of weight 1 / K, as in FedAvg, until the rates
        move.

        Args:
            p: Client shares p_k, `float [N]`, of sum 1.
            k: K, or a constraint such as `CycleK("5,10").build(100)`.
            seed: Seed of the selection.
            sizes: Training examples of each client, `int [N]`; by default in proportion to p.
            rounds: T, number of rounds, for a method that depends on it.
            availability: Availability process, for a method that uses it beforehand; `None` if
                availability becomes known round by round.
            **parameters: Parameters of the method, such as `rate_beta=0.01`.

        Raises:
            ParameterError: If a value is not allowed or missing, or a parameter is unknown.
            ValueError: If p is no distribution.

        Examples:
            >>> import numpy as np
            >>> from f3ast_tff import F3AST, Round, RoundConstraint, select_clients, weigh_updates
            >>> strategy = F3AST.start([0.25] * 4, k=2, rate_beta=0.01)
            >>> now = Round(1, np.array([True, True, False, False]), RoundConstraint(2))
            >>> ids = select_clients(strategy, now)
            >>> weigh_updates(strategy, now, ids, np.array([True, True])).weights.round(2).tolist()
            [0.5, 0.5]
        """
        from f3ast_tff.methods.parts.own_server import own_settings, own_world

        name = component_of(cls).name if hasattr(cls, "component") else cls.__name__
        if cls.deliveries:
            # With a server that waits for its cohort it would be FedAvg under another name.
            allowed = f"needs the late updates of a run (--delivery={cls.deliveries[0]})"
            raise ParameterError("algorithm", name, allowed)
        world = own_world(p, k, seed=seed, sizes=sizes, rounds=rounds, availability=availability)
        config = cls(**own_settings(world, parameters_of(cls), parameters))
        strategy = config.build(world)
        known = {**vars(config), "aggregation": cls.aggregation, "num_clients": world.num_clients}
        config.check(Settings.of(known))
        meant_for = facts_of(strategy).aggregation
        if meant_for != cls.aggregation:
            # Selection without this aggregation would be another method.
            allowed = (
                f"needs the aggregation {cls.aggregation} of a run: {type(strategy).__name__}, "
                f"which selects, is meant for {meant_for}"
            )
            raise ParameterError("algorithm", name, allowed)
        return strategy

    @classmethod
    def depends_on_rounds(cls, settings: Any) -> bool:
        """Returns whether a longer run has other first rounds, as with a policy made from T.

        Args:
            settings: All settings by name.
        """
        return False

    @property
    def client_loss(self) -> str:
        """The loss that a client reports; one of `engines.engine.LOSS_REDUCTIONS`."""
        return "mean"

    @property
    def client_clip_norm(self) -> float | None:
        """Global norm to which clients clip their gradients; `None` for none."""
        return None

    def check(self, settings: Settings) -> None:
        """Checks parameters against other settings, before anything is built.

        Args:
            settings: All settings of the experiment.

        Raises:
            ParameterError: On the first contradiction.
        """


def require(name: str, value: Any, only: Any, when: str) -> None:
    """Checks that a setting has the only value that makes sense together with another setting.

    Raises:
        ParameterError: If the value differs; `when` names the other setting.
    """
    if value != only:
        raise ParameterError(name, value, f"must be {only} {when}")


def has_byte_budget(constraint: str | None) -> bool:
    """Returns whether the setting `constraint` is a budget in bytes."""
    return (constraint or "").startswith("bytes:")


# FedAvg over the active clients, whose bias most methods correct.
MEAN_OF_AVAILABLE = MappingProxyType({"algorithm": "fedavg_all", "aggregation": "mean"})


def _objective(known: Any) -> str:
    """The case of eq. (3); a combination is correlated if one of its parts is."""
    for config in known.config_classes("availability"):
        measured = config.measured(known)
        if config.positively_correlated if measured is None else measured.positive:
            return "p"
    return "p_squared"


@dataclass(frozen=True)
class ObjectiveConfig(AlgorithmConfig):
    """The objective H(r) to minimise."""

    availability_objective: str = parameter(
        Reading(
            "R9",
            Derived(
                _objective,
                "p if clients are available together, measured on a table or trace; else p_squared",
            ),
            "p_squared",
        ),
        "H(r) sums p^2 / r or p / r",
        choices=("p_squared", "p"),
    )


@dataclass(frozen=True)
class RateBetaConfig(AlgorithmConfig):
    """The step size of participation rates."""

    rate_beta: float = parameter(0.001, "step size of F3AST's rates", above=0, below=1)


@dataclass(frozen=True)
class TiesConfig(AlgorithmConfig):
    """The rule that decides between equal clients."""

    ties: str = parameter(
        Reading("R11", "random", "lowest_id"),
        "equal utilities go to",
        choices=("random", "lowest_id"),
    )
