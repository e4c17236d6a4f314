"""Losses of clients by how often they are there: read from a run, and as a table."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.studies.lora.presence import FIFTHS, main
from f3ast_tff.cli.main import main as f3ast_tff
from f3ast_tff.records.outputs import read_client_scores
from tests.commands import Cli

PLUGIN = Path(__file__).resolve().parents[4] / "analysis/studies/lora/matrix_regression.py"


@pytest.mark.long
def test_the_losses_of_a_run(tmp_path: Path) -> None:
    given = {"task": "matrix_regression", "availability": "together", "train": "lora"}
    given |= {"factors": "fedex", "algorithm": "f3ast", "rounds": "2", "eval_every": "2"}
    flags = [f"--{name}={value}" for name, value in given.items()]
    runs, out = tmp_path / "runs", tmp_path / "presence.csv"
    f3ast_tff(
        [
            "f3ast-tff",
            "run",
            f"--plugin={PLUGIN}",
            *flags,
            "--client_scores",
            f"--output_dir={runs}",
        ]
    )
    assert main(["x", f"--runs={runs}", f"--out={out}"]) == 0
    (row,) = pd.read_csv(out).to_dict("records")
    assert [row["factors"], row["availability"], row["draw"]] == ["fedex", "together", 0]
    (folder,) = runs.iterdir()
    losses = read_client_scores(folder)[2]["loss"]
    fours = np.reshape(losses, (5, 4)).mean(axis=1)
    assert [row[name] for name in FIFTHS] == pytest.approx(fours, abs=1e-6)


def test_the_table_is_a_mean_over_draws_and_regimes(tmp_path: Path, cli: Cli) -> None:
    """Method number m has losses m + 1 to m + 5, .5 more in one of the two draws."""
    algorithms = ("fedavg_all", "unbiased", "f3ast")
    rules = ("fedit", "changes", "fedex", "flora", "ffa", "rolora")
    rows = [
        [*method, "together", draw, *(m + n + draw / 2 for n in range(1, 6))]
        for m, method in enumerate(itertools.product(algorithms, rules))
        for draw in (0, 1)
    ]
    scores = tmp_path / "presence.csv"
    columns = ["algorithm", "factors", "availability", "draw", *FIFTHS]
    pd.DataFrame(rows, columns=columns).to_csv(scores, index=False)
    shown = cli.said(main(["x", f"--scores={scores}"])).out
    assert "| plain mean | fedit | 1.25 | 2.25 | 3.25 | 4.25 | 5.25 |" in shown
    assert "| F3AST's p / r | rolora | 18.2 | 19.2 | 20.2 | 21.2 | 22.2 |" in shown
    assert main(["x", f"--scores={scores}", f"--picture={tmp_path / 'picture.png'}"]) == 0
    assert (tmp_path / "picture.png").stat().st_size > 10_000
