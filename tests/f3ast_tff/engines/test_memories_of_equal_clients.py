"""Methods with a memory by hand where all clients count equally, p = 1 / N.

The clients, the model and the steps are those of `test_memory_methods`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from f3ast_tff.methods.scaffold import ScaffoldMean
from tests.f3ast_tff.engines.test_memory_methods import ONE_ENGINE, biases, s
from tests.f3ast_tff.methods.every_memory import FEDSTALE, FEDVARP, MIFA

EQUAL = np.array([0.5, 0.5])


@ONE_ENGINE
def test_mifa_of_equal_clients_by_hand(name: str, make_engine: Callable[..., Any]) -> None:
    """p = 1 / N: Delta = 1/2 * 1/4 = a; then 1/2 D_1 + 1/2 * 1/4 with D_1 = -s(1/4) / 2."""
    rounds = [([0], [0.5]), ([1], [0.5])]
    found = biases(make_engine, name, MIFA, rounds, p=EQUAL)
    np.testing.assert_allclose(found, [1 / 8, 1 / 4 - s(1 / 4) / 4], rtol=2e-6)


@ONE_ENGINE
def test_fedvarp_of_equal_clients_by_hand(name: str, make_engine: Callable[..., Any]) -> None:
    """p = 1 / N. Round 1, client 0: a = 1/4 = y_0. Round 2, both, s = s(1/2): the memory cancels,

    Delta = 1/2 ((1 - s) / 2 - 1/4 - s / 2) + 1/2 * 1/4 = 1/4 - s / 2, the mean of both updates.
    """
    rounds = [([0], [0.5]), ([0, 1], [0.5, 0.5])]
    found = biases(make_engine, name, FEDVARP, rounds, p=EQUAL)
    np.testing.assert_allclose(found, [1 / 4, 1 / 2 - s(1 / 2) / 2], rtol=2e-6)


@ONE_ENGINE
def test_fedstale_of_equal_clients_by_hand(name: str, make_engine: Callable[..., Any]) -> None:
    """p = 1 / N, pi = (1/2, 1/2): p / pi = 1. Round 1, client 0: Delta = 1/4 = a = y_0.

    Round 2, client 1, s = s(1/2): Delta = -s / 2 + 1/2 * 1/2 * 1/4, a = 5/16 - s / 2.
    """
    rounds = [([0], [1.0]), ([1], [1.0])]
    found = biases(make_engine, name, FEDSTALE, rounds, p=EQUAL)
    np.testing.assert_allclose(found, [1 / 4, 5 / 16 - s(1 / 2) / 2], rtol=2e-6, atol=3e-7)


@ONE_ENGINE
def test_scaffold_of_equal_clients_by_hand(name: str, make_engine: Callable[..., Any]) -> None:
    """p = 1 / N, one local step of rate 1/2: c_k is the gradient, -2 D_k.

    Round 1, client 0: a = 1/4, g = -1/2 = c_0, c = -1/4. Round 2, client 1, s = s(1/2): along
    s + c, a = 1/4 - (s - 1/4) / 2; c_1 = s, c = (s - 1/2) / 2. Round 3, client 0, along
    s(2a) - 1 + 1/2 + c.
    """
    rounds = [([0], [0.5]), ([1], [0.5]), ([0], [0.5])]
    found = biases(make_engine, name, ScaffoldMean(), rounds, p=EQUAL)
    a2 = 3 / 8 - s(1 / 2) / 2
    a3 = a2 - (s(2 * a2) - 1 / 2 + (s(1 / 2) - 1 / 2) / 2) / 2
    np.testing.assert_allclose(found, [1 / 4, a2, a3], rtol=5e-6)
