"""Buffers of a model: coordinates that no rule of an aggregation reads or moves.

Engines take the mean of the buffers that arrived, with the weights of the updates scaled to sum 1,
whatever the rules and the server optimizer do with the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    Memory,
    Ranges,
    RoundContext,
    Values,
)
from f3ast_tff.methods.parts.wrapped_memory import WrappedAggregation, WrappedMemory


def mask_of(ranges: Ranges, size: int) -> np.ndarray:
    """Returns which of `size` coordinates are in the ranges, `bool [size]`."""
    mask = np.zeros(size, bool)
    for first, end in ranges:
        mask[first:end] = True
    return mask


def mean_of_buffers(buffers: np.ndarray, weights: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Returns the mean of the buffers by weights scaled to sum 1.

    Each coordinate lies between the least and the greatest that arrived. So buffers that nobody
    changed stay bit for bit, and a variance stays positive.

    Args:
        buffers: Buffers of the clients that arrived, finite, `float32 [m, length]`.
        weights: Weights of their updates, `float [m]`.
        now: The server's buffers, returned if the weights sum to 0 or nobody arrived, `[length]`.
    """
    weights = np.asarray(weights, np.float64)
    total = weights.sum()
    if not len(weights) or total == 0:
        return now
    mean = (weights / total) @ buffers.astype(np.float64)
    held = np.clip(mean, buffers.min(axis=0), buffers.max(axis=0))
    return held.astype(now.dtype)


@dataclass(frozen=True)
class BuffersApart(WrappedMemory):
    """A memory whose rules see 0 in place of a client's buffers, and leave the model's as they are.

    Attributes:
        inner: Rules of the aggregation's own memory.
        ranges: The buffers.
    """

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """The client starts from the server's buffers."""
        start = self.inner.client(client, server, now)
        changes = {
            name: self._without(vector, now.xp)
            for name, vector in (("offset", start.offset), ("shift", start.shift))
            if vector is not None
        }
        if start.model is not None:
            changes["model"] = self._kept(start.model, now.model, now.xp)
        return start._replace(**changes)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        return self.inner.after_client(client, self._without(update, now.xp), server, now)

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        vector, factor = self.inner.message(client, self._without(update, now.xp), losses, now)
        return self._without(vector, now.xp), factor

    def aggregated(self, delta: Any, server: Values, now: RoundContext) -> Any:
        return self._without(self.inner.aggregated(delta, server, now), now.xp)

    def correction(self, server: Values, now: RoundContext) -> Any:
        found = self.inner.correction(server, now)
        return None if found is None else self._without(found, now.xp)

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        server, closed = self.inner.end_round(server, model, now)
        return server, self._kept(closed, model, now.xp)

    def evaluated(self, server: Values, model: Any) -> Any:
        found = self.inner.evaluated(server, model)
        # Without an array module at hand; both are finite.
        mask = mask_of(self.ranges, len(model)).astype(np.float32)
        return found if found is model else found * (1 - mask) + model * mask

    def own_model(self, kept: Values, server: Values, model: Any, xp: Any) -> Any:
        return self._kept(self.inner.own_model(kept, server, model, xp), model, xp)

    def _without(self, vector: Any, xp: Any) -> Any:
        """A vector with 0 for the buffers."""
        return xp.where(mask_of(self.ranges, len(vector)), xp.zeros_like(vector), vector)

    def _kept(self, vector: Any, model: Any, xp: Any) -> Any:
        """A vector with the buffers of `model`."""
        return xp.where(mask_of(self.ranges, len(model)), model, vector)


@dataclass(frozen=True)
class AggregationWithBuffers(WrappedAggregation):
    """An aggregation of a model with buffers, whose memory sees and moves parameters alone.

    Attributes:
        inner: The aggregation of the parameters.
        ranges: The buffers.
    """

    @property
    def memory(self) -> Memory | None:
        inner = self.inner.memory
        return None if inner is None else BuffersApart(inner, self.ranges)


def with_buffers(aggregation: Aggregation, ranges: Ranges) -> Aggregation:
    """Returns the aggregation of a model with buffers; without any, the aggregation itself."""
    known = isinstance(aggregation, AggregationWithBuffers)
    return aggregation if known or not ranges else AggregationWithBuffers(aggregation, ranges)
