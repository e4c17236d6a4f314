"""A log in numbers: online clients by hour, shares, absences, correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.joint_availability import (
    JointAvailability,
    measure_joint_availability,
    shown_clients,
)
from f3ast_tff.availability.preview import Absences

_HOURS = 24


@dataclass(frozen=True)
class LogMeasures:
    """Measures of a log of T rounds and N clients.

    Attributes:
        num_online: Clients online in each round, `int64 [T]`.
        share: Share of the rounds in which each client is online, `float64 [N]`.
        longest_absence: Largest number of rounds in a row without each client, `int32 [N]`; T for a
            client that is never online.
        by_hour: Mean share of clients online in each hour of the day, or of rounds longer than an
            hour in each of the day's rounds, `float64 [H]`, H at most 24; `None` for a log shorter
            than two days.
        lag_one: Correlation of a client's states in successive rounds; NaN if none changes.
        lag_day: Correlation of a client's states a day apart; NaN for a log shorter than two days.
        together: Correlation across clients.
    """

    num_online: np.ndarray
    share: np.ndarray
    longest_absence: np.ndarray
    by_hour: np.ndarray | None
    lag_one: float
    lag_day: float
    together: JointAvailability

    @property
    def num_rounds(self) -> int:
        """T."""
        return len(self.num_online)

    @property
    def num_clients(self) -> int:
        """N."""
        return len(self.share)


def measure_log(masks: np.ndarray, rounds_per_day: int = 24, first: int = 0) -> LogMeasures:
    """Measures a log.

    Args:
        masks: Available clients by round, `bool [T, N]`.
        rounds_per_day: Rounds per day, at least 1.
        first: Index of round 1 in its day, from 0.
    """
    rounds, n = masks.shape
    absences = Absences(n)
    for mask in masks:
        absences.add(mask)
    num_online = masks.sum(axis=1)
    by_hour, whole = None, rounds // rounds_per_day
    if whole >= 2 and rounds_per_day > 1:
        days = num_online[: whole * rounds_per_day].reshape(whole, rounds_per_day)
        by_hour = _by_hour(np.roll(days.mean(axis=0) / n, first))
    return LogMeasures(
        num_online,
        share=masks.mean(axis=0),
        longest_absence=absences.longest,
        by_hour=by_hour,
        lag_one=_lagged(masks, 1),
        lag_day=_lagged(masks, rounds_per_day) if by_hour is not None else np.nan,
        together=measure_joint_availability(masks),
    )


def _by_hour(by_round: np.ndarray) -> np.ndarray:
    """Means over the hours of a day, from those of its rounds, `float64 [H]`."""
    if len(by_round) <= _HOURS:
        return by_round
    hours = np.arange(len(by_round)) * _HOURS // len(by_round)
    return np.bincount(hours, by_round) / np.bincount(hours)


def _lagged(masks: np.ndarray, lag: int) -> float:
    """Correlation of a client's states `lag` rounds apart, over all clients together."""
    masks = masks[:, shown_clients(masks.shape[1])]
    x = masks - masks.mean(axis=0, dtype=np.float32)
    now, before = x[lag:], x[:-lag]
    # Of these rounds alone, so that the correlation is within [-1, 1] in a short log too.
    scale = float(np.sqrt(np.mean(now * now) * np.mean(before * before))) if len(now) else 0.0
    return float(np.mean(now * before)) / scale if scale else np.nan
