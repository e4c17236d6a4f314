"""Delivery without losses: every update arrives in its round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from f3ast_tff.delivery.delivery import Arrivals, DeliveryConfig
from f3ast_tff.settings import register


@register("delivery", "certain", "Certain", about="every client asked delivers; no clock", order=1)
@dataclass(frozen=True)
class Certain(DeliveryConfig):
    """The papers' assumption: every asked client delivers in time. There is no clock.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.delivery import Certain
        >>> arrivals = Certain().arrivals(round_number=1, ids=np.array([7, 2]))
        >>> arrivals.delivered.tolist(), arrivals.round_seconds
        ([True, True], nan)
    """

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        return Arrivals(np.ones(len(ids), bool), np.full(len(ids), math.nan), math.nan)
