"""CA-Fed's Fig. 4a from the command line, and its numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.studies.cafed_fig4a.__main__ import (
    ESTIMATES,
    estimation_errors,
    main,
    render,
)


def test_table_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fig4a.png"
    flags = [f"--out={out}", "--num_clients=20", "--num_seeds=2", "--rounds=50"]
    assert main(["activity_estimation", *flags]) == 0
    stdout, stderr = capsys.readouterr()
    lines = stdout.splitlines()
    assert stderr == ""
    assert lines[0].split() == ["observations", "pi", "counted", "pi", "of", "chain", "lambda"]
    assert [line.split()[0] for line in lines[1:4]] == ["10", "32", "50"]
    errors = estimation_errors([10, 32, 50], 20, 2)
    mean, spread = errors["pi"][:, 0].mean(), errors["pi"][:, 0].std(ddof=1)
    assert lines[1].split()[1:4] == [f"{mean:.4f}", "±", f"{spread:.4f}"]
    fall = np.log(errors["lambda"][:, 2].mean() / errors["lambda"][:, 0].mean()) / np.log(5)
    assert lines[5].startswith("slope of log error over log observations from 10 on: pi counted ")
    assert f", lambda {fall:.2f} (" in lines[5]
    assert lines[-1] == f"figure: {out}"
    assert out.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert [path.name for path in tmp_path.iterdir()] == ["fig4a.png"]


def test_errors_fall_and_that_of_lambda_is_the_larger() -> None:
    """The paper's two observations on Fig. 4a, here for 10, 100 and 1000 rounds."""
    errors = {
        name: e.mean(axis=0) for name, e in estimation_errors([10, 100, 1000], 100, 1).items()
    }
    for name in ESTIMATES:
        assert np.all(np.diff(errors[name]) < 0)
    assert np.all(errors["lambda"] > errors["pi"])


def test_the_slope_is_that_of_the_last_tenfold() -> None:
    """Errors 8, 4, 1, 0.25 at 1, 10, 100, 1000: slope log(1/4) / log(10) = -0.60 from 100 on."""
    errors = {name: np.array([[8.0, 4.0, 1.0, 0.25]]) for name in ESTIMATES}
    text = render([1, 10, 100, 1000], errors)
    assert "from 100 on: pi counted -0.60, pi of chain -0.60, lambda -0.60" in text
    assert "±" not in text
    assert "slope" not in render([10], {name: np.array([[0.5]]) for name in ESTIMATES})
