"""Whether clients are available together, measured on a log: the case of eq. (3)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from f3ast_tff.availability.logs.mask_files import PackedMasks

_LOGGER = logging.getLogger(__name__)

_BLOCKS = 8
# Student's t of 7 degrees, 97.5%.
_QUANTILE = 2.365
# With these a block has 4 rounds.
_FEWEST_ROUNDS = 32
# Least correlation that counts: in 1000 rounds independent built-in processes stay below, all
# others are above.
_LEAST = 0.01
# Largest number of clients to measure; their pairs take some 30 MB.
_MAX_CLIENTS = 1000


@dataclass(frozen=True)
class JointAvailability:
    """Measure of joint availability.

    Attributes:
        correlation: Summed correlation of the pairs that are together in other parts of the log,
            over the number of all pairs; NaN if the log is too short.
        low: Lower end of the 95% interval over parts of the log.
        high: Upper end of the 95% interval.
    """

    correlation: float
    low: float
    high: float

    @property
    def positive(self) -> bool:
        """Whether the clients count as positively correlated; true if unclear.

        The paper's p / r bounds the variance in all cases (below eq. (3)).
        """
        return not self.high < _LEAST

    @property
    def objective(self) -> str:
        """The case of eq. (3): `"p"` if clients may come together, else `"p_squared"`."""
        return "p" if self.positive else "p_squared"

    def __str__(self) -> str:
        """Returns the measure in words."""
        if np.isnan(self.correlation):
            return f"fewer than {_FEWEST_ROUNDS} rounds do not tell whether clients come together"
        words = "clients do not come and go together"
        if self.positive:
            clear = self.low > _LEAST
            words = words.replace(" do not", "") if clear else "clients may come and go together"
        return f"{words}: correlation {self.correlation:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def shown_clients(num_clients: int) -> np.ndarray:
    """Returns the clients to measure, at most 1000, evenly spaced, `int64 [n]`."""
    shown = min(num_clients, _MAX_CLIENTS)
    return np.unique(np.linspace(0, num_clients - 1, shown).astype(np.int64))


def measure_joint_availability(masks: np.ndarray) -> JointAvailability:
    """Measures whether the availability of a client makes another more likely to be available.

    The log is cut into 8 parts. For each part, the correlations of the pairs that are positive over
    the parts not beside it are summed, about the clients' means there. By chance alone the sum is
    0, because a pair that is together by accident is not so again a part later; clients may stay
    long, if much shorter than a part. Pairs that are never together, as in groups that take turns,
    do not cancel pairs that are. The sum is divided by the number of all pairs.

    Args:
        masks: Available clients by round, `bool [T, N]`; at most 1000 clients are measured.

    Returns:
        The mean over the parts with its Student interval; NaN with fewer than 32 rounds.
    """
    x = masks[:, shown_clients(masks.shape[1])].astype(np.float32)
    x = x - x.mean(axis=0)
    spread = x.std(axis=0)
    n = x.shape[1]
    # A client that is always or never available correlates with no client.
    x = x[:, spread > 0] / spread[spread > 0]
    if len(x) < _FEWEST_ROUNDS:
        return JointAvailability(np.nan, np.nan, np.nan)
    parts = np.array_split(x, _BLOCKS)
    products = [part.T @ part for part in parts]
    found = np.empty(_BLOCKS)
    for b, part in enumerate(parts):
        # The parts beside this one hold the same stays. A mean over all parts would tie all parts
        # together: the pairs of clients that stay long would seem to agree.
        others = [c for c in range(_BLOCKS) if abs(c - b) > 1]
        level = np.concatenate([parts[c] for c in others]).mean(axis=0)
        rounds = sum(len(parts[c]) for c in others)
        pairs = np.sum([products[c] for c in others], axis=0) - rounds * np.outer(level, level)
        np.fill_diagonal(pairs, 0)
        here = part - level
        found[b] = (here.T @ here)[pairs > 0].sum() / len(part) / max(n * (n - 1), 1)
    mean, reach = found.mean(), _QUANTILE * found.std(ddof=1) / np.sqrt(_BLOCKS)
    return JointAvailability(float(mean), float(mean - reach), float(mean + reach))


def measured_and_said(masks: PackedMasks, name: str) -> JointAvailability:
    """Measures masks and logs the objective that follows.

    Args:
        masks: Available clients by round.
        name: Name in the message.
    """
    shown = shown_clients(masks.shape[1])
    found = measure_joint_availability(np.array([mask[shown] for mask in masks]))
    _LOGGER.warning("%s: %s, so availability_objective=%s", name, found, found.objective)
    return found
