from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.studies.cafed_fig2.optimal_kappa2 import DURATIONS, main, optimum
from tests.commands import Cli


def of_draws(*scores: float) -> dict[Pair, float]:
    return {Pair(draw, draw): score for draw, score in enumerate(scores)}


def test_the_best_mean_need_not_be_best_in_most_draws() -> None:
    """Means .50, .52 and .40; draw 1 is level between 0.1 and 1.0. 1.0 - 0.1: -.02, 0, .08."""
    found = optimum(
        {
            "0.1": of_draws(0.52, 0.50, 0.48),
            "1.0": of_draws(0.50, 0.50, 0.56),
            "10.0": of_draws(0.50, 0.30, 0.40),
        }
    )
    assert (found.best, found.second) == ("1.0", "0.1")
    assert found.times_best == {"0.1": 2, "1.0": 2, "10.0": 0}
    assert found.lead.mean == pytest.approx(0.02)
    assert (found.lead.num_above, found.lead.num_below) == (1, 1)


def test_scores_that_cannot_be_ranked_are_refused() -> None:
    with pytest.raises(RunsError, match="two kappa2 or more"):
        optimum({"0.1": of_draws(0.5, 0.5)})
    with pytest.raises(RunsError, match="the same draws"):
        optimum({"0.1": of_draws(0.5, 0.5), "1.0": of_draws(0.5)})
    with pytest.raises(RunsError, match="not finite"):
        optimum({"0.1": of_draws(0.5, 0.5), "1.0": of_draws(0.5, math.nan)})


def test_the_tables_have_a_row_for_each_duration(tmp_path: Path, cli: Cli) -> None:
    """kappa^2 = 0.1 has .5 throughout; 1.0 has .4, and .6 in the last round; Unbiased .45."""
    rows = [
        {
            "task": "leaf_synthetic",
            "algorithm": algorithm,
            "kappa2": kappa2,
            "data_seed": draw,
            "seed": draw,
            "round": rounds,
            **dict.fromkeys(
                ("sample_accuracy", "user_accuracy"), late if rounds == DURATIONS[-1] else early
            ),
            **dict.fromkeys(("sample_loss", "user_loss"), 1.0),
        }
        for algorithm, kappa2, early, late in (
            ("ca_fed", 0.1, 0.5, 0.5),
            ("ca_fed", 1.0, 0.4, 0.6),
            ("unbiased", None, 0.45, 0.45),
        )
        for draw in range(3)
        for rounds in DURATIONS
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    lines = cli.said(main(["optimal_kappa2", f"--scores={path}"])).out.splitlines()
    assert "| T | Unbiased | 0.1 | 1.0 |" in lines
    assert "| 10 | 0.4500 | 0.5000 | 0.4000 |" in lines
    assert "| 10 | 0.1 | 3, 0 | 1.0 | +0.100 [+0.100, +0.100] |" in lines
    assert "| 500 | 1.0 | 0, 3 | 0.1 | +0.100 [+0.100, +0.100] |" in lines
    assert len([line for line in lines if line.startswith("| 50 |")]) == 2
