"""Certain delivery: every client asked is received, and no time passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from f3ast_tff.components import register
from f3ast_tff.delivery.delivery import Arrivals, DeliveryConfig, DeliveryWorld


class Certain:
    """What the papers assume: whoever is asked answers in time. There is no clock."""

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """See `Delivery.arrivals`."""
        return Arrivals(np.ones(len(ids), bool), np.full(len(ids), math.nan), math.nan)


@register(
    "delivery", "certain", "Certain", about="every client asked is received; no clock", order=1
)
@dataclass(frozen=True)
class CertainConfig(DeliveryConfig):
    """Configuration of `Certain`."""

    def build(self, world: DeliveryWorld) -> Certain:
        """See `DeliveryConfig.build`."""
        return Certain()
