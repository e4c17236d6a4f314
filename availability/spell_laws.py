"""Laws of the length of a spell: Weibull, log-normal, gamma, exponential.

A law draws a whole spell from a uniform number. A spell that is under way at a random time is
length-biased: its length has the density x f(x) / E[X], and a uniform share of it is left. So the
rest has the equilibrium density (1 - F(x)) / E[X], without a burn-in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from f3ast_tff.settings.text_values import number_in

# Beyond these bounds of a shape, and above this mean in hours, numbers overflow.
_LEAST_SHAPE, _MOST_SHAPE, _MOST_MEAN = 0.05, 20.0, 1e12


def _special() -> Any:
    # SciPy is imported by laws that need it alone.
    from scipy import special  # type: ignore[import-untyped]

    return special


class SpellLaw(Protocol):
    """A law of lengths X above 0, in units of time."""

    @property
    def mean(self) -> float:
        """E[X]."""
        ...

    def lengths(self, u: np.ndarray) -> np.ndarray:
        """Returns lengths of spells, `float64 [m]`, from uniform numbers in (0, 1), `[m]`."""
        ...

    def length_biased(self, u: np.ndarray) -> np.ndarray:
        """Returns lengths of spells that are under way at a random time, likewise."""
        ...


@dataclass(frozen=True)
class Weibull:
    """P(X > x) = exp(-(x / scale)^shape); the tail is heavier than exponential if the shape is < 1.

    (X / scale)^shape is exponential. For a length-biased X it is Gamma(1 + 1 / shape).

    Attributes:
        shape: Shape, above 0.
        scale: Scale, in units of time, above 0.

    Examples:
        >>> from f3ast_tff.availability.spell_laws import Weibull
        >>> round(Weibull(shape=0.5, scale=3.0).mean, 2)  # 3 Gamma(3)
        6.0
    """

    shape: float
    scale: float

    @property
    def mean(self) -> float:
        return self.scale * math.gamma(1 + 1 / self.shape)

    def lengths(self, u: np.ndarray) -> np.ndarray:
        return self.scale * (-np.log(u)) ** (1 / self.shape)

    def length_biased(self, u: np.ndarray) -> np.ndarray:
        return self.scale * _special().gammaincinv(1 + 1 / self.shape, u) ** (1 / self.shape)


@dataclass(frozen=True)
class LogNormal:
    """log X is normal with mean log(scale) and standard deviation shape.

    A length-biased X is log-normal with the same shape, and the scale times exp(shape^2).

    Attributes:
        shape: Standard deviation of log X, above 0.
        scale: Median of X, in units of time, above 0.

    Examples:
        >>> from f3ast_tff.availability.spell_laws import LogNormal
        >>> round(LogNormal(shape=1.0, scale=2.0).mean, 3)  # 2 exp(1 / 2)
        3.297
    """

    shape: float
    scale: float

    @property
    def mean(self) -> float:
        return self.scale * math.exp(self.shape**2 / 2)

    def lengths(self, u: np.ndarray) -> np.ndarray:
        return self.scale * np.exp(self.shape * _special().ndtri(u))

    def length_biased(self, u: np.ndarray) -> np.ndarray:
        return self.lengths(u) * math.exp(self.shape**2)


@dataclass(frozen=True)
class Gamma:
    """Density proportional to x^(shape - 1) exp(-x / scale).

    A length-biased X is a gamma with the shape plus 1.

    Attributes:
        shape: Shape, above 0.
        scale: Scale, in units of time, above 0.

    Examples:
        >>> from f3ast_tff.availability.spell_laws import Gamma
        >>> Gamma(shape=0.5, scale=3.0).mean
        1.5
    """

    shape: float
    scale: float

    @property
    def mean(self) -> float:
        return self.scale * self.shape

    def lengths(self, u: np.ndarray) -> np.ndarray:
        return self.scale * _special().gammaincinv(self.shape, u)

    def length_biased(self, u: np.ndarray) -> np.ndarray:
        return self.scale * _special().gammaincinv(self.shape + 1, u)


_LAWS: dict[str, type[Weibull | LogNormal | Gamma]] = {
    "weibull": Weibull,
    "lognormal": LogNormal,
    "gamma": Gamma,
}
FORM = (
    "weibull, lognormal or gamma with SHAPE,SCALE, such as weibull,0.63,9.48; or exponential,MEAN"
)


def read_law(text: str) -> SpellLaw:
    """Returns the law that a text such as `weibull,0.63,9.48` names.

    An exponential law is a Weibull law of shape 1.

    Raises:
        ValueError: If the text has another form, or a number is not allowed.

    Examples:
        >>> from f3ast_tff.availability.spell_laws import read_law
        >>> read_law("exponential,3")
        Weibull(shape=1.0, scale=3.0)
    """
    name, *words = (word.strip().lower() for word in text.split(","))
    if name == "exponential":
        name, words = "weibull", ["1", *words]
    if name not in _LAWS or len(words) != 2:
        raise ValueError(f"must be {FORM}")
    try:
        shape, scale = map(number_in, words)
    except ValueError as error:
        raise ValueError(f"must be {FORM}") from error
    if not _LEAST_SHAPE <= shape <= _MOST_SHAPE:
        raise ValueError(f"shape must be at least {_LEAST_SHAPE:g} and at most {_MOST_SHAPE:g}")
    if not 0 < scale < math.inf:
        raise ValueError("scale must be above 0 and finite")
    law = _LAWS[name](shape, scale)
    if not 0 < law.mean <= _MOST_MEAN:
        raise ValueError(f"mean must be above 0 and at most {_MOST_MEAN:g} hours")
    return law
