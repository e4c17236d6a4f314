"""Clients of the tests, and a second value per parameter with the change it must make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from f3ast_tff.availability import AvailabilityProcess

N = 12
P = np.arange(1, N + 1) / 78
# Client k has two labels, half each: k mod 4 and 3. Their shares of class 3 are 0.5, 0.5, 0.5, 1.
LABELS = (np.eye(4)[np.arange(N) % 4] + np.eye(4)[3]) / 2
# Chains of each kind, with the ends of both ranges.
PI = np.array([0.9, 0.9, 0.1, 0.1, 0.5, 0.5, 0.3, 0.0, 1.0])
EIGENVALUE = np.array([0.9, 0.0, 0.9, -0.1, -0.8, 1.0, 0.5, 0.5, -0.0])
Q = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 1.0])


def masks(process: AvailabilityProcess, rounds: int = 120) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


Check = Callable[[Any, Any], Any]


def opposite(before: AvailabilityProcess, after: AvailabilityProcess) -> bool:
    return np.array_equal(masks(after), ~masks(before))


def other(before: Any, after: Any) -> bool:
    """Whether masks, probabilities or frequencies differ."""
    same = np.array_equal(masks(after), masks(before))
    return not (same and np.array_equal(before.stationary, after.stationary))


# Parameters of processes that read files, and further parameters with a specific change. That every
# parameter changes something is tested in tests/f3ast_tff/settings/test_every_setting_reaches.py.
EFFECTS: dict[tuple[str, str], tuple[Any, Check]] = {
    ("trace", "trace_start"): (300.0 + 4 * 3600, other),
    ("trace", "trace_assignment"): ("with_replacement", other),
    ("trace", "trace_shift"): ("days", other),
    ("trace", "trace_when"): ("throughout", other),
    ("trace", "trace_clients"): ("clients.json", other),
    ("stays", "stays_file"): ("other.csv", other),
    ("stays", "presence_q"): (0.25, other),
    ("stays", "presence_rounds"): (4800, other),
    ("scarce", "scarce_q"): (0.7, lambda _, new: new.q.tolist() == [0.7] * N),
    ("trace", "trace_file"): ("other.json", opposite),
    ("trace", "trace_states"): ("two", opposite),
    ("trace", "trace_eligible"): ("UN_AVL", opposite),
    ("trace", "trace_round_seconds"): (
        7200,
        lambda old, new: np.array_equal(masks(new, 60), masks(old)[::2]),
    ),
    ("trace", "trace_days"): (
        2.0,
        lambda old, new: (old.rounds_per_cycle, new.rounds_per_cycle) == (120, 48),
    ),
    # Device a is seen for all 129 hours, device b from hour 4 on, its first state.
    ("trace", "trace_presence"): (
        "seen",
        lambda old, new: old.present(1).all() and np.array_equal(new.present(1), new.device_of < 2),
    ),
    ("table", "table_file"): ("other.npy", opposite),
    ("table", "table_round_seconds"): (
        7200,
        lambda old, new: np.array_equal(masks(new, 25), masks(old)[:50:2]),
    ),
    ("table", "table_columns"): ("state=other", opposite),
    # 50 hours are three minutes, the first round.
    ("table", "table_time_unit"): (
        "ms",
        lambda old, new: np.array_equal(masks(new, 2), masks(old)[[0, 0]]),
    ),
    # Visits end after the round in which they begin.
    ("table", "table_max_visit"): (
        3600,
        lambda old, new: np.array_equal(masks(new, 50)[1:], masks(old)[1:50] & ~masks(old)[:49]),
    ),
    # (1 - lambda) pi is the transition probability from inactive to active.
    **{
        (name, "transition_largest"): (
            0.01,
            lambda _, new: np.allclose((1 - new.eigenvalue) * new.pi, 0.01),
        )
        for name in ("markov_transition", "dirichlet_markov")
    },
    ("markov_transition", "transition_pi"): (0.3, lambda _, new: set(new.stationary) == {0.3}),
    ("minimum_separation", "separation_least_q"): (
        0.8,
        lambda old, new: new.q.min() >= 0.8 > old.q.min(),
    ),
    ("minimum_separation", "separation_most_q"): (
        0.2,
        lambda old, new: new.q.min() >= 0.1 and new.q.max() <= 0.2 < old.q.max(),
    ),
}
