"""Where the model settles on quadratics: at the optimum of F, or elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.availability.process import AvailabilityProcess, stationary_of
from f3ast_tff.conformance.case import Case, NotDecided
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.engines.host.rules_in_numpy import RulesInNumpy
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Outcome, Round, Strategy
from f3ast_tff.run.selecting import constraint_of

RATE = 0.05
_ROUNDS, _BLOCKS = 4000, 10
# What a rate above 0, and shares that are still being learnt, may leave of the distance.
_LEFT = 0.05


def quadratic_path(
    strategy: Strategy,
    aggregation: Aggregation,
    *,
    p: np.ndarray,
    optima: np.ndarray,
    process: AvailabilityProcess,
    k: int,
    rounds: int,
    rate: float = RATE,
) -> np.ndarray:
    """Trains a number w from 0, on f_k(w) = (w - c_k)^2 / 2 with one exact local step.

    Args:
        strategy: Selection and weights, before round 1.
        aggregation: Its aggregation.
        p: Client shares, `float64 [N]`.
        optima: c_k, `float64 [N]`.
        process: Clients that are there.
        k: Most clients of a round.
        rounds: T.
        rate: Rate of the step.

    Returns:
        The model that the method is scored by, after each round, `float64 [T]`.
    """
    server, found = RulesInNumpy(aggregation, p, np.zeros(1)), np.zeros(rounds)

    def train(k: int, model: np.ndarray, offset: Any) -> np.ndarray:
        return -rate * (model - optima[k] + offset)

    for t in range(1, rounds + 1):
        losses = (server.model - optima) ** 2 / 2
        now = Round(t, process.mask(t), RoundConstraint(k), losses.__getitem__)
        ids = strategy.select(now)
        everyone = np.ones(len(ids), bool)
        server.round(t, strategy.weigh(now, ids, everyone), train, rate)
        if strategy.needs_outcome:
            strategy.observe(t, Outcome(ids, everyone, losses[ids]))
        memory = server.memory
        scored = server.model if memory is None else memory.evaluated(server.model)
        found[t - 1] = scored[0]
    return found


def settles_at_the_optimum(case: Case) -> str | None:
    """The more often clients are there, the larger their optimum; the mean of all, by p, is 0."""
    law = {} if "availability" in case.given else {"availability": "home_devices"}
    # Tasks of a file have their own objective.
    configuration = case.configuration(rounds=_ROUNDS, **law)
    parts = case.experiment(rounds=_ROUNDS, **law)
    if parts.staleness_weight is not None or parts.p is None:
        raise NotDecided("its updates may be late, so only whole runs say it")
    process: Any = parts.availability
    pi = stationary_of(process)
    if pi is None or not np.ptp(pi):
        raise NotDecided("needs an availability whose clients are known to differ")
    optima = pi - parts.p @ pi
    optima = optima / np.sqrt(parts.p @ optima**2)
    found = quadratic_path(
        parts.strategy,
        configuration.configs["aggregation"].build(),
        p=parts.p,
        optima=optima,
        process=process,
        k=constraint_of(parts.constraint, 1).k,
        rounds=_ROUNDS,
    )
    blocks = found[_ROUNDS // 2 :].reshape(_BLOCKS, -1).mean(1)
    off, error = blocks.mean(), blocks.std(ddof=1) / np.sqrt(_BLOCKS)
    if not np.isfinite(off):
        raise NotDecided("on quadratics its model is not finite")
    side = "towards clients that are often there" if off > 0 else "towards those that seldom are"
    said = (
        f"on quadratics its model settles {abs(off):.2g} of the spread of the clients' optima off "
        f"that of F, {side}"
    )
    declared = getattr(configuration.configs["algorithm"], "reaches_optimum", None)
    if declared is None:
        raise NotDecided(f"{said}; reaches_optimum is not declared")
    reaches = abs(off) <= _LEFT + 4 * error
    if declared and not reaches:
        return f"{said}, though reaches_optimum is declared"
    return None
