"""The influence of phones that are seldom available, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.studies.real_phones.rare_phones import METHODS, REGIMES, influences, main


def test_influence_by_hand() -> None:
    """Three phones of p = 1/4, 1/4, 1/2, in 0, 2 and 4 rounds of four, K = 1 or none.

    Phone 1 is selected once with weight .6, phone 2 twice with .2: of all weights, 1.0, they have
    .6 and .4, over p 2.4 and .8.
    """
    rows = list(
        influences(
            available=np.array([0, 2, 4]),
            selected=np.array([[1], [2], [2], [-1]]),
            weights=np.array([[0.6], [0.2], [0.2], [np.nan]]),
            p=np.array([0.25, 0.25, 0.5]),
        )
    )
    assert [row["rounds_available"] for row in rows] == ["0", "1-2", "3-20"]
    assert [row["phones"] for row in rows] == [1, 1, 1]
    assert [row["selected"] for row in rows] == [0, 0.5, 0.5]
    assert [row["influence"] for row in rows] == pytest.approx([0, 2.4, 0.8])
    assert [row["largest_weight"] for row in rows] == [0, 0.6, 0.2]


def test_the_kept_file_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups stand in the order of their rounds; without finished runs there is no file."""
    rows = [
        (regime, group, method, 5, 0.5, 0.25, 0.75)
        for regime in REGIMES
        for group in ("21-100", "3-20")
        for method in METHODS
    ]
    names = ["availability", "rounds_available", "method", "phones"]
    names += ["selected", "influence", "largest_weight"]
    kept = tmp_path / "rare_phones.csv"
    pd.DataFrame(rows, columns=names).to_csv(kept, index=False)
    assert main(["x", f"--kept={kept}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = "| 5 | 0.50 | 0.25 | 0.25 | 0.25 | 0.25 | 0.75 | 0.75 |"
    assert lines[2:4] == [f"| flash_ready_1000 | {group} {cells}" for group in ("3-20", "21-100")]
    assert main(["x", f"--runs={tmp_path}"]) == 2
    assert main(["x", f"--runs={tmp_path}", f"--out={kept}"]) == 2
    assert "has no finished run" in capsys.readouterr().err
