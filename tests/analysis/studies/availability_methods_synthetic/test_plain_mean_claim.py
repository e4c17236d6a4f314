"""The claim about a plain mean, on scores made for known verdicts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.availability_methods_synthetic.plain_mean_claim import judged, main
from f3ast_tff.analysis.study_runs import read_study

# Algorithm, aggregation, and accuracy by regime, without the draw's own part.
METHODS = [
    ("fedavg_all", "mean", 0.50, 0.60),
    ("fedavg_all", "sum", 0.30, 0.40),
    ("unbiased", "sum", 0.60, 0.50),
    ("fedau", "sum", 0.58, 0.72),
    ("f3ast", "sum", 0.50, 0.60),
]


def study(path: Path) -> pd.DataFrame:
    """Six draws, with d / 100 added on draw d, and F3AST with a swing of 0.04; two objectives."""
    rows = []
    for share in ("equal", "examples"):
        for algorithm, aggregation, *scores in METHODS:
            for regime, score in zip(("always", "scarce"), scores):
                for draw in range(6):
                    own = score + draw / 100
                    if algorithm == "f3ast":
                        own += 0.04 * (-1) ** draw
                    accuracies = (own, own, 1.0, 1.0)
                    rows.append(
                        ("synthetic", algorithm, aggregation, "10", regime, share, draw, draw, 9)
                        + accuracies
                    )
    names = "task algorithm aggregation clients_per_round availability client_share data_seed seed"
    scores_names = "round sample_accuracy user_accuracy sample_loss user_loss"
    table = pd.DataFrame(rows, columns=f"{names} {scores_names}".split())
    table.to_csv(path, index=False)
    return table


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Means over the regimes: plain .55; others .35, .55, .65, and .55 with a swing of .04.

    So the plain mean is better by .2 in all draws, equal, worse by .1, and equal on average.
    """
    path = tmp_path / "scores.csv"
    study(path)
    claims = judged(read_study(path, ["availability"]))
    assert [claim.share for claim in claims] == ["equal"] * 4 + ["examples"] * 4
    for four in (claims[:4], claims[4:]):
        assert [claim.found.mean for claim in four] == pytest.approx([0.2, 0, -0.1, 0], abs=1e-9)
        words = [claim.verdict.word for claim in four]
        assert words == ["better", "too close to call", "worse", "too close to call"]
    assert main(["x", f"--scores={path}"]) == 0
    printed = capsys.readouterr().out
    assert "| 1 / N | p_k, absent as 0 | +0.200 | [+0.200, +0.200] | better |" in printed
    assert "over 6 draws" in printed


def test_a_missing_run_is_said(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    table = study(path)
    gone = (table["algorithm"] == "unbiased") & (table["seed"] == 3)
    table[~(gone & (table["availability"] == "scarce"))].to_csv(path, index=False)
    with pytest.raises(RunsError, match="'unbiased'.* needs one run per regime and draw"):
        judged(read_study(path, ["availability"]))
