"""F3AST's theorems on quadratics with solutions by hand."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.analysis.studies.theory.f3ast_rate import (
    bound,
    distance_to_stationary,
    exact_two_clients,
    step_sizes,
    two_clients,
    weight_sums,
)
from f3ast_tff.analysis.studies.theory.quadratics import Quadratics, play, row, slope_row
from f3ast_tff.availability import Markov
from f3ast_tff.methods.parts.all_available import AllAvailable

ANYONE = np.array([1.0, 0.5])


def test_two_parabolas() -> None:
    """F = (w + 1)^2 / 4 + 3 (w - 1)^2 / 4: w* = 1/2, F* = 3/4, and F(0) = 1."""
    world = Quadratics(np.array([0.5, 0.5]), np.array([[1.0], [3.0]]), np.array([[-1.0], [1.0]]))
    assert (world.mu, world.smoothness) == (1, 3)
    np.testing.assert_allclose(world.optimum(), [0.5])
    assert world.p @ world.losses(np.array([0.5])) == pytest.approx(0.75)
    assert world.excess(np.array([0.0])) == pytest.approx(0.25)
    # F_1 only; it is 3/2 at 0.
    assert world.excess(np.array([0.0]), np.array([0.0, 1.0])) == pytest.approx(1.5)
    # The gradients at 0 are 1 and -3.
    assert world.gradient_bound(np.array([[0.0]])) == 9


def test_a_round_of_two_local_steps() -> None:
    """From 0 with rates 1/2, 1/4: client 0 goes to -1/2, then -5/8; client 1 to 3/2, then 9/8."""
    world = Quadratics(np.array([0.25, 0.75]), np.array([[1.0], [3.0]]), np.array([[-1.0], [1.0]]))
    rates = np.array([[0.5, 0.25]])
    (path,) = play(
        world,
        lambda seed: AllAvailable.start(world.p, 1),
        process=lambda seed: Markov(np.ones(2), np.zeros(2), seed),
        k=2,
        rates=rates,
        start=np.zeros(1),
        draws=1,
    )
    np.testing.assert_allclose(path[:, 0], [0, 0.25 * -5 / 8 + 0.75 * 9 / 8])


def test_the_bound_of_two_clients_is_38_over_8_and_t() -> None:
    """Gamma = 1/2, so Var_1 = 3; G^2 = 4 and sum p / r - 1 = 1, so Var_2 = 16; v = 4 * 19."""
    world, _ = two_clients()
    found = bound(world, world.p, 1, np.zeros(1), 4.0, np.array([1, 92]))
    np.testing.assert_allclose(found, [38 / 9, 0.38])
    assert world.gradient_bound(np.array([[-1.0], [1.0]])) == 4


def test_two_rounds_of_two_clients() -> None:
    """eta = 2/9, then 1/5: V_1 = 4/81, m_1 = rho 2/9, V_2 = 16/25 V_1 + 8/25 m_1 + 1/25."""
    assert exact_two_clients(0.5, 1) == pytest.approx(2 / 81)
    second = 16 / 25 * 4 / 81 + 8 / 25 * 0.5 * 2 / 9 + 1 / 25
    assert exact_two_clients(0.5, 2) == pytest.approx(second / 2)


def test_the_bound_fails_for_two_markov_clients() -> None:
    """The long-run E F - F* is 2/3 (1 + rho) / (1 - rho) / T, above 38 / T for rho > 28/29.

    The bound does not contain the correlation, so no constant saves it.
    """
    rounds = 100_000
    for correlation in (0.9, 0.98, 0.999):
        error = exact_two_clients(correlation, rounds)
        limit = 2 / 3 * (1 + correlation) / (1 - correlation) / rounds
        assert error == pytest.approx(limit, rel=0.02)
        assert (error > 38 / (8 + rounds)) == (correlation > 28 / 29)


@pytest.mark.long
def test_a_run_has_the_error_in_closed_form() -> None:
    """100 runs of 40 rounds; client 1 is selected if it is available, and client 0 otherwise."""
    world, strategy = two_clients()
    _, rates = step_sizes(world, 40, 1)
    paths = play(
        world,
        lambda seed: strategy,
        process=lambda seed: Markov(ANYONE, np.array([0.0, 0.9]), seed),
        k=1,
        rates=rates,
        start=np.zeros(1),
        draws=100,
    )
    errors = np.square(paths[:, -1, 0]) / 2
    tolerance = 4 * errors.std(ddof=1) / 10
    assert errors.mean() == pytest.approx(exact_two_clients(0.9, 40), abs=tolerance)
    assert tolerance < 0.1


@pytest.mark.long
def test_weights_of_two_clients_alike_lack_half_of_beta() -> None:
    """The client selected last has r = (1 - beta)^2 r + beta, so r = 1 / (2 - beta)."""
    rows = [r for r in weight_sums(1) if r["case"] == "two clients, always"]
    assert [r["x"] for r in rows] == [0.1, 0.03, 0.01, 0.003]
    for found in rows:
        assert found["measured"] == pytest.approx(1 - found["x"] / 2, abs=1e-4)
        assert found["exact"] == 1 - found["x"] / 2


def test_mixing_needs_the_constant() -> None:
    """Probability 0.1, lambda^t = 0.01: one client is available with 0.109, a distance of 0.009.

    For two clients, both are available with 0.109^2 - 0.1^2 = 0.001881 more, and exactly one with
    2 (0.109 * 0.891 - 0.09) = 0.014238 more; the sum is above 0.01.
    """
    assert distance_to_stationary(1, 0.1, 0.01) == pytest.approx(0.009)
    assert distance_to_stationary(2, 0.1, 0.01) == pytest.approx(0.016119)


def test_rows() -> None:
    """1, 2, 3 have mean 2 and error 1 / sqrt(3); t with two degrees of freedom is 4.303."""
    found = row("claim", "case", 1.0, [1, 2, 3])
    assert found["measured"] == 2
    assert found["high"] == pytest.approx(2 + 4.303 / np.sqrt(3), abs=1e-3)
    assert found["low"] == pytest.approx(2 - 4.303 / np.sqrt(3), abs=1e-3)
    assert np.isnan(row("claim", "case", 1.0, [1, 1, 1])["low"])
    x = np.array([1.0, 10.0, 100.0])
    slope = slope_row("claim", "case", x, np.array([2 / x, 4 / x]))
    assert [slope[n] for n in ("measured", "low", "high")] == pytest.approx([-1, -1, -1])
