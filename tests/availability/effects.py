"""What another value of each parameter changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from f3ast_tff.availability import AvailabilityProcess, NonStationary

N = 12
P = np.arange(1, N + 1) / 78
# Client k has labels k mod 4 and 3, half of each: 0.5, 0.5, 0.5 and 1 of class 3.
LABELS = (np.eye(4)[np.arange(N) % 4] + np.eye(4)[3]) / 2


def masks(process: AvailabilityProcess, rounds: int = 120) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


Check = Callable[[Any, Any], Any]


def _opposite(before: AvailabilityProcess, after: AvailabilityProcess) -> bool:
    return np.array_equal(masks(after), ~masks(before))


def _log_q_shrinks(before: Any, after: Any) -> bool:
    """By sqrt(s) / s."""
    ratio = np.sqrt(0.25 if isinstance(before, NonStationary) else 0.5)
    return np.allclose(np.log(after.q), np.log(before.q) * ratio)


def _clients_of_a_device_differ(before: Any, after: Any) -> bool:
    def differ(process: Any) -> bool:
        seen = masks(process)
        a = seen[:, process.device_of == 0]
        return bool((a != a[:, :1]).any())

    return differ(after) and not differ(before)


# What another value of each parameter changes, by process and parameter.
OLDER: dict[tuple[str, str], tuple[Any, Check]] = {
    ("scarce", "scarce_q"): (0.7, lambda _, new: new.q.tolist() == [0.7] * N),
    ("home_devices", "lognormal_spread"): ("sigma", _log_q_shrinks),
    ("smartphones", "lognormal_spread"): ("sigma", _log_q_shrinks),
    ("smartphones", "smartphones_grid"): (
        "endpoints",
        lambda old, new: np.allclose(
            [new.probabilities(23).max(), old.probabilities(23).max()],
            [0.5, 0.5 + 0.4 * np.sin(2 * np.pi * 23 / 24)],
        ),
    ),
    ("alternating", "alternating_period"): (
        3,
        lambda old, new: masks(new, 6)[:, 0].tolist() == [True] * 3 + [False] * 3,
    ),
    ("alternating", "alternating_ratio"): (
        0.5,
        lambda old, new: masks(new, 30)[:, 0].tolist() == ([True] * 10 + [False] * 5) * 2,
    ),
    ("four_classes", "markov_g"): (0.1, lambda _, new: set(new.pi.round(6)) == {0.4, 0.6}),
    ("four_classes", "markov_nu"): (
        0.5,
        lambda old, new: (
            np.isclose(new.eigenvalue, 0.5).sum() == np.isclose(old.eigenvalue, 0.9).sum()
        ),
    ),
    ("four_classes", "markov_epsilon"): (
        0.0,
        lambda old, new: (
            np.isclose(new.eigenvalue, 0).sum() == 6 and not np.isclose(old.eigenvalue, 0).any()
        ),
    ),
    ("four_classes", "markov_order"): (
        "blocks",
        lambda old, new: sorted(old.pi)[::-1] == new.pi.tolist() != old.pi.tolist(),
    ),
    ("four_classes", "markov_classes"): (
        "three",
        lambda old, new: (
            np.isclose(old.eigenvalue[old.pi > 0.5], 0.9).any()
            and not np.isclose(new.eigenvalue[new.pi > 0.5], 0.9).any()
        ),
    ),
    ("markov_clusters", "cluster_pi"): (
        "0.4,0.6,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5",
        lambda _, new: set(new.stationary) == {0.4, 0.5, 0.6},
    ),
    ("markov_clusters", "cluster_eigenvalues"): (
        "0,0,0,0,0,0,0,0,0,0.25",
        lambda _, new: np.allclose(new.eigenvalue, [0] * (N - 1) + [0.25]),
    ),
    ("trace", "trace_file"): ("other.json", _opposite),
    ("trace", "trace_states"): ("two", _opposite),
    ("trace", "trace_eligible"): ("UN_AVL", _opposite),
    ("trace", "trace_round_seconds"): (
        7200,
        lambda old, new: np.array_equal(masks(new, 60), masks(old)[::2]),
    ),
    ("trace", "trace_start"): (
        300.0 + 4 * 3600,
        lambda old, new: np.array_equal(masks(new, 100), masks(old)[4:104]),
    ),
    ("trace", "trace_days"): (
        2.0,
        lambda old, new: (old.rounds_per_cycle, new.rounds_per_cycle) == (120, 48),
    ),
    ("trace", "trace_assignment"): (
        "in_order",
        lambda _, new: new.device_of.tolist() == [0, 1] * (N // 2),
    ),
    ("trace", "trace_shift"): ("days", _clients_of_a_device_differ),
    # Rounds last from five past to five past: the last of five hours does not count.
    ("trace", "trace_when"): (
        "throughout",
        lambda old, new: (masks(old).mean(), masks(new).mean()) == (0.5, 0.4),
    ),
    # Device a is seen for all 129 hours, b from hour 4 on: as late as its first state.
    ("trace", "trace_presence"): (
        "seen",
        lambda old, new: old.present(1).all() and np.array_equal(new.present(1), new.device_of < 2),
    ),
    ("trace", "trace_clients"): (
        "clients.json",
        lambda _, new: new.device_of.tolist() == [1, 0, 0] * (N // 3),
    ),
    ("table", "table_file"): ("other.npy", _opposite),
    ("table", "table_round_seconds"): (
        7200,
        lambda old, new: np.array_equal(masks(new, 25), masks(old)[:50:2]),
    ),
    ("mix", "mix_shares"): (
        "1,0,1",
        lambda old, new: (
            np.bincount(old.members).tolist() == [4, 4, 4]
            and np.bincount(new.members).tolist() == [6, 0, 6]
        ),
    ),
}


def _lower_and_no_higher(before: Any, after: Any) -> bool:
    """Draw by draw: fewer are available, and none that was not."""
    old, new = masks(before), masks(after)
    return bool(new.sum() < old.sum() and not (new & ~old).any())


def _factors(process: Any, rounds: int) -> list[float]:
    """f_1, f_2 .. as the probabilities of the most available client show them."""
    k = int(np.argmax(process.q))
    found = [process.probabilities(t)[k] / process.q[k] for t in range(1, rounds + 1)]
    return [float(value) for value in np.round(found, 9)]


def _half_of_phi(old: Any, new: Any) -> bool:
    """phi_3 is halved, phi_0 stays: p_3 = phi_3, p_0 = (phi_0 + phi_3) / 2."""
    halved = np.isclose(new.q[3], old.q[3] / 2)
    return bool(halved and np.isclose(new.q[0] - new.q[3] / 2, old.q[0] - old.q[3] / 2))


def _twice_the_mean(old: Any, new: Any) -> bool:
    """Those above the least pi have twice as much; the turns of a cycle are whole rounds."""
    above = old.stationary > 0.02
    return bool(above.any() and np.allclose(new.stationary, 2 * old.stationary, atol=0.021))


def _differs_less(old: Any, new: Any) -> bool:
    return bool(np.ptp(new.stationary) < np.ptp(old.stationary))


NEWER: dict[tuple[str, str], tuple[Any, Check]] = {
    ("staircase", "staircase_period"): (
        4,
        lambda _, new: _factors(new, 5) == [1, 1, 0.4, 0.4, 1],
    ),
    ("staircase", "staircase_low"): (
        0.5,
        lambda _, new: _factors(new, 11)[9:] == [1, 0.5],
    ),
    ("interleaved_sine", "sine_cut"): (0.3, _lower_and_no_higher),
    ("smallest_label", "smallest_label_least"): (
        0.4,
        lambda _, new: np.allclose(new.q, np.tile([0.4, 0.6, 0.8, 1.0], N // 4)),
    ),
    ("markov_transition", "transition_pi"): (
        0.3,
        lambda _, new: new.stationary.tolist() == [0.3] * N,
    ),
    ("dirichlet_cyclic", "cyclic_rounds"): (
        20,
        lambda _, new: (
            np.array_equal(masks(new, 20), masks(new, 40)[20:])
            and np.allclose(new.stationary * 20, masks(new, 20).sum(axis=0))
        ),
    ),
    ("periodic_groups", "groups_number"): (3, lambda _, new: set(new.group) == {0, 1, 2}),
    ("periodic_groups", "groups_on"): (50, lambda _, new: set(new.stationary) == {50 / 450}),
    ("periodic_groups", "groups_off"): (100, lambda _, new: set(new.stationary) == {0.5}),
    ("arrival_departure", "arrival_share"): (
        0.0,
        lambda old, new: set(new.first) == {1} != set(old.first),
    ),
    ("arrival_departure", "departure_share"): (
        0.0,
        lambda old, new: new.last.min() > 2400 >= old.last.min(),
    ),
    ("arrival_departure", "presence_q"): (
        0.25,
        lambda old, new: np.allclose(new.stationary, old.stationary / 4),
    ),
    ("arrival_departure", "presence_rounds"): (
        10,
        lambda old, new: new.first.max() <= 10 < old.first.max(),
    ),
    ("stays", "stays_file"): (
        "other.csv",
        lambda old, new: old.present(1)[0] and not new.present(1)[0],
    ),
    ("poisson_arrivals", "presence_rounds"): (
        4800,
        lambda old, new: new.first.max() > 1.3 * old.first.max(),
    ),
    ("poisson_arrivals", "presence_stay"): (
        250.0,
        lambda old, new: (new.last - new.first).mean() < 0.6 * (old.last - old.first).mean(),
    ),
    ("poisson_arrivals", "presence_arrivals"): (
        100.0,
        lambda old, new: new.first.max() == 1 < old.first.max(),
    ),
    ("minimum_separation", "separation_rounds"): (
        0,
        lambda old, new: np.allclose(1 / old.stationary - 1 / new.stationary, 10),
    ),
    ("minimum_separation", "separation_least_q"): (
        0.8,
        lambda old, new: new.q.min() >= 0.8 > old.q.min(),
    ),
    ("minimum_separation", "separation_most_q"): (
        0.2,
        lambda old, new: new.q.min() >= 0.1 and new.q.max() <= 0.2 < old.q.max(),
    ),
}
for _name in ("stays", "poisson_arrivals"):
    NEWER[_name, "presence_q"] = NEWER["arrival_departure", "presence_q"]
NEWER["stays", "presence_rounds"] = (
    4800,
    lambda old, new: np.allclose(new.stationary[:1], 1) and new.stationary[5] < old.stationary[5],
)
for _name in ("stationary", "staircase", "sine", "interleaved_sine"):
    NEWER[_name, "phi_second_half"] = (0.25, _half_of_phi)
for _name in ("sine", "interleaved_sine"):
    NEWER[_name, "sine_period"] = (4, lambda _, new: _factors(new, 5) == [0.7, 1, 0.7, 0.4, 0.7])
    NEWER[_name, "sine_amplitude"] = (
        0.1,
        lambda _, new: (_factors(new, 16)[5], _factors(new, 16)[15]) == (1.0, 0.8),
    )
for _name in ("dirichlet_bernoulli", "dirichlet_markov", "dirichlet_cyclic"):
    NEWER[_name, "participation_alpha"] = (50.0, _differs_less)
    NEWER[_name, "participation_mean"] = (0.2, _twice_the_mean)
    NEWER[_name, "participation_least"] = (
        0.3,
        lambda old, new: np.allclose(new.stationary, np.maximum(old.stationary, 0.3)),
    )
for _name in ("markov_transition", "dirichlet_markov"):
    # (1 - lambda) pi is the probability to turn from inactive to active.
    NEWER[_name, "transition_largest"] = (
        0.01,
        lambda _, new: np.allclose((1 - new.eigenvalue) * new.pi, 0.01),
    )
EFFECTS = {**OLDER, **NEWER}
