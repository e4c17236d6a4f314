"""Where the model settles on quadratics, and how long its step is when all clients agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.process import stationary_of
from f3ast_tff.conformance.case import Case, NotDecided
from f3ast_tff.engines.host.rules_in_numpy import QuadraticClients, SmallClients, path_of
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.run.selecting import constraint_of
from f3ast_tff.settings.configuration import Configuration

_ROUNDS, _BLOCKS = 4000, 10
# Error of a distance or scale that a rate above 0 and learnt shares may leave.
_LEFT = 0.05


@dataclass(frozen=True)
class _Equal:
    """Clients of gradient -1 before corrections, so of update 1, whatever the model."""

    num_clients: int
    rate: float = 1.0

    def train(self, k: int, model: np.ndarray, offset: Any) -> np.ndarray:
        return np.ones(1) - offset

    def losses(self, model: np.ndarray) -> np.ndarray:
        return np.zeros(self.num_clients)


@dataclass(frozen=True)
class _Method:
    """A method whose clients are available for different shares of time.

    Attributes:
        configuration: Its settings.
        parts: Its parts.
        pi: Share of the rounds in which each client is available, `float64 [N]`.
    """

    configuration: Configuration
    parts: Experiment
    pi: np.ndarray

    @classmethod
    def of(cls, case: Case) -> _Method:
        law = {} if "availability" in case.given else {"availability": "home_devices"}
        parts = case.experiment(rounds=_ROUNDS, **law)
        if parts.staleness_weight is not None or parts.p is None:
            raise NotDecided("its updates may be late, so only whole runs say it")
        process: Any = parts.availability
        pi = stationary_of(process)
        if pi is None or not np.ptp(pi):
            raise NotDecided("needs an availability whose clients are known to differ")
        return cls(case.configuration(rounds=_ROUNDS, **law), parts, pi)

    def path(self, clients: SmallClients) -> np.ndarray:
        """Returns the scored model after each round, `float64 [T]`."""
        process: Any = self.parts.availability
        assert self.parts.p is not None
        return path_of(
            self.parts.strategy,
            self.configuration.configs["aggregation"].build(),
            clients,
            p=self.parts.p,
            process=process,
            k=constraint_of(self.parts.constraint, 1).k,
            rounds=_ROUNDS,
        )

    def declared(self, name: str) -> Any:
        """Returns a declaration of the algorithm, `None` without it."""
        return getattr(self.configuration.configs["algorithm"], name, None)


def settles_at_the_optimum(case: Case) -> str | None:
    """The larger a client's share of time, the larger its optimum; their mean by p is 0."""
    method = _Method.of(case)
    p = method.parts.p
    optima = method.pi - p @ method.pi
    optima = optima / np.sqrt(p @ optima**2)
    off, error = _mean_of_blocks(method.path(QuadraticClients(optima))[_ROUNDS // 2 :])
    if not np.isfinite(off):
        raise NotDecided("on quadratics its model is not finite")
    side = "towards clients that are often there" if off > 0 else "towards those that seldom are"
    said = (
        f"on quadratics its model settles {abs(off):.2g} of the spread of the clients' optima off "
        f"that of F, {side}"
    )
    declared = method.declared("reaches_optimum")
    if declared is None:
        raise NotDecided(f"{said}; reaches_optimum is not declared")
    if declared and abs(off) > _LEFT + 4 * error:
        return f"{said}, though reaches_optimum is declared"
    return None


def steps_as_long_as_it_says(case: Case) -> str | None:
    """All clients have update 1 in every round."""
    method = _Method.of(case)
    steps = np.diff(method.path(_Equal(len(method.pi))))
    scale, error = _mean_of_blocks(steps[_ROUNDS // 2 - 1 :])
    if not np.isfinite(scale):
        raise NotDecided("with equal updates of all clients its model is not finite")
    said = f"with equal updates of all clients its step is {scale:.3g} times their update"
    declared = method.declared("step_scale")
    if declared is None:
        raise NotDecided(f"{said}; step_scale is not declared")
    if abs(scale - declared) > _LEFT * declared + 4 * error:
        return f"{said}, though step_scale={declared:g} is declared"
    return None


def _mean_of_blocks(values: np.ndarray) -> tuple[float, float]:
    """The mean of rounds that depend on each other, and its standard error."""
    blocks = values.reshape(_BLOCKS, -1).mean(1)
    return float(blocks.mean()), float(blocks.std(ddof=1) / np.sqrt(_BLOCKS))
