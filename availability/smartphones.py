"""Smartphones: home-devices under a daily sine wave (Sec. IV-b, model 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.draws import bernoulli
from f3ast_tff.availability.home_devices import LognormalConfig, lognormal_availability
from f3ast_tff.availability.process import IndependentAvailability
from f3ast_tff.components import Reading, parameter, register

GRIDS = ("hourly", "endpoints")


def daily_wave(grid: str) -> np.ndarray:
    """Returns one day of f(t) = 0.4 sin(t) + 0.5, `float64 [24]` (App. C-B).

    Args:
        grid: `"hourly"`, t = 2 pi j / 24 for j = 1..24 (the paper), or `"endpoints"`, 24 points
            of [0, 2 pi] with both ends, so that midnight comes twice (the released code, R5).
    """
    if grid == "hourly":
        t = 2 * np.pi * np.arange(1, 25) / 24
    elif grid == "endpoints":
        t = np.linspace(0, 2 * np.pi, 24)
    else:
        raise ValueError(f"grid {grid!r}: must be one of {', '.join(GRIDS)}")
    return 0.4 * np.sin(t) + 0.5


class Smartphones(IndependentAvailability):
    """q_{k,t} = f_t q_k, t_k ~ lognormal(0, 0.25); one round an hour.

    Clients are independent given the hour, but share it: over the rounds their availability is
    positively correlated.
    """

    positively_correlated = True
    periodic = True

    def __init__(
        self, num_clients: int, seed: int, spread_is: str = "variance", grid: str = "hourly"
    ) -> None:
        """Draws the q_k; see `lognormal_availability` and `daily_wave`."""
        super().__init__(
            lognormal_availability(num_clients, seed, "smartphones", 0.25, spread_is), seed
        )
        self._wave = daily_wave(grid)
        # Round 1 is j = 1 on the paper's grid; the released code indexes by round mod 24.
        self._first = 1 if grid == "hourly" else 0

    def probabilities(self, round_number: int) -> np.ndarray:
        """Returns f_t q_k, `float [N]`."""
        return self.q * self._f(round_number)

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`; without the array of `probabilities`."""
        return bernoulli(self.q, self._rng(round_number), factor=self._f(round_number))

    @property
    def stationary(self) -> np.ndarray:
        """The day's mean, `float [N]`: q_k / 2 on the hourly grid."""
        return self.q * float(self._wave.mean())

    def _f(self, round_number: int) -> float:
        return float(self._wave[(round_number - self._first) % 24])


@register(
    "availability",
    "smartphones",
    "Smartphones",
    about="log-normal probabilities under a daily sine wave, one round an hour",
    order=5,
)
@dataclass(frozen=True)
class SmartphonesConfig(LognormalConfig):
    """Configuration of `Smartphones`."""

    positively_correlated: ClassVar[bool] = Smartphones.positively_correlated

    smartphones_grid: str = parameter(
        Reading("R5", "hourly", "endpoints"), "hours of the sine wave", choices=GRIDS
    )

    def build(self, p: np.ndarray, seed: int) -> Smartphones:
        """See `AvailabilityConfig.build`."""
        return Smartphones(len(p), seed, self.lognormal_spread, self.smartphones_grid)
