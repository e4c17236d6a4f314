"""An aggregation with a memory: FedVARP with running means of each client's updates.

f3ast-tff run --plugin=smoothed_varp.py --aggregation=smoothed_varp --smoothing=0.3
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MethodRules
from f3ast_tff.settings import parameter, register


@register("aggregation", "smoothed_varp", "Smoothed VARP", about="FedVARP over running means")
@dataclass(frozen=True)
class SmoothedVarp(MethodRules):
    """Delta = mean_S (D_k - y_k) + sum_j p_j y_j; then y_k of S moves part of the way to D_k."""

    normalise: ClassVar[bool] = True
    vectors: ClassVar[Mapping[str, str]] = {"y": "zero"}
    averages: ClassVar[tuple[str, ...]] = ("y",)

    smoothing: float = parameter(0.5, "part that a running mean moves", above=0, maximum=1)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Client k sends D_k - y_k."""
        return ClientInit(shift=-client.kept["y"])

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """Returns the new y_k, which the memory keeps."""
        y = client.kept["y"]
        return {"y": y + self.smoothing * (update - y)}

    def correction(self, server: Values, now: RoundContext) -> Any:
        """The server adds sum_j p_j y_j, an average that it keeps because `averages` names y."""
        return server["average_y"]
