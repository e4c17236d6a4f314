"""How LoRA's factors are averaged: rules around a sum or mean of updates.

W = W_0 + s B A, and D_k holds a client's changes of A and B. The weights w_k are those of the
aggregation inside: over their sum for a mean, else as they are. Two schemes need no rule: changes
of factors, A += sum_k w_k (A_k - A) and B likewise, are what a sum or mean of updates is; with A
frozen (FFA-LoRA, Sun et al., ICLR 2024) A is no leaf that is trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.randomness import generator, mixed_words
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    Memory,
    RoundContext,
    Values,
)
from f3ast_tff.methods.parts.wrapped_memory import WrappedAggregation, WrappedMemory
from f3ast_tff.models.factor_pairs import Located

_BYTES = 4


@dataclass(frozen=True)
class FactorRules(WrappedMemory):
    """Base of the rules.

    Attributes:
        inner: No rules.
        ranges: Coordinates of the factors and of the bases that the server changes.
        pairs: Places of the factors.
        is_mean: Whether the weights are divided by their sum.
        seed: Seed of fresh factors.
    """

    pairs: tuple[Located, ...]
    is_mean: bool
    seed: int

    @property
    def by_client(self) -> bool:
        """See `Memory.by_client`."""
        return type(self).client is not WrappedMemory.client or self.has_messages

    @property
    def has_messages(self) -> bool:
        """See `Memory.has_messages`."""
        return type(self).message is not WrappedMemory.message

    def _bytes(self, factors: str) -> int:
        """Bytes of all A, of all B, or of all bases."""
        found = [getattr(pair, factors) for pair in self.pairs]
        return _BYTES * sum(end - first for first, end in found)


@dataclass(frozen=True)
class MeanFactors(FactorRules):
    """FedIT (Zhang et al., ICASSP 2024): A = sum_k w_k A_k, B = sum_k w_k B_k.

    Weights of another sum than 1 scale A and B, and so old progress, in each round.
    """

    def aggregated(self, delta: Any, server: Values, now: RoundContext) -> Any:
        """See `Memory.aggregated`: sum_k w_k A_k = A + sum_k w_k (A_k - A) + (sum_k w_k - 1) A."""
        total = 1.0 if now.cohort is None else now.cohort.weight
        # A sum of 0 divides nothing.
        total = now.xp.where(self.is_mean & (total != 0), 1.0, total)
        of_factors = np.zeros(now.model.shape, np.float32)
        for pair in self.pairs:
            of_factors[slice(*pair.a)] = of_factors[slice(*pair.b)] = 1
        return delta + (total - 1) * of_factors * now.model


@dataclass(frozen=True)
class Halves(FactorRules):
    """RoLoRA (Chen et al., 2025): B is trained in odd rounds, A in even ones, each by changes."""

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        with_b, with_a = np.ones((2, *now.model.shape), np.float32)
        for pair in self.pairs:
            with_b[slice(*pair.a)] = with_a[slice(*pair.b)] = 0
        return ClientInit(trains=now.xp.where(now.round_number % 2 == 1, with_b, with_a))

    def payload(self, model_bytes: int) -> tuple[int, int]:
        """See `Memory.payload`: both come down to a client that was away; up, a half on average."""
        return model_bytes, model_bytes - (self._bytes("a") + self._bytes("b")) // 2


@dataclass(frozen=True)
class _IntoTheBase(FactorRules):
    """Rules by which the server changes W_0, which clients hold as it is."""

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        """See `Memory.message`: s (B_k A_k - B A) at the base, which the server can compute."""
        return _replaced(update, _changes(now.model + update, now.model, self.pairs), now.xp), 1.0

    def payload(self, model_bytes: int) -> tuple[int, int]:
        """See `Memory.payload`: the base's change comes down whole, as rounds may be missed."""
        return model_bytes, model_bytes - self._bytes("base")


