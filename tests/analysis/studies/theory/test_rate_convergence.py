"""Illustrations of Theorem III.3 and Lemma III.4: worlds, distances, variances, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.studies.theory import rate_convergence
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
