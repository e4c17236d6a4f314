"""An availability process: phones that are on Wi-Fi except when their owner commutes.

f3ast-tff run --plugin=examples/plugins/commuters.py --availability=commuters --commute_rounds=3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability import AvailabilityConfig
from f3ast_tff.components import parameter, register
from f3ast_tff.randomness import generator


class Commuters:
    """Client k is away for a few rounds of each day, from its own hour on.

    Attributes:
        num_clients: Number of clients N.
    """

    positively_correlated = True
    periodic = True

    def __init__(self, num_clients: int, seed: int, day: int, away: int) -> None:
        """Draws the hour at which each client leaves.

        Args:
            num_clients: Number of clients N.
            seed: Seed of the hours.
            day: Rounds of a day.
            away: Rounds of a day in which a client is away, below `day`.
        """
        self.num_clients = num_clients
        self._day, self._away = day, away
        # Most leave in the morning.
        hours = generator(seed, "commuters").normal(day / 3, day / 12, num_clients)
        self._leaves = np.round(hours).astype(np.int64) % day

    @property
    def stationary(self) -> np.ndarray:
        """Share of the rounds in which each client is available, `float64 [N]`."""
        return np.full(self.num_clients, 1 - self._away / self._day)

    def mask(self, round_number: int) -> np.ndarray:
        """Returns who is available in round t, `bool [N]`."""
        return (round_number - self._leaves) % self._day >= self._away


@register("availability", "commuters", "Commuters", about="away for some rounds of each day")
@dataclass(frozen=True)
class CommutersConfig(AvailabilityConfig):
    """Configuration of `Commuters`."""

    positively_correlated: ClassVar[bool] = True

    commute_day: int = parameter(24, "length of a day", minimum=2, units="rounds")
    commute_rounds: int = parameter(2, "absence a day", minimum=1, maximum=24, units="rounds")

    def build(self, p: np.ndarray, seed: int) -> Commuters:
        """Builds the process for clients of shares p."""
        return Commuters(len(p), seed, self.commute_day, min(self.commute_rounds, self.commute_day))
