"""All runs in one table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.texts import read_csv
from f3ast_tff.cli.export import main
from tests.analysis.conftest import MakeRun, make_run
from tests.commands import Cli

__all__ = ["make_run"]


def export(folder: Path, name: str = "all.parquet") -> int:
    return main(["f3ast-tff", f"--runs={folder / 'runs'}", f"--out={folder / name}"])


def test_parquet_has_a_row_an_evaluation_and_types(
    make_run: MakeRun, tmp_path: Path, cli: Cli
) -> None:
    pytest.importorskip("pyarrow")
    make_run("a", 0.5, seed=0, server_lr=1)
    make_run("b", 0.6, seed=1, server_lr=0.5, rate_beta=0.01)
    assert export(tmp_path) == 0
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert table["run"].tolist() == ["a", "a", "b", "b"]
    assert table["round"].tolist() == [2, 4, 2, 4]
    assert table["finished"].all()
    assert table["server_lr"].tolist() == [1.0, 1.0, 0.5, 0.5]
    assert table["seed"].dtype == "Int64"
    assert table["rate_beta"].isna().tolist() == [True, True, False, False]
    assert "2 runs, 4 rows" in cli.printed().out


def test_a_setting_is_no_formula_in_a_spreadsheet(make_run: MakeRun, tmp_path: Path) -> None:
    text = '=HYPERLINK("http://x.org","y")'
    make_run("a", availability_parts=text)
    assert export(tmp_path, "all.csv") == 0
    assert pd.read_csv(tmp_path / "all.csv")["availability_parts"].tolist() == [f"'{text}"] * 2
    table = read_csv((tmp_path / "all.csv").read_text())
    assert table["availability_parts"].tolist() == [text, text]


def test_csv_needs_no_pyarrow(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """A damaged run is left out with a notice."""
    make_run("a")
    (make_run("b") / "config.json").write_text("{")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    says = "needs pyarrow: pip install 'f3ast-tff[parquet]', or a file that ends in .csv\n"
    assert cli.said(export(tmp_path), 2).err == f"error: --out={tmp_path / 'all.parquet'}: {says}"
    assert "left out: damaged run" in cli.said(export(tmp_path, "all.csv")).err
    assert len(pd.read_csv(tmp_path / "all.csv")) == 2
    assert "must end in .parquet or .csv" in cli.said(export(tmp_path, "all.xlsx"), 2).err
