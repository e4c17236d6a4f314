"""Personal parts: leaves of the model that stay with each client, around any aggregation.

With the last layer's leaves this is FedPer (Arivazhagan et al., 2019), with the norms' leaves FedBN
(Li et al., ICLR 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    Memory,
    Ranges,
    RoundContext,
    Values,
)
from f3ast_tff.methods.parts.memory_rules import length_of
from f3ast_tff.methods.parts.wrapped_memory import WrappedAggregation, WrappedMemory

# Name of the table of the clients' own parts.
OWN = "private_leaves"


@dataclass(frozen=True)
class NoRules(Memory):
    """A memory that remembers nothing and changes nothing."""


@dataclass(frozen=True)
class PersonalParts(WrappedMemory):
    """Client k keeps the private coordinates u_k of its model; the others, v, are shared.

        client k of S trains all of (v, u_k); it sends D_k with 0 for the private coordinates;
        u_k += the private coordinates of D_k

    u_k starts as in the initial model. A client that is drawn twice trains once. An update that is
    lost, not finite, or part of a rejected aggregate leaves u_k as it was. Client k is scored with
    (v, u_k). The rules of the memory inside see updates with 0 for the private coordinates.

    Attributes:
        inner: Rules of the aggregation's own memory.
        ranges: Private coordinates.
    """

    has_own_models: ClassVar[bool] = True
    has_messages: ClassVar[bool] = True
    by_client: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        parts: Mapping[str, Ranges] = MappingProxyType({**self.inner.parts, OWN: self.ranges})
        object.__setattr__(self, "parts", parts)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        own = with_part(now.model, self.ranges, client.kept[OWN], now.xp)
        start = self.inner.client(self._inside(client), server, now._replace(model=own))
        model = own if start.model is None else start.model
        return start._replace(model=with_part(model, self.ranges, client.kept[OWN], now.xp))

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        sent = self._shared(update, now.xp)
        kept = self.inner.after_client(self._inside(client), sent, server, now)
        return {**kept, OWN: client.kept[OWN] + part_of(update, self.ranges, now.xp)}

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        sent = self._shared(update, now.xp)
        return self.inner.message(self._inside(client), sent, losses, now)

    def after_server_step(self, kept: Values, delta: Any, model: Any, now: RoundContext) -> Values:
        inside = self.inner.after_server_step(_without_own(kept), delta, model, now)
        return {**inside, OWN: kept[OWN]}

    def own_model(self, kept: Values, server: Values, model: Any, xp: Any) -> Any:
        shared = self.inner.own_model(_without_own(kept), server, model, xp)
        return with_part(shared, self.ranges, kept[OWN], xp)

    def _shared(self, update: Any, xp: Any) -> Any:
        """An update with 0 for the private coordinates."""
        none = xp.zeros(length_of(self.ranges), update.dtype)
        return with_part(update, self.ranges, none, xp)

    def _inside(self, client: Client) -> Client:
        return client._replace(kept=_without_own(client.kept))


@dataclass(frozen=True)
class Personal(WrappedAggregation):
    """An aggregation whose clients keep private coordinates.

    Attributes:
        inner: The aggregation of the shared coordinates.
        ranges: Private coordinates.
    """

    @property
    def memory(self) -> PersonalParts:
        return PersonalParts(self.inner.memory or NoRules(), self.ranges)


def part_of(vector: Any, ranges: Ranges, xp: Any) -> Any:
    """Returns the coordinates of a vector in these ranges, `[length]`."""
    return xp.concatenate([vector[first:end] for first, end in ranges])


def with_part(vector: Any, ranges: Ranges, part: Any, xp: Any) -> Any:
    """Returns a vector with the coordinates in these ranges replaced by `part`, `[length]`."""
    pieces, shared, own = [], 0, 0
    for first, end in ranges:
        pieces += [vector[shared:first], part[own : own + end - first]]
        shared, own = end, own + end - first
    return xp.concatenate([*pieces, vector[shared:]])


def _without_own(kept: Values) -> Values:
    return {name: value for name, value in kept.items() if name != OWN}
