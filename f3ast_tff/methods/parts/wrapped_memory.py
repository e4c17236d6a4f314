"""A memory around another, for rules about some of the model's coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    Gathered,
    Memory,
    Ranges,
    RoundContext,
    Values,
)

# Facts of the memory inside that are those of the memory around it.
_FACTS = (
    "vectors",
    "numbers",
    "parts",
    "averages",
    "settled_averages",
    "totals",
    "server_vectors",
    "last_step",
    "start_loss",
    "reads_gradients",
    "vectors_down",
    "vectors_up",
)


@dataclass(frozen=True)
class WrappedMemory(Memory):
    """A memory with the rules of the one inside.

    Attributes:
        inner: The memory inside.
        ranges: Coordinates of the model that the rules around it are about.
    """

    inner: Memory
    ranges: Ranges

    def __post_init__(self) -> None:
        for name in _FACTS:
            object.__setattr__(self, name, getattr(self.inner, name))

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return self.inner.client(client, server, now)

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        return self.inner.after_client(client, update, server, now)

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        return self.inner.message(client, update, losses, now)

    def aggregated(self, delta: Any, server: Values, now: RoundContext) -> Any:
        return self.inner.aggregated(delta, server, now)

    def correction(self, server: Values, now: RoundContext) -> Any:
        return self.inner.correction(server, now)

    def mean(self, normalise: bool, now: RoundContext) -> Any:
        return self.inner.mean(normalise, now)

    def steps(self, server: Values, now: RoundContext, present: Any) -> Any:
        return self.inner.steps(server, now, present)

    def after_server_step(self, kept: Values, delta: Any, model: Any, now: RoundContext) -> Values:
        return self.inner.after_server_step(kept, delta, model, now)

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        return self.inner.end_round(server, model, now)

    def evaluated(self, server: Values, model: Any) -> Any:
        return self.inner.evaluated(server, model)

    def own_model(self, kept: Values, server: Values, model: Any, xp: Any) -> Any:
        return self.inner.own_model(kept, server, model, xp)

    def payload(self, model_bytes: int) -> tuple[int, int]:
        return self.inner.payload(model_bytes)

    @property
    def least_weights(self) -> int:
        return max([self.inner.least_weights, *(end for _, end in self.ranges)])

    @property
    def server_numbers(self) -> Mapping[str, float]:
        return self.inner.server_numbers

    @property
    def has_own_models(self) -> bool:
        return self.inner.has_own_models

    @property
    def echo_clip(self) -> float | None:
        return self.inner.echo_clip

    @property
    def has_messages(self) -> bool:
        return self.inner.has_messages

    @property
    def by_client(self) -> bool:
        return self.inner.by_client


@dataclass(frozen=True)
class WrappedAggregation(Aggregation):
    """An aggregation with the rules of the one inside, except for its memory.

    Attributes:
        inner: The aggregation inside.
        ranges: Coordinates of the model that the rules around it are about.
    """

    inner: Aggregation
    ranges: Ranges

    @property
    def own_name(self) -> str:
        return self.inner.own_name

    @property
    def normalise(self) -> bool:
        return self.inner.normalise

    @property
    def mixes_models(self) -> bool:  # type: ignore[override]
        """See `Aggregation`."""
        return self.inner.mixes_models

    @property
    def stacks(self) -> bool:
        return self.inner.stacks

    def in_jax(self, delta: list[Any]) -> list[Any]:
        return self.inner.in_jax(delta)

    def in_tf(self, delta: list[Any]) -> list[Any]:
        return self.inner.in_tf(delta)

    def in_numpy(self, delta: list[Any]) -> list[Any]:
        return self.inner.in_numpy(delta)

    def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self.inner.combine(updates, weights)

    def combine_round(self, gathered: Gathered) -> tuple[np.ndarray, Values]:
        return self.inner.combine_round(gathered)
