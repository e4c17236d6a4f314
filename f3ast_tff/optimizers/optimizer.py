"""An optimizer: a value with its step in NumPy, in JAX and in TFF, or in some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.schedules import Schedule
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

# Limit on learning rates; far beyond it weights overflow, and engines differ in how they do.
MAX_LEARNING_RATE = 10**6
# Arrays that an optimizer keeps from step to step, each like the weights.
Arrays = tuple[np.ndarray, ...]
# Method of the optimizer that each engine calls, by name of the engine.
_FORMS = {"fused": "in_jax", "tff": "in_tff", "host": "in_numpy"}


@dataclass(frozen=True)
class Optimizer:
    """Base of optimizers; each defines `in_numpy`, `in_jax`, `in_tff` or some of them.

    Attributes:
        learning_rate: Learning rate of round 1, above 0.
        schedule: Learning-rate schedule over the rounds; client optimizers only.
        clip_norm: Global norm to which engines clip gradients before the step; `None` for none.
        look_share: Share of the gradient where `look` looks; the rest is the gradient at the
            weights.

    Examples:
        >>> from f3ast_tff.optimizers import Adam, Inverse, Optimizer
        >>> optimizer: Optimizer = Adam(0.1, schedule=Inverse(rounds=10))
        >>> [round(optimizer.rate(t), 3) for t in (1, 11, 21)], optimizer.is_constant
        ([0.1, 0.05, 0.033], False)
    """

    learning_rate: float
    schedule: Schedule = Schedule()
    clip_norm: float | None = None

    look_share: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            ParameterError: If a number is out of range, or the schedule is none.
        """
        if not isinstance(self.schedule, Schedule):
            raise ParameterError("schedule", self.schedule, "must be a Schedule, with factor(t)")
        for name in ("learning_rate", "clip_norm"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise ParameterError(name, value, "must be above 0 and finite")

    def rate(self, round_number: int) -> float:
        """Returns the learning rate of round t, from 1.

        Raises:
            ComponentError: If the schedule's factor is no finite number, at least 0.
        """
        factor = self.schedule.factor(round_number)
        number = float(factor) if np.ndim(factor) == 0 and factor is not None else np.nan
        if not 0 <= number < np.inf:
            name = f"schedule {type(self.schedule).__name__}: factor({round_number})"
            raise ComponentError(f"{name} returned {factor!r}: must be a number, at least 0")
        return self.learning_rate * number

    @property
    def is_constant(self) -> bool:
        """Whether the learning rate is the same in every round."""
        return self.schedule.is_constant

    @property
    def initial_moments(self) -> tuple[float, ...]:
        """First values of the moments of `in_numpy`, each an array like the weights."""
        return ()

    def look(self, find: Callable[[Any], Any], weights: Any) -> Any:
        """Returns the weights at which a client's step takes its gradient; by default its own.

        Args:
            find: Function from weights to the gradient there of the loss of the step's batch.
            weights: Weights before the step, `float32 [..., num_weights]`, of NumPy or JAX: of one
                client, or a row per client.
        """
        return weights

    def in_numpy(
        self, gradients: np.ndarray, moments: Arrays, *, step: int, learning_rate: np.float32
    ) -> tuple[np.ndarray, Arrays]:
        """Returns the array that a step subtracts from the weights, and the moments after it.

        Args:
            gradients: Gradients, `float32 [..., num_weights]`, clipped by the engine if need be.
            moments: Arrays before the step, each like `gradients`.
            step: Number of the step, from 1.
            learning_rate: Rate of the round, of the gradients' type.
        """
        raise ParameterError("engine", "host", f"{type(self).__name__} defines no in_numpy")

    def in_jax(self, learning_rate: Any) -> Any:
        """Returns an `optax.GradientTransformation` whose updates are added to the weights.

        Args:
            learning_rate: Rate of the round, a number or a JAX scalar; the state of the
                transformation must not depend on it.
        """
        raise ParameterError("engine", "fused", f"{type(self).__name__} defines no in_jax")

    def in_tff(self) -> Any:
        """Returns the `tff.learning.optimizers.Optimizer` of this learning rate."""
        raise ParameterError("engine", "tff", f"{type(self).__name__} defines no in_tff")


@dataclass(frozen=True)
class OptimizerConfig:
    """Base of the `Config` of a client or server optimizer.

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff.optimizers import Inverse, Sgd
        >>> from f3ast_tff.optimizers.optimizer import OptimizerConfig
        >>> @dataclass(frozen=True)
        ... class FallingConfig(OptimizerConfig):
        ...     def build(self):
        ...         return Sgd(0.5, schedule=Inverse(rounds=10))
        >>> [FallingConfig().build().rate(t) for t in (1, 11)]
        [0.5, 0.25]
    """

    def build(self) -> Optimizer:
        """Returns the optimizer."""
        raise ComponentError(f"{type(self).__name__} does not say what it builds")

    def check(self, settings: Settings) -> None:
        """Refuses an engine in which the optimizer has no form, and a server that looks."""
        engine, component, built = settings.engine, component_of(self), self.build()
        form, of_server = _FORMS.get(engine), component.kind == "server_optimizer"
        if looks(built) and (of_server or engine == "tff"):
            allowed = "looks elsewhere before it steps, which only clients do, on fused and host"
            raise ParameterError(component.kind, component.name, allowed)
        if form and getattr(type(built), form, None) in (None, getattr(Optimizer, form)):
            allowed = f"defines no {form}, so that it does not run with engine {engine}"
            raise ParameterError(component.kind, component.name, allowed)


def looks(optimizer: Any) -> bool:
    """Whether an optimizer takes its gradients elsewhere, see `Optimizer.look`."""
    return getattr(type(optimizer), "look", Optimizer.look) is not Optimizer.look


def for_clients(optimizer: Any, schedule: Schedule, clip_norm: float | None) -> Any:
    """Returns a client optimizer with the schedule and the clip norm of a run.

    The optimizer, which may be given as an object, keeps its own schedule if the run's is constant,
    and its own clip norm if the run has none.
    """
    return replace(
        optimizer,
        schedule=optimizer.schedule if schedule.is_constant else schedule,
        clip_norm=optimizer.clip_norm if clip_norm is None else clip_norm,
    )
