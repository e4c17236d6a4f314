"""A server in NumPy, without an engine: a method's aggregation and memory on given updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import numpy as np

from f3ast_tff.availability.process import AvailabilityProcess
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.engines.host.round import HostRound
from f3ast_tff.engines.host.sums import Sent
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import Advanced, Delivered, HostMemory
from f3ast_tff.methods.parts.memory import ClientInit
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy

# Function from id, model and offset of gradients to D_k; all vectors `[num_weights]`.
Train = Callable[[int, np.ndarray, Any], np.ndarray]


def updates_of(table: np.ndarray) -> Train:
    """Clients whose update is their row of a table, for any start."""
    return lambda k, model, offset: table[k]


class RulesInNumpy:
    """A server with server rate 1; Delta in float32, as engines have it.

    Attributes:
        memory: Rules of its memory; `None` without one.
        model: `float32 [num_weights]`.
    """

    def __init__(self, aggregation: Aggregation, p: np.ndarray, model: np.ndarray) -> None:
        if getattr(aggregation, "cohort_weights", "mean") is None:
            raise ValueError("cohort_weights=None: must be mean or sum")
        self._aggregation = aggregation
        rules = aggregation.memory
        self.model = model.astype(np.float32)
        self.memory = None if rules is None else HostMemory(rules, p, self.model, server_rate=1.0)

    @property
    def kept(self) -> dict[str, np.ndarray]:
        """Remembered values by name."""
        assert self.memory is not None
        return self.memory.state()

    def round(
        self, t: int, cohort: Cohort, train: Train, rate: float = 1.0, steps: int = 1
    ) -> tuple[np.ndarray, Advanced]:
        """Executes a round; returns Delta and the result of the round."""
        ids = cohort.ids.astype(np.int64)
        if self.memory is None and not len(ids):
            return np.zeros_like(self.model), Advanced(False, False, self.model, fits=True)
        now = HostRound.begin(self._aggregation, self.memory, number=t, rate=rate, model=self.model)
        counts, weights = np.full(len(ids), steps), cohort.weights.astype(np.float32)
        starts = now.starts(ids, counts)
        updates = np.zeros((len(ids), len(self.model)), np.float32)
        for i, (k, start) in enumerate(zip(ids.tolist(), starts or repeat(ClientInit()))):
            begin = self.model if start.model is None else start.model
            updates[i] = train(k, begin, 0.0 if start.offset is None else start.offset)
        finite = np.isfinite(updates).all(axis=1)
        folded = now.fold(Sent(ids, counts, updates, weights, finite, starts))
        model = (self.model + folded.delta).astype(np.float32)
        delivered = Delivered(
            ids,
            finite,
            updates,
            steps=counts,
            delta=folded.delta,
            model=model,
            fine=bool(np.isfinite(model).all()),
            combined=folded.changed,
        )
        advanced = now.remember(delivered, weights)
        self.model = advanced.closed
        return folded.delta, advanced


class SmallClients(Protocol):
    """Clients whose model is one number."""

    @property
    def rate(self) -> float:
        """Rate of their local step."""

    def train(self, k: int, model: np.ndarray, offset: Any) -> np.ndarray:
        """Returns D_k, `[1]`; a `Train`."""

    def losses(self, model: np.ndarray) -> np.ndarray:
        """Returns the losses of all clients, `float [N]`, under a model `[1]`."""


@dataclass(frozen=True)
class QuadraticClients:
    """f_k(w) = (w - c_k)^2 / 2, with one exact local step.

    Attributes:
        optima: c_k, `float64 [N]`.
        rate: Rate of the step.
    """

    optima: np.ndarray
    rate: float = 0.05

    def train(self, k: int, model: np.ndarray, offset: Any) -> np.ndarray:
        return -self.rate * (model - self.optima[k] + offset)

    def losses(self, model: np.ndarray) -> np.ndarray:
        return (model - self.optima) ** 2 / 2


def path_of(
    strategy: Strategy,
    aggregation: Aggregation,
    clients: SmallClients,
    *,
    p: np.ndarray,
    process: AvailabilityProcess,
    k: int,
    rounds: int,
) -> np.ndarray:
    """Trains a number from 0.

    Args:
        strategy: Selection and weights, before round 1.
        aggregation: Its aggregation.
        clients: Training and losses.
        p: Client shares, `float64 [N]`.
        process: Availability of the clients.
        k: Most clients per round.
        rounds: T.

    Returns:
        The model that the method is scored by, after each round, `float64 [T]`.
    """
    server, found = RulesInNumpy(aggregation, p, np.zeros(1)), np.zeros(rounds)
    for t in range(1, rounds + 1):
        losses = clients.losses(server.model)
        now = Round(t, process.mask(t), RoundConstraint(k), losses.__getitem__)
        ids = strategy.select(now)
        everyone = np.ones(len(ids), bool)
        server.round(t, strategy.weigh(now, ids, everyone), clients.train, clients.rate)
        if strategy.needs_outcome:
            strategy.observe(t, Outcome(ids, everyone, losses[ids]))
        memory = server.memory
        scored = server.model if memory is None else memory.evaluated(server.model)
        found[t - 1] = scored[0]
    return found
