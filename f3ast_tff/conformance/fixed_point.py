"""Where the model settles on quadratics: at the optimum of F, or elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.availability.process import stationary_of
from f3ast_tff.conformance.case import Case, NotDecided
from f3ast_tff.engines.host.rules_in_numpy import quadratic_path
from f3ast_tff.run.selecting import constraint_of

_ROUNDS, _BLOCKS = 4000, 10
# What a rate above 0, and shares that are still being learnt, may leave of the distance.
_LEFT = 0.05


def settles_at_the_optimum(case: Case) -> str | None:
    """The more often clients are there, the larger their optimum; the mean of all, by p, is 0."""
    law = {} if "availability" in case.given else {"availability": "home_devices"}
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
    if declared and abs(off) > _LEFT + 4 * error:
        return f"{said}, though reaches_optimum is declared"
    return None
