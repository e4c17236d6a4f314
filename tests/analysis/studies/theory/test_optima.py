"""Limits of methods, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.analysis.studies.theory.optima import (
    HALVES,
    SIZES,
    N,
    Q,
    mean_weights,
    path,
    regimes,
)
from f3ast_tff.analysis.studies.theory.quadratics import Quadratics

EQUAL = np.full(N, 1 / N)
OPTIMA = np.linspace(0, 1, N)
BY_NAME = {regime.name: regime for regime in regimes(SIZES)}
WORLD = Quadratics(EQUAL, np.ones((N, 1)), OPTIMA[:, None])


def weights(method: str, p: np.ndarray, name: str) -> np.ndarray:
    found = mean_weights(method, p, BY_NAME[name])
    assert found is not None
    return found


def test_weights_with_everybody_there() -> None:
    p = SIZES / SIZES.sum()
    np.testing.assert_allclose(weights("fedavg", p, "always"), p)
    np.testing.assert_allclose(weights("uniform", p, "always"), EQUAL)
    np.testing.assert_allclose(weights("fedavg_all", p, "always"), p * 3 / 8)
    np.testing.assert_allclose(weights("mifa", p, "always"), p)
    assert mean_weights("poc", p, BY_NAME["always"]) is None


def test_weights_by_turns() -> None:
    """Four clients have 6 of 8 rounds, four have 2: each has 1/4 of its half's time."""
    found = weights("fedavg", EQUAL, "by turns")
    np.testing.assert_allclose(found, np.where(HALVES == 0, 6 / 32, 2 / 32))


@pytest.mark.parametrize("name", list(BY_NAME))
def test_laws_are_those_of_the_process(name: str) -> None:
    """4,800 rounds; with correlation 0.9 they count as 253, with deviation at most 0.5."""
    process = BY_NAME[name].process(1)
    there = np.mean([process.mask(t) for t in range(1, 4801)], axis=0)
    chance = BY_NAME[name].shares @ BY_NAME[name].laws
    np.testing.assert_allclose(there, chance, atol=4 * 0.5 / np.sqrt(253))
    assert BY_NAME[name].shares.sum() == pytest.approx(1)


@pytest.mark.long
def test_methods_by_turns() -> None:
    """The optima of the halves have means 1.5 / 7 and 5.5 / 7; F's optimum is 1/2.

    FedAvg over all clients tends to 3/4 and 1/4 of these means, 2.5 / 7; MIFA tends to 1/2.
    """
    process = BY_NAME["by turns"].process(0)
    late = path("fedavg_all", WORLD, np.ones(N), process, 800, 0)[400:]
    assert late.mean() == pytest.approx(2.5 / 7, abs=0.02)
    late = path("mifa", WORLD, np.ones(N), process, 800, 0)[-8:]
    np.testing.assert_allclose(late, 0.5, atol=1e-3)


def test_everybody_there_for_f3ast() -> None:
    late = path("f3ast", WORLD, np.ones(N), BY_NAME["always"].process(0), 400, 0)[200:]
    assert late.mean() == pytest.approx(0.5, abs=0.02)
    assert Q[0] == 0.9