@dataclass(frozen=True)
class ExactProducts(_IntoTheBase):
    """FedEx-LoRA (Singhal et al., ACL 2025) on changes: A' and B' by changes, the rest into W_0.

        W_0 += s (sum_k w_k (B_k A_k - B A) - (B' A' - B A))

    So W changes by sum_k w_k of the clients' changes of it, whatever the sum of the weights. The
    server steps by its rate along this.
    """

    def aggregated(self, delta: Any, server: Values, now: RoundContext) -> Any:
        """See `Memory.aggregated`: takes from the base what the step of A and B does to W."""
        after = now.model + now.server_rate * delta
        steps = _changes(after, now.model, self.pairs)
        return _replaced(
            delta,
            {at: delta[slice(*at)] - own / now.server_rate for at, own in steps.items()},
            now.xp,
        )


@dataclass(frozen=True)
class FreshFactors(_IntoTheBase):
    """FLoRA (Wang et al., NeurIPS 2024): W_0 += s sum_k w_k B_k A_k, then fresh A, and B = 0."""

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        sent, factor = super().message(client, update, losses, now)
        return self._with_factors(sent, now.xp, lambda n, pair: now.xp.zeros(n, sent.dtype)), factor

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """See `Memory.end_round`: the round's number and the seed decide on A.

        What A and B still hold, in round 1 of a model that has been trained, goes into W_0.
        """

        def fresh(size: int, pair: Located) -> Any:
            inputs = (pair.a[1] - pair.a[0]) // pair.rank
            start = generator(self.seed, "fresh factors", pair.a[0]).integers(2**32)
            key = mixed_words(now.xp.asarray([start], np.uint32))
            key = mixed_words(key ^ mixed_words(now.xp.asarray([now.round_number], np.uint32)))
            draws = mixed_words(now.xp.arange(size, dtype=np.uint32) + key) >> np.uint32(8)
            # 24 bits, exact in float32; the bound is that of the first A.
            return (draws.astype(np.float32) * np.float32(2**-23) - 1) / np.float32(inputs**0.5)

        held = {p.base: model[slice(*p.base)] + p.product(model) for p in self.pairs if p.base}
        return server, self._with_factors(_replaced(model, held, now.xp), now.xp, fresh)

    def _with_factors(self, vector: Any, xp: Any, a: Any) -> Any:
        """A vector with `a(size, pair)` for each A, and 0 for each B."""
        parts = {}
        for pair in self.pairs:
            parts[pair.a] = a(pair.a[1] - pair.a[0], pair)
            parts[pair.b] = xp.zeros(pair.b[1] - pair.b[0], vector.dtype)
        return _replaced(vector, parts, xp)

    def payload(self, model_bytes: int) -> tuple[int, int]:
        """See `Memory.payload`: fresh factors come by the seed."""
        down, up = super().payload(model_bytes)
        return down - self._bytes("a") - self._bytes("b"), up


RULES: dict[str, type[FactorRules]] = {
    "fedit": MeanFactors,
    "fedex": ExactProducts,
    "flora": FreshFactors,
    "rolora": Halves,
}
# Names of the rules by which the server changes the base.
INTO_BASE = ("fedex", "flora")


@dataclass(frozen=True)
class Factored(WrappedAggregation):
    """An aggregation of LoRA's factors.

    Attributes:
        inner: The sum or mean of updates.
        ranges: See `FactorRules`.
        rules: Its rules.
    """

    rules: FactorRules

    @property
    def memory(self) -> Memory:
        return self.rules


def _replaced(vector: Any, parts: dict[tuple[int, int], Any], xp: Any) -> Any:
    """A vector with other values in some ranges."""
    pieces, done = [], 0
    for (first, end), values in sorted(parts.items(), key=lambda part: part[0]):
        pieces += [vector[done:first], values]
        done = end
    return xp.concatenate([*pieces, vector[done:]])


def _changes(after: Any, before: Any, pairs: tuple[Located, ...]) -> dict[tuple[int, int], Any]:
    """The changes s (B' A' - B A) by the coordinates of the bases."""
    return {
        pair.base: pair.product(after) - pair.product(before)
        for pair in pairs
        if pair.base is not None
    }
