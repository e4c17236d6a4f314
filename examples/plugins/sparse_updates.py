"""Clients send the largest entries of their updates alone, and keep the rest for later rounds.

f3ast-tff run --plugin=sparse_updates.py --aggregation=sparse_updates

Stich, Cordonnier and Jaggi (NeurIPS 2018), with their error memory: e_k is what client k left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.aggregation import SumOrMean
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    Memory,
    RoundContext,
    Values,
)
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class LargestEntries(Memory):
    """Sends the largest entries of D_k + e_k; the rest is the new e_k.

    Attributes:
        share: Share of the entries that is sent, in (0, 1].
    """

    share: float

    vectors: ClassVar[Mapping[str, str]] = {"rest": "zero"}

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Adds e_k to the update before `message`."""
        return ClientInit(shift=client.kept["rest"])

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        """Zeros in place of small entries."""
        return self._largest(update, now.xp), 1.0

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """The entries that were left out."""
        whole = update + client.kept["rest"]
        return {"rest": whole - self._largest(whole, now.xp)}

    def _largest(self, vector: Any, xp: Any) -> Any:
        number = max(1, round(self.share * len(vector)))
        least = xp.sort(xp.abs(vector))[-number]
        return xp.where(xp.abs(vector) >= least, vector, 0.0)


@register("aggregation", "sparse_updates", "Top-k", about="sum or mean of large entries")
@dataclass(frozen=True)
class SparseUpdates(SumOrMean):
    """The weighted sum or mean of `LargestEntries`."""

    sent_share: float = parameter(0.1, "share of an update's entries that is sent", above=0)

    @property
    def memory(self) -> LargestEntries:
        """The rules."""
        return LargestEntries(min(self.sent_share, 1.0))
