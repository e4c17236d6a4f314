"""FOCUS as published, compared with the rules of the engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.engines.host.rules_in_numpy import RulesInNumpy
from f3ast_tff.methods.focus import Focus
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort

RATE = 0.05
OPTIMA, CURVATURE = np.array([-1.0, 0.5, 3.5]), np.array([1.0, 2.0, 4.0])
ROUNDS = [[0], [1, 2], [0, 2], [], [2], [0, 1, 2], [1]]


def gradient(k: int, x: Any) -> Any:
    """Gradient of h_k (x - m_k)^2 / 2."""
    return CURVATURE[k] * (x - OPTIMA[k])


def as_published(steps: int) -> list[float]:
    """Algorithm 1 and the authors' code, with their names; the server's y is a sum of three y_k.

    There the server's step is RATE y. Here it is a third of that, for server rate 1 and p_k = 1/3.
    A client starts at y_k = 0. Per step: x -= rate y_k; y_k += g(x) - g_prev; g_prev = g(x).
    """
    w, y, before, found = 0.0, 0.0, np.zeros(3), []
    for members in ROUNDS:
        for k in members:
            x, own = w, 0.0
            for _ in range(steps):
                x -= RATE * own
                here = gradient(k, x)
                own += here - before[k]
                before[k] = here
            y += own
        w -= RATE * y / 3
        found.append(w)
    return found


def by_rules(aggregation: Aggregation, steps: int) -> list[float]:
    """The same rounds with p_k = 1/3, in NumPy."""
    server = RulesInNumpy(aggregation, np.full(3, 1 / 3), np.zeros(1))
    last_step = aggregation.memory is not None and aggregation.memory.last_step

    def train(k: int, model: np.ndarray, offset: Any) -> np.ndarray:
        x = before = model
        for _ in range(steps):
            before, x = x, x - RATE * (gradient(k, x) + offset)
        return x - (before if last_step else model)

    found = []
    for t, members in enumerate(ROUNDS, start=1):
        ids = np.array(members, np.int64)
        server.round(t, Cohort(ids, np.full(len(ids), 1 / 3)), train, RATE, steps)
        found.append(float(server.model[0]))
    return found


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_rules_are_the_published_ones(steps: int) -> None:
    """Steps subtract G_k, and the last step alone is reported; one round is empty."""
    np.testing.assert_allclose(by_rules(Focus(), steps), as_published(steps), rtol=2e-5)


def test_with_one_local_step_it_is_mifa() -> None:
    """A single gradient is the whole update: G_k = -D_k / rate, for any offset.

    MIFA with two steps remembers both gradients, and its clients drift.
    """
    one, two = by_rules(Focus(), 1), by_rules(Focus(), 2)
    np.testing.assert_allclose(one, by_rules(Mifa("zero"), 1), rtol=1e-5)
    assert np.abs(np.subtract(two, by_rules(Mifa("zero"), 2))).max() > 0.1
