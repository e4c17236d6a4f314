"""F3AST's theorems on quadratics with solutions by hand, and their illustrations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.studies.theory import rate_convergence
from f3ast_tff.analysis.studies.theory.f3ast_rate import (
    bound,
    distance_to_stationary,
    exact_two_clients,
    step_sizes,
    two_clients,
    weight_sums,
)
from f3ast_tff.analysis.studies.theory.quadratics import Quadratics, play, row, slope_row
from f3ast_tff.analysis.studies.theory.rate_convergence import (
    CLUSTERS,
    N,
    main,
    optimal_rates,
    shares,
    track,
    updates,
    variances,
    worlds,
)
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


@pytest.mark.long
def test_worlds_are_what_their_regions_say() -> None:
    """Availability over 20,000 rounds, and its correlations in time and between clients.

    Markov has correlation 0.95 between successive rounds. So a mean has the error of
    20,000 * 0.05 / 1.95 = 513 independent rounds, at most 0.022.
    """
    first = np.eye(N)[0]
    for world in worlds():
        masks = world.masks(20_000, 3)
        q0 = world.oracle.best(first)[0]
        assert abs(masks[:, 0].mean() - q0) < 4.5 * 0.022
        ahead = np.corrcoef(masks[1:, 0], masks[:-1, 0])[0, 1]
        beside = np.corrcoef(masks[:, 0], masks[:, CLUSTERS])[0, 1]
        assert ahead == pytest.approx(0.95 if world.name == "Markov" else 0, abs=0.05)
        assert beside == pytest.approx(
            1 if world.name == "clustered" else 0, abs=0.2 if world.name == "Markov" else 0.05
        )


def test_smaller_beta_comes_closer() -> None:
    """Theorem III.3: beta = 0.1 leaves about 0.78 sqrt(0.1) = 0.25, beta = 0.01 about 0.05."""
    iid = worlds()[0]
    best = optimal_rates(shares(), iid.objective, iid.oracle).rates
    coarse, fine = (track(iid, best, beta, 10, 10, seed=0)[5:].mean() for beta in (0.1, 0.01))
    assert fine < coarse / 2
    assert fine < 0.1


def test_variances_are_below_the_bound_that_holds_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_convergence, "TOLERANCE", 1e-3)
    found = variances(rounds=400, beta=0.05, seed=0)
    assert len(found) == 3 * len(updates())
    assert np.all(found["fixed_policy"] <= found["bound_6"])
    assert np.all(found["f3ast"] > 0)


def test_updates_are_of_norm_one() -> None:
    for v in updates().values():
        np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1)


@pytest.mark.long
def test_command_writes_tables_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rate_convergence, "BETAS", (1e-1, 1e-2))
    monkeypatch.setattr(rate_convergence, "VARIANCE_BETA", 0.05)
    monkeypatch.setattr(rate_convergence, "TOLERANCE", 1e-3)
    out = tmp_path / "new"
    assert main(["x", f"--out={out}", "--horizon=2", "--seeds=1", "--rounds=20"]) == 0
    table = pd.read_csv(out / "convergence.csv")
    assert table["beta"].tolist() == [0.1, 0.01] * 3
    assert table["rounds"].tolist() == [20, 200] * 3
    assert (table["duality_gap"] <= 1e-3 * table["H_optimum"]).all()
    assert len(pd.read_csv(out / "variance.csv")) == 3 * len(updates())
    for name in ("convergence.png", "variance.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    assert "mean_distance" in capsys.readouterr().out
