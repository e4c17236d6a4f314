"""An availability process over some rounds, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.constraints import CommunicationConstraint
from f3ast_tff.availability.process import AvailabilityProcess, stationary_of
from f3ast_tff.availability.round_clients import Population, available_clients, present_clients


class Absences:
    """Rounds in a row without each client.

    Let tau_k(t) be the number of rounds since client k was last available: 0 if it is available in
    round t, and t if it has not been available yet. Then

        tau_max = max over k, t of tau_k(t),   tau_avg = mean over k, t of tau_k(t).

    Attributes:
        longest: max over t of tau_k(t), `int32 [N]`.
    """

    def __init__(self, num_clients: int) -> None:
        """Starts before round 1, for N clients."""
        self.longest = np.zeros(num_clients, np.int32)
        self._running = np.zeros(num_clients, np.int32)
        self._total = self._rounds = 0

    def add(self, mask: np.ndarray) -> None:
        """Adds the available clients of the next round, `bool [N]`."""
        self._running += 1
        self._running[mask] = 0
        np.maximum(self.longest, self._running, out=self.longest)
        self._total += int(self._running.sum(dtype=np.int64))
        self._rounds += 1

    @property
    def tau_max(self) -> int:
        """Longest absence of a client, in rounds."""
        return int(self.longest.max(initial=0))

    @property
    def tau_avg(self) -> float:
        """Mean of tau_k(t) over clients and rounds, in rounds; NaN before round 1."""
        counted = self._rounds * len(self.longest)
        return self._total / counted if counted else float("nan")


# Largest number of rows that a picture can show.
MAX_SHOWN = 400


@dataclass(frozen=True)
class Preview:
    """Rounds 1..T of a process; masks are kept only for some of perhaps millions of clients.

    Attributes:
        num_available: Number of available clients in each round, `int64 [T]`.
        num_present: Number of present clients in each round, `int64 [T]`.
        k: K_t of each round, `int64 [T]`, `None` without a constraint.
        frequency: Share of rounds in which each client was available, `float64 [N]`.
        stationary: Limit of that share, `float [N]`, `None` if unknown.
        autocorrelation: Correlation of a client's availability in successive rounds, over all
            clients together; NaN if no client ever changed.
        absences: Absences of the clients.
        shown: Ids of the kept clients, all or evenly spaced, `int64 [n]`.
        masks: Availability of the kept clients, `bool [T, n]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import AlternatingConfig
        >>> from f3ast_tff.availability.preview import preview
        >>> config = AlternatingConfig(alternating_period=3)
        >>> process = config.build(np.ones(4) / 4, seed=0)
        >>> seen = preview(process, rounds=12)
        >>> seen.frequency.tolist(), seen.absences.tau_max
        ([0.5, 0.5, 0.5, 0.5], 3)
    """

    num_available: np.ndarray
    num_present: np.ndarray
    k: np.ndarray | None
    frequency: np.ndarray
    stationary: np.ndarray | None
    autocorrelation: float
    absences: Absences
    shown: np.ndarray
    masks: np.ndarray


def preview(
    process: AvailabilityProcess, rounds: int, constraint: CommunicationConstraint | None = None
) -> Preview:
    """Runs a process for some rounds.

    Args:
        process: The process.
        rounds: T, at least 1.
        constraint: Constraint to show K_t of, if any.

    Raises:
        ComponentError: If a mask is not `bool [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Markov
        >>> from f3ast_tff.availability.preview import preview
        >>> chains = Markov(pi=np.full(1000, 0.3), eigenvalue=np.full(1000, 0.8), seed=0)
        >>> seen = preview(chains, rounds=500)
        >>> round(float(seen.frequency.mean()), 2), round(seen.autocorrelation, 2)
        (0.3, 0.8)
    """
    n = process.num_clients
    shown = np.unique(np.linspace(0, n - 1, min(n, MAX_SHOWN)).round().astype(np.int64))
    num_available, masks = np.zeros(rounds, np.int64), np.zeros((rounds, len(shown)), bool)
    num_present = np.full(rounds, n)
    total, both = np.zeros((2, n), np.int32)
    absences = Absences(n)
    first = last = available_clients(process, n, 1)
    for t in range(1, rounds + 1):
        mask = available_clients(process, n, t)
        num_available[t - 1], masks[t - 1] = np.count_nonzero(mask), mask[shown]
        if isinstance(process, Population):
            num_present[t - 1] = np.count_nonzero(present_clients(process, n, t))
        total += mask
        absences.add(mask)
        if t > 1:
            both += mask & last
        last = mask
    k = None
    if constraint is not None:
        k = np.array([constraint.limit(t).k for t in range(1, rounds + 1)])
    return Preview(
        num_available,
        num_present,
        k,
        frequency=total / rounds,
        stationary=stationary_of(process),
        autocorrelation=_autocorrelation(
            both, earlier=total - last, later=total - first, pairs=rounds - 1
        ),
        absences=absences,
        shown=shown,
        masks=masks,
    )


def _autocorrelation(both: np.ndarray, earlier: np.ndarray, later: np.ndarray, pairs: int) -> float:
    """Sums covariances and variances over clients; counts leave out one round."""
    if pairs == 0:
        return float("nan")
    x, y = earlier / pairs, later / pairs
    covariance = np.sum(both / pairs - x * y)
    variance = np.sqrt(np.sum(x - x**2) * np.sum(y - y**2))
    return float(covariance / variance) if variance > 0 else float("nan")


def report(seen: Preview) -> str:
    """Returns a short table of a preview."""
    counts, n, absent = seen.num_available, len(seen.frequency), seen.absences
    rows = {
        "mean available": f"{counts.mean():.4g} of {n} ({counts.mean() / n:.4f})",
        "fewest, most": f"{counts.min()}, {counts.max()}",
        "empty rounds": f"{np.count_nonzero(counts == 0)} of {len(counts)}",
        "lag-1 autocorrelation": f"{seen.autocorrelation:.3f}",
        "absence, in rounds": f"tau_avg {absent.tau_avg:.4g}, tau_max {absent.tau_max}",
    }
    if (seen.num_present < n).any():
        least, most = seen.num_present.min(), seen.num_present.max()
        rows["mean present"] = f"{seen.num_present.mean():.4g} of {n}, {least} to {most}"
    if seen.stationary is None:
        rows["stationary"] = "not known"
    else:
        gap = np.abs(seen.frequency - seen.stationary).max()
        rows["stationary"] = f"mean {seen.stationary.mean():.4f}, largest gap of a client {gap:.3f}"
    if seen.k is not None:
        short = np.count_nonzero(counts < seen.k)
        rows["K_t"] = f"mean {seen.k.mean():.4g}, {short} rounds with fewer available"
    return "\n".join(f"{name:<22} {value}" for name, value in rows.items())
