"""The five availability models of F3AST's Sec. IV-b; details of App. C-B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.process import (
    AvailabilityConfig,
    IndependentAvailability,
    NonStationary,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import Reading, parameter, register

SPREADS = ("variance", "sigma")
GRIDS = ("hourly", "endpoints")


class Everybody(IndependentAvailability):
    """q_k = 1, without draws."""

    def mask(self, round_number: int) -> np.ndarray:
        return np.ones(self.num_clients, bool)


@register("availability", "always", "Always", about="every client in every round", order=1)
@dataclass(frozen=True)
class AlwaysConfig(AvailabilityConfig):
    """Model 1, the baseline.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import AlwaysConfig
        >>> AlwaysConfig().build(np.ones(3) / 3, seed=0).mask(1).tolist()
        [True, True, True]
    """

    def build(self, p: np.ndarray, seed: int) -> Everybody:
        return Everybody(np.ones(len(p)), seed)


@register(
    "availability", "scarce", "Scarce", about="every client with the same probability q", order=2
)
@dataclass(frozen=True)
class ScarceConfig(AvailabilityConfig):
    """Model 2: homogeneous and rare.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import ScarceConfig
        >>> process = ScarceConfig(scarce_q=0.3).build(np.ones(1000) / 1000, seed=0)
        >>> [int(process.mask(t).sum()) for t in (1, 2, 3)]
        [307, 301, 292]
    """

    scarce_q: float = parameter(0.2, "probability of every client", minimum=0, maximum=1)

    def build(self, p: np.ndarray, seed: int) -> IndependentAvailability:
        return IndependentAvailability(np.full(len(p), self.scarce_q), seed)


@dataclass(frozen=True)
class LognormalConfig(AvailabilityConfig):
    """Base of models 3 and 4: q_k = t_k / max t with t_k ~ lognormal(0, s).

    The paper does not say what s is. It stands where the variance of log t_k does in the usual
    notation; the released code passes it as the standard deviation (reading R4).
    """

    lognormal_spread: str = parameter(
        Reading("R4", "variance", "sigma"), "what s of lognormal(0, s) is", choices=SPREADS
    )

    def draw_q(self, num_clients: int, seed: int, stream: str, s: float) -> np.ndarray:
        """Returns q_k, `float64 [N]` in (0, 1]; the largest is 1."""
        sigma = np.sqrt(s) if self.lognormal_spread == "variance" else s
        t = generator(seed, stream).lognormal(0.0, sigma, num_clients)
        return t / t.max()


@register(
    "availability",
    "home_devices",
    "Home devices",
    about="independent, client k with its own log-normal probability",
    order=3,
)
@dataclass(frozen=True)
class HomeDevicesConfig(LognormalConfig):
    """Model 3: t_k ~ lognormal(0, 0.5).

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import HomeDevicesConfig
        >>> process = HomeDevicesConfig().build(np.ones(5) / 5, seed=0)
        >>> process.stationary.round(2).tolist()
        [0.33, 0.56, 0.44, 1.0, 0.66]
    """

    def build(self, p: np.ndarray, seed: int) -> IndependentAvailability:
        return IndependentAvailability(self.draw_q(len(p), seed, "home_devices", 0.5), seed)


def daily_wave(grid: str) -> np.ndarray:
    """Returns f_1 .. f_24 of f(t) = 0.4 sin(t) + 0.5, `float64 [24]`.

    Args:
        grid: `"hourly"`, t = 2 pi j / 24 for j = 1..24 (the paper), or `"endpoints"`, 24 points
            of [0, 2 pi] with both ends, so that midnight comes twice (the released code, R5). The
            released code indexes by round mod 24, so its round 1 is at the second point.
    """
    if grid == "hourly":
        t = 2 * np.pi * np.arange(1, 25) / 24
    else:
        t = np.roll(np.linspace(0, 2 * np.pi, 24), -1)
    return 0.4 * np.sin(t) + 0.5


@register(
    "availability",
    "smartphones",
    "Smartphones",
    about="day and night: log-normal probabilities under a daily sine wave, one round an hour",
    order=5,
)
@dataclass(frozen=True)
class SmartphonesConfig(LognormalConfig):
    """Model 4: q_{k,t} = f_t q_k, t_k ~ lognormal(0, 0.25); one round an hour.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import SmartphonesConfig
        >>> process = SmartphonesConfig().build(np.ones(1000) / 1000, seed=0)
        >>> [int(process.mask(t).sum()) for t in (6, 12, 18, 24)]  # Hours of a day.
        [194, 98, 30, 97]
    """

    positively_correlated: ClassVar[bool] = NonStationary.positively_correlated

    smartphones_grid: str = parameter(
        Reading("R5", "hourly", "endpoints"), "hours of the sine wave", choices=GRIDS
    )

    def build(self, p: np.ndarray, seed: int) -> NonStationary:
        q = self.draw_q(len(p), seed, "smartphones", 0.25)
        return NonStationary(q, seed, daily_wave(self.smartphones_grid))


@register(
    "availability",
    "uneven",
    "Uneven",
    about="q_k proportional to 1 / n_k: the more data, the rarer",
    order=4,
)
@dataclass(frozen=True)
class UnevenConfig(AvailabilityConfig):
    """Model 5: q_k proportional to 1 / p_k; the client with the least data is always available.

    These p_k are shares of the data in each objective, see `AvailabilityConfig.build`. If clients
    hold equally much, such as CIFAR-100's, all are always available.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import UnevenConfig
        >>> UnevenConfig().build(np.array([0.5, 0.25, 0.25]), seed=0).stationary.tolist()
        [0.5, 1.0, 1.0]
    """

    def build(self, p: np.ndarray, seed: int) -> IndependentAvailability:
        p = np.asarray(p, np.float64)
        wrong = np.flatnonzero(~(p > 0))
        if len(wrong):
            k = wrong[0]
            allowed = f"needs every p_k above 0, as q_k is proportional to 1 / p_k; p_{k} is {p[k]}"
            raise ParameterError("availability", "uneven", allowed)
        return IndependentAvailability(p.min() / p, seed)
