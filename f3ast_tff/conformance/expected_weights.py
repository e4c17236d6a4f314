"""Whether a method is unbiased: E[sum of client k's weights] = p_k, over who is there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from f3ast_tff.availability.process import IndependentAvailability
from f3ast_tff.conformance.case import Case, NotDecided
from f3ast_tff.methods.parts.strategy import Round, no_losses
from f3ast_tff.run.selecting import constraint_of, select_clients, weigh_updates

# All 2^N available sets are played, each 50 times if the method draws clients.
_CLIENTS, _DRAWS = 5, 50
# Rounding; and standard errors of a mean over draws, exceeded once in 10^6 methods.
_EXACT, _ERRORS = 1e-10, 5.5


@dataclass(frozen=True)
class _Watched(Round):
    """A round that keeps its generators, as they were and as they are."""

    generators: list[tuple[Any, np.random.Generator]] = field(default_factory=list)

    def generator(self, seed: int) -> np.random.Generator:
        found = super().generator(seed)
        self.generators.append((found.bit_generator.state, found))
        return found

    @property
    def has_drawn(self) -> bool:
        """Whether a generator was drawn from."""
        return any(each.bit_generator.state != begun for begun, each in self.generators)


def weights_are_unbiased(case: Case) -> str | None:
    """The mean over all available sets, by their probability, of a client's weight is p_k."""
    law = {} if "availability" in case.given else {"availability": "home_devices"}
    n = min(_CLIENTS, case.num_clients)
    configuration = case.configuration(num_clients=n, **law)
    parts = case.experiment(num_clients=n, **law)
    process: Any = parts.availability
    if parts.staleness_weight is not None or parts.p is None or parts.num_clients != n:
        raise NotDecided(f"needs {n} clients and updates that are never late")
    if type(process) is not IndependentAvailability:
        raise NotDecided("needs an availability of independent clients, such as home_devices")
    mean, squared_error = np.zeros((2, n))
    for there in itertools.product((False, True), repeat=n):
        available = np.array(there)
        chance = np.prod(np.where(available, process.q, 1 - process.q))
        weights = _weights(parts, available)
        if configuration.settings.get("aggregation") == "mean":
            total = weights.sum(axis=1, keepdims=True)
            weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        mean += chance * weights.mean(axis=0)
        squared_error += chance**2 * weights.var(axis=0) / max(len(weights) - 1, 1)
    off = np.abs(mean - parts.p)
    allowed = _EXACT + _ERRORS * np.sqrt(squared_error)
    k = int(np.argmax(off - allowed))
    said = (
        f"in round 1 client {k} has weight {mean[k]:.4g} on average over who is there, and "
        f"p_k {parts.p[k]:.4g}"
    )
    declared = getattr(configuration.configs["algorithm"], "unbiased", None)
    if off[k] <= allowed[k]:
        if declared is None:
            raise NotDecided("in round 1 its weights are p_k on average; unbiased is not declared")
        return None
    if declared is None:
        raise NotDecided(f"{said}; unbiased is not declared")
    return f"{said}, though unbiased is declared" if declared else None


def _weights(parts: Any, available: np.ndarray) -> np.ndarray:
    """Weights of all clients, `float64 [draws, N]`: one draw if the method itself draws none."""
    strategy = parts.strategy
    begun = strategy.state()
    limit = constraint_of(parts.constraint, 1)
    found = []
    for t in range(1, _DRAWS + 1):
        strategy.restore({name: np.array(value) for name, value in begun.items()})
        ask = (lambda ids: np.ones(len(ids))) if strategy.needs_losses else no_losses
        now = _Watched(t, available.copy(), limit, ask)
        ids = select_clients(strategy, now)
        cohort = weigh_updates(strategy, now, ids, np.ones(len(ids), bool))
        found.append(np.zeros(len(available)))
        np.add.at(found[-1], cohort.ids, cohort.weights)
        if not now.has_drawn:
            break
    return np.array(found)
