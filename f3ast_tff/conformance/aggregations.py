"""Properties of aggregations: the order of clients, and numbers that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.conformance.case import Case, NotDecided, distance
from f3ast_tff.core.randomness import generator
from f3ast_tff.methods.parts.host_memory import initial_tables
from f3ast_tff.methods.parts.memory import Gathered, initial_server
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round
from f3ast_tff.simulation import simulate

_CLOSE = 1e-4
_SIZE = 6


class _InOrder(BaseStrategy):
    """Everybody who is there, by rising or falling ids."""

    def __init__(self, p: np.ndarray, step: int) -> None:
        self.p, self.step = p, step

    def select(self, now: Round) -> np.ndarray:
        return np.flatnonzero(now.available)[:: self.step]

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], self.p[ids[delivered]])


def order_does_not_matter(case: Case) -> str | None:
    """The same clients in another order give the same model, up to rounding."""
    found = [_in_order(case, step) for step in (1, -1)]
    off = distance(found[0], found[1])
    if off > _CLOSE:
        return f"clients by falling ids give a model that is {off:.2g} off that by rising ids"
    aggregation = _built(case)
    if aggregation.stacks:
        updates, weights = _updates(5), np.linspace(0.1, 0.3, 5, dtype=np.float32)
        first = _combined(aggregation, updates, weights)
        # Each row stands first in one of them.
        for order in [np.roll([3, 0, 4, 1, 2], shift) for shift in range(5)]:
            again = _combined(aggregation, updates[order], weights[order])
            if not np.allclose(first, again, rtol=_CLOSE, atol=_CLOSE):
                return f"combine of the same rows in the order {order.tolist()} gives another Delta"
        doubled = _combined(aggregation, updates, 2 * weights)
        if aggregation.normalise and not np.allclose(first, doubled, rtol=_CLOSE, atol=_CLOSE):
            return "weights twice as large give another Delta, though normalise is declared"
    return None


def finite_stays_finite(case: Case) -> str | None:
    """Finite updates of every kind give a finite step."""
    aggregation = _built(case)
    weights = {m: np.full(m, 1 / m, np.float32) for m in (1, 2, 3, 7)}
    kinds = {
        "zero": lambda m: np.zeros((m, _SIZE), np.float32),
        "equal": lambda m: np.ones((m, _SIZE), np.float32),
        "drawn": _updates,
        "very large": lambda m: _updates(m) * np.float32(1e15),
        "very small": lambda m: _updates(m) * np.float32(1e-30),
    }
    for kind, make in kinds.items():
        for m, share in weights.items():
            delta = _delta(aggregation, make(m), share)
            if not np.isfinite(delta).all():
                return f"{m} {kind} update{'s' if m > 1 else ''} give a Delta that is not finite"
    absent = np.array([0.5, 0.0, 0.5], np.float32)
    if not np.isfinite(_delta(aggregation, _updates(3), absent)).all():
        return "a client of weight 0 gives a Delta that is not finite"
    if aggregation.stacks:
        lost = _updates(3)
        lost[1] = np.nan
        if np.isfinite(_combined(aggregation, lost, weights[3])).all():
            return None
        raise NotDecided(
            "finite updates give a finite Delta; one NaN makes combine's all NaN. Engines leave "
            "out such updates before it; a server of your own must too"
        )
    return None


def _in_order(case: Case, step: int) -> np.ndarray:
    settings: dict[str, Any] = {"rounds": 5, "seed": 3, "num_clients": 8, "size_limit": 60}
    p = np.linspace(1, 2, 8)
    found = simulate(
        algorithm=_InOrder(p / p.sum(), step),
        availability=np.arange(8) != np.arange(5)[:, None],
        aggregation=case.configuration().configs["aggregation"],
        engine=case.configuration().settings.engine,
        clients_per_round=8,
        **settings,
    )
    return np.concatenate([weight.ravel() for weight in found.weights])


def _built(case: Case) -> Any:
    return case.configuration().configs["aggregation"].build()


def _updates(m: int) -> np.ndarray:
    draws = generator(0, "conformance updates", m)
    return draws.normal(size=(m, _SIZE)).astype(np.float32)


def _combined(aggregation: Any, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Delta of `combine_round` in round 1; the clients are known by their updates' first number."""
    model, memory = np.zeros(updates.shape[1], np.float32), aggregation.memory
    server, kept = {}, {}
    if memory is not None:
        server = initial_server(memory, model, np)
        tables = initial_tables(memory, len(updates), model)
        kept = {name: tables[name] for name in memory.vectors.keys() | {*memory.numbers}}
    # A client has the same number in each order.
    ids = np.argsort(np.argsort(updates[:, 0]))
    gathered = Gathered(
        updates=updates,
        weights=weights,
        ids=ids,
        round_number=1,
        model=model,
        server=server,
        kept=kept,
    )
    return np.asarray(aggregation.combine_round(gathered)[0])


def _delta(aggregation: Any, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        delta = _combined(aggregation, updates, weights)
        (direction,) = aggregation.in_numpy([np.asarray(delta)])
    return np.asarray(direction)
