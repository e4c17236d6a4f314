"""An availability process over some rounds, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.absences import Absences
from f3ast_tff.availability.constraints import CommunicationConstraint
from f3ast_tff.availability.process import AvailabilityProcess, stationary_of
from f3ast_tff.methods.parts.wrappers import Population, present_clients
from f3ast_tff.run.selecting import available_clients

# More rows than this a picture cannot show.
MAX_SHOWN = 400


@dataclass(frozen=True)
class Preview:
    """Rounds 1..T of a process, not kept in full: it may have millions of clients.

    Attributes:
        num_available: Clients available in each round, `int64 [T]`.
        num_present: Clients that exist in each round, `int64 [T]`.
        k: K_t of each round, `int64 [T]`, `None` without a constraint.
        frequency: Share of the rounds each client was available in, `float64 [N]`.
        stationary: What that share tends to, `float [N]`, `None` if it is not known.
        autocorrelation: Correlation of a client's availability in successive rounds, over all
            clients together; NaN if no client ever changed.
        absences: How long clients were away.
        shown: Ids of the clients kept, all or evenly spaced, `int64 [n]`.
        masks: Their availability, `bool [T, n]`.

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
        constraint: Where K_t is of interest.

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
        total / rounds,
        stationary_of(process),
        _autocorrelation(both, total - last, total - first, rounds - 1),
        absences,
        shown,
        masks,
    )


def _autocorrelation(both: np.ndarray, earlier: np.ndarray, later: np.ndarray, pairs: int) -> float:
    """Sums covariances and variances over clients; counts are over all but one round."""
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
