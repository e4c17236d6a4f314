"""An availability process: phones that are on Wi-Fi except when their owner commutes.

f3ast-tff run --plugin=commuters.py --availability=commuters --commute_rounds=3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability import AvailabilityConfig, Turns
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register


@register("availability", "commuters", "Commuters", about="away for some rounds of each day")
@dataclass(frozen=True)
class CommutersConfig(AvailabilityConfig):
    """Client k is away for a few rounds of each day, starting at an hour drawn for the client."""

    positively_correlated: ClassVar[bool] = True

    commute_day: int = parameter(24, "length of a day", minimum=2, units="rounds")
    commute_rounds: int = parameter(2, "absence a day", minimum=1, maximum=24, units="rounds")

    def build(self, p: np.ndarray, seed: int) -> Turns:
        """Draws the hours of departure.

        Any object with `mask(t)` and `num_clients` is a process; `Turns` is one.
        """
        day, away = self.commute_day, min(self.commute_rounds, self.commute_day)
        # Most clients leave in the morning.
        hours = generator(seed, "commuters").normal(day / 3, day / 12, len(p))
        leaves = np.round(hours).astype(np.int64) % day
        return Turns(leaves + away - 1, np.full(len(p), day - away), day)
