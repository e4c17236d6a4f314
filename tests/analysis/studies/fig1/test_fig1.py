"""Fig. 1: the numbers of Sec. I, and the command that draws it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.studies.fig1.__main__ import main, proportional_rates, region_figure, table

pytest.importorskip("scipy")
# SciPy 1.9 calls a function that NumPy 1.25 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")


@pytest.mark.long
def test_points_of_the_paper() -> None:
    """r^a, r^b and r^c as printed in Sec. I; (0.075, 0.8) serves client 2 first.

    F3AST runs 4000 rounds, of which the second half counts: standard error 0.011 over 2000 rounds.
    """
    found = region_figure(rounds=4000, beta=0.002, seed=0)
    corners = [[0, 0], [0.375, 0], [0.375, 0.5], [0.075, 0.8], [0, 0.8]]
    np.testing.assert_allclose(found.corners, corners, atol=1e-12)
    np.testing.assert_allclose(found.points["r^a: client 1 alone"], [0.375, 0])
    np.testing.assert_allclose(found.points["r^b: client 1 first"], [0.375, 0.5])
    np.testing.assert_allclose(found.points["r^c: proportional"], [0.225, 0.65])
    np.testing.assert_allclose(found.points["r*: optimum of H"], [0.375, 0.5], atol=1e-9)
    assert found.trajectory.shape == (4001, 2)
    assert np.all(np.abs(found.participation - [0.375, 0.5]) < 4.5 * 0.011 + 0.01)
    assert np.linalg.norm(found.trajectory[-1] - [0.375, 0.5]) < 0.1
    simulated = proportional_rates(2000, seed=0)
    assert np.all(np.abs(simulated - [0.225, 0.65]) < 4.5 * 0.011)
    rows = table(found, simulated)
    assert rows.loc["ideal rate", "reach"] == pytest.approx(0.75)
    assert rows.loc["r^c: proportional", "H"] == pytest.approx(0.25 / 0.225 + 0.25 / 0.65)
    assert rows.loc["r*: optimum of H", "H"] == pytest.approx(0.25 / 0.375 + 0.25 / 0.5)


def test_command_writes_the_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fig1.png"
    assert main(["rate_region", f"--out={out}", "--rounds=50"]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "(0.375, 0.5), (0.075, 0.8)" in printed
    assert "ideal rate           0.5000  0.5000  0.7500" in printed
