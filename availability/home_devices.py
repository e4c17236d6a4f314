"""Home-devices: independent, each client with its own probability (Sec. IV-b, model 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.process import AvailabilityConfig, IndependentAvailability
from f3ast_tff.components import Reading, parameter, register
from f3ast_tff.randomness import generator

SPREADS = ("variance", "sigma")


def lognormal_availability(
    num_clients: int, seed: int, stream: str, spread: float, spread_is: str
) -> np.ndarray:
    """Draws q_k = t_k / max t with t_k ~ lognormal(0, spread) (App. C-B).

    Args:
        num_clients: Number of clients N.
        seed: Seed of the draw.
        stream: Name of the random stream.
        spread: Second parameter of the log-normal.
        spread_is: Whether that parameter is the `"variance"` of the logarithm, as it is written,
            or its `"sigma"`, as the released code passes it (reading R4).

    Returns:
        `float64 [N]` in (0, 1]; the largest is 1.
    """
    if spread_is not in SPREADS:
        raise ValueError(f"spread_is {spread_is!r}: must be one of {', '.join(SPREADS)}")
    sigma = np.sqrt(spread) if spread_is == "variance" else spread
    t = generator(seed, stream).lognormal(0.0, sigma, num_clients)
    return t / t.max()


class HomeDevices(IndependentAvailability):
    """q_k = t_k / max t, t_k ~ lognormal(0, 0.5)."""

    def __init__(self, num_clients: int, seed: int, spread_is: str = "variance") -> None:
        """Draws the q_k; see `lognormal_availability`."""
        super().__init__(
            lognormal_availability(num_clients, seed, "home_devices", 0.5, spread_is), seed
        )


@dataclass(frozen=True)
class LognormalConfig(AvailabilityConfig):
    """Base of processes whose q_k are log-normal."""

    lognormal_spread: str = parameter(
        Reading("R4", "variance", "sigma"), "what s of lognormal(0, s) is", choices=SPREADS
    )


@register(
    "availability",
    "home_devices",
    "Home devices",
    about="independent, client k with its own log-normal probability",
    order=3,
)
@dataclass(frozen=True)
class HomeDevicesConfig(LognormalConfig):
    """Configuration of `HomeDevices`."""

    def build(self, p: np.ndarray, seed: int) -> HomeDevices:
        """See `AvailabilityConfig.build`."""
        return HomeDevices(len(p), seed, self.lognormal_spread)
