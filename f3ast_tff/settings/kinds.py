"""The kinds of component: a new kind is one entry here."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.settings.parameter import Derived


@dataclass(frozen=True)
class Kind:
    """A kind of component; also a setting, with the name of a component as value.

    Attributes:
        name: Name of the kind, of the setting and of the flag.
        help: Help text, one line.
        package: Package of the built-in components, below `f3ast_tff`.
        base: Base class of every `Config`, as `module:class` below `f3ast_tff`.
        default: Default component of a run; `Derived` if it follows from other settings, `None` if
            other settings replace it.
        build_arguments: Arguments of `Config.build`.
        members: Attributes of a built object.
        values: Those of `members` that are values, not methods.
        method_specific: Whether compared methods may differ in it.
        of_file: Flags to give for a file, if a user gives a file's name for a component.
        optional: Whether a run may have none; a run without it has no setting of this name.
        compared: Whether runs that differ in it are runs of another experiment.
    """

    name: str
    help: str
    package: str
    base: str
    default: str | Derived | None
    build_arguments: tuple[str, ...]
    members: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    method_specific: bool = False
    of_file: str = ""
    optional: bool = False
    compared: bool = True

    @property
    def base_class(self) -> Any:
        """The base class of every `Config`."""
        module, _, name = self.base.partition(":")
        return getattr(importlib.import_module(f"f3ast_tff.{module}"), name)

    @property
    def text(self) -> str:
        """The help text, and the default in words."""
        default = self.default.words if isinstance(self.default, Derived) else self.default
        return self.help + (f"; default: {default}" if default else "")

    def check_object(self, value: Any) -> None:
        """Checks that an object can stand for a built component of this kind.

        Raises:
            ComponentError: If members are missing, or a value is a method; names them.
        """
        missing = [name for name in self.members if not hasattr(value, name)]
        if missing:
            lacks = f"has no {', '.join(missing)}"
            raise ComponentError(f"{self.name} {type(value).__name__}: {lacks}")
        for name in self.values:
            if inspect.ismethod(getattr(value, name)):
                must = f"{name} is a method, must be a value: write @property above it"
                raise ComponentError(f"{self.name} {type(value).__name__}: {must}")


# Value of the setting `engine` that stands for its default.
AUTO = "auto"
# Value of an optional kind that stands for none.
NONE = "none"


def _delivery(known: Any) -> str:
    deliveries: tuple[str, ...] = known.config_class("algorithm").deliveries
    return deliveries[0] if deliveries else "certain"


@functools.cache
def installed(package: str) -> bool:
    """Returns whether a package is there, without importing it; a campaign asks for every run."""
    return importlib.util.find_spec(package) is not None


def has_jax() -> bool:
    """Returns whether JAX is installed, without importing it."""
    return installed("jax")


def _engine(known: Any) -> str:
    """`fused` if JAX is installed or the model needs it; else `host`."""
    model = known.config_class("model")
    if "host" in model.engines:
        return "host"
    return "fused" if not model.in_numpy or has_jax() else "host"


_OPTIMIZER_MEMBERS = ("learning_rate", "in_jax")
_ALL = (
    Kind(
        "task",
        help="which client holds which data",
        package="datasets",
        base="datasets.task:TaskConfig",
        default="synthetic",
        build_arguments=(),
        members=("train", "test", "num_classes"),
        of_file="task=file and data_file",
    ),
    Kind(
        "model",
        help="the network",
        package="models",
        base="models.model:ModelConfig",
        default=Derived(lambda known: known.config_class("task").model, "the task's"),
        build_arguments=("input_shape", "num_classes"),
        members=("initial_weights", "apply", "penalty"),
    ),
    Kind(
        "algorithm",
        help="which clients train, and with which weight",
        package="methods",
        base="methods.parts.algorithm:AlgorithmConfig",
        default="f3ast",
        build_arguments=("world",),
        members=("needs_losses", "needs_outcome", "select", "weigh", "observe", "state", "restore"),
        method_specific=True,
    ),
    Kind(
        "aggregation",
        help="from the cohort's updates to the server's step",
        package="methods",
        base="methods.parts.aggregation:Aggregation",
        default=Derived(
            lambda known: known.config_class("algorithm").aggregation, "the algorithm's"
        ),
        build_arguments=(),
        members=("normalise", "in_jax", "memory"),
        values=("normalise", "memory"),
        method_specific=True,
    ),
    Kind(
        "availability",
        help="who is reachable when",
        package="availability",
        base="availability.process:AvailabilityConfig",
        default="home_devices",
        build_arguments=("p", "seed"),
        members=("num_clients", "mask"),
        of_file="availability=table and table_file",
    ),
    Kind(
        "constraint",
        help="how many clients per round, in place of clients_per_round",
        package="availability.constraints",
        base="availability.constraints.constraint:ConstraintConfig",
        default=None,
        build_arguments=("num_clients", "seed", "update_bytes"),
        members=("largest_k", "mean_k", "limit"),
        values=("largest_k", "mean_k"),
    ),
    Kind(
        "delivery",
        help="whose update arrives, of the clients asked, and when",
        package="delivery",
        base="delivery.delivery:DeliveryConfig",
        default=Derived(_delivery, "certain, or the method's"),
        build_arguments=("world",),
        members=("arrivals",),
    ),
    Kind(
        "attack",
        help="what a share of the clients sends, or trains on, to harm the model; default: none",
        package="attacks",
        base="attacks.attack:AttackConfig",
        default=None,
        build_arguments=("world",),
        members=("ids", "of_clients", "poisoned", "around"),
        values=("ids",),
        optional=True,
    ),
    Kind(
        "score_of",
        help="a further score, from the clients' own scores; default: none",
        package="scores",
        base="scores.score_of:ScoreOfConfig",
        default=None,
        build_arguments=("world",),
        members=("score",),
        optional=True,
        compared=False,
    ),
    Kind(
        "client_optimizer",
        help="optimizer of the local steps",
        package="optimizers",
        base="optimizers.optimizer:OptimizerConfig",
        default="sgd",
        build_arguments=(),
        members=_OPTIMIZER_MEMBERS,
        method_specific=True,
    ),
    Kind(
        "server_optimizer",
        help="optimizer of the step along the aggregate",
        package="optimizers",
        base="optimizers.optimizer:OptimizerConfig",
        default=Derived(
            lambda known: known.config_class("algorithm").server_optimizer, "the algorithm's"
        ),
        build_arguments=(),
        members=_OPTIMIZER_MEMBERS,
        method_specific=True,
    ),
    Kind(
        "engine",
        help="what executes a round: XLA programs, TFF, or NumPy",
        package="engines",
        base="engines.engine:EngineConfig",
        default=Derived(_engine, "auto: fused with JAX, else host"),
        build_arguments=("parts",),
    ),
)
# Kinds in the order of `--help`.
KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ALL})
METHOD_KINDS = tuple(kind.name for kind in _ALL if kind.method_specific)
