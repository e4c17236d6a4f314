"""Where the model settles on quadratics, and how long its step is when all clients agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.availability.process import stationary_of
from f3ast_tff.conformance.case import Case, NotDecided
from f3ast_tff.engines.host.rules_in_numpy import path_of, quadratic_path
from f3ast_tff.run.selecting import constraint_of

_ROUNDS, _BLOCKS = 4000, 10
# What a rate above 0, and shares that are still being learnt, may leave of a distance or scale.
_LEFT = 0.05


@dataclass(frozen=True)
class _World:
    """A method's parts where clients are there for different shares of time.

    Attributes:
        declared: `Config` of the algorithm.
        given: Arguments of `path_of` that do not depend on the clients.
        pi: Share of the rounds in which each client is there, `float64 [N]`.
    """

    declared: Any
    given: dict[str, Any]
    pi: np.ndarray

    @classmethod
    def of(cls, case: Case) -> _World:
        law = {} if "availability" in case.given else {"availability": "home_devices"}
        configuration = case.configuration(rounds=_ROUNDS, **law)
        parts = case.experiment(rounds=_ROUNDS, **law)
        if parts.staleness_weight is not None or parts.p is None:
            raise NotDecided("its updates may be late, so only whole runs say it")
        process: Any = parts.availability
        pi = stationary_of(process)
        if pi is None or not np.ptp(pi):
            raise NotDecided("needs an availability whose clients are known to differ")
        given = {
            "strategy": parts.strategy,
            "aggregation": configuration.configs["aggregation"].build(),
            "p": parts.p,
            "process": process,
            "k": constraint_of(parts.constraint, 1).k,
            "rounds": _ROUNDS,
        }
        return cls(configuration.configs["algorithm"], given, pi)


def settles_at_the_optimum(case: Case) -> str | None:
    """The more often clients are there, the larger their optimum; the mean of all, by p, is 0."""
    world = _World.of(case)
    p = world.given["p"]
    optima = world.pi - p @ world.pi
    optima = optima / np.sqrt(p @ optima**2)
    off, error = _mean_of_blocks(quadratic_path(**world.given, optima=optima)[_ROUNDS // 2 :])
    if not np.isfinite(off):
        raise NotDecided("on quadratics its model is not finite")
    side = "towards clients that are often there" if off > 0 else "towards those that seldom are"
    said = (
        f"on quadratics its model settles {abs(off):.2g} of the spread of the clients' optima off "
        f"that of F, {side}"
    )
    declared = getattr(world.declared, "reaches_optimum", None)
    if declared is None:
        raise NotDecided(f"{said}; reaches_optimum is not declared")
    if declared and abs(off) > _LEFT + 4 * error:
        return f"{said}, though reaches_optimum is declared"
    return None


def steps_as_long_as_it_says(case: Case) -> str | None:
    """Each client's update is 1 in each round; a client's gradient is -1 before corrections."""
    world = _World.of(case)
    equal = np.zeros(len(world.pi))
    path = path_of(
        **world.given,
        train=lambda k, model, offset: np.ones(1) - offset,
        losses=lambda model: equal,
    )
    scale, error = _mean_of_blocks(np.diff(path)[_ROUNDS // 2 - 1 :])
    if not np.isfinite(scale):
        raise NotDecided("with equal updates of all clients its model is not finite")
    said = f"with equal updates of all clients its step is {scale:.3g} times their update"
    declared = getattr(world.declared, "step_scale", None)
    if declared is None:
        raise NotDecided(f"{said}; step_scale is not declared")
    if abs(scale - declared) > _LEFT * declared + 4 * error:
        return f"{said}, though step_scale={declared:g} is declared"
    return None


def _mean_of_blocks(values: np.ndarray) -> tuple[float, float]:
    """The mean of rounds that depend on each other, and its standard error."""
    blocks = values.reshape(_BLOCKS, -1).mean(1)
    return float(blocks.mean()), float(blocks.std(ddof=1) / np.sqrt(_BLOCKS))
