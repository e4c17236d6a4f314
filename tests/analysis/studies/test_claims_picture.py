"""The picture of the papers' claims: content of its rows, and the drawn file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from f3ast_tff.analysis.studies.claims_picture import Group, draw_claims, main, rows_of
from f3ast_tff.core.errors import ParameterError

TABLE = """task,algorithm,availability,data_seed,seed,round,SCORES
cifar100,fedavg,always,0,0,10,0.2,0.2,1,1
cifar100,fedavg,always,1,1,10,0.3,0.3,1,1
cifar100,f3ast,always,0,0,10,0.22,0.2,1,1
cifar100,f3ast,always,1,1,10,0.34,0.3,1,1
"""
GROUP = Group(
    "Table III",
    Path("kept.csv"),
    across="availability",
    labels=(("always", "always"),),
    printed=("f3ast_table3_sample_accuracy.csv", "availability"),
    task="cifar100",
)


def test_a_row_holds_our_mean_difference_and_the_printed_lead(tmp_path: Path) -> None:
    """Leads of .02 and .04 have mean .03; Table III prints .198 and .141 under always."""
    (tmp_path / "kept.csv").write_text(
        TABLE.replace("SCORES", "sample_accuracy,user_accuracy,sample_loss,user_loss")
    )
    (row,) = rows_of(replace(GROUP, scores=tmp_path / "kept.csv"))
    assert row.label == "F3AST − FedAvg, always"
    assert row.found.mean == pytest.approx(0.03)
    assert row.found.num_draws == 2
    assert row.printed == pytest.approx(0.057)


def test_all_kept_claims_are_drawn(tmp_path: Path) -> None:
    assert main(["claims_picture", f"--out={tmp_path}/claims.svg"]) == 0
    drawn = (tmp_path / "claims.svg").read_text()
    # 27 intervals and 21 printed leads have one marker each; the legend has two more.
    assert drawn.count('<g id="line2d_') > 46


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"claims\.pdf.*\.svg or \.png"):
        draw_claims(tmp_path / "claims.pdf")
