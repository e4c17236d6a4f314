"""The tables and the picture of cumulative importance, and the kept file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.studies import cumulative_importance
from f3ast_tff.analysis.studies.cafed_fig1a import importance_tables
from f3ast_tff.run.run_experiment import run_experiment
from tests.analysis.class_runs import make
from tests.analysis.conftest import MakeRun
from tests.analysis.kept_results import campaign_of
from tests.commands import Cli

STUDY = Path(__file__).resolve().parents[4] / "analysis/studies/cafed_fig1a"


@pytest.fixture
def file(make_run: MakeRun, tmp_path: Path) -> Path:
    """Unbiased and AdaFed on two draws; AdaFed's weights are 0.5 and 1.5 times Unbiased's."""
    for draw in range(2):
        seeds = {"data_seed": draw, "seed": draw}
        make(make_run, f"unbiased{draw}", algorithm="unbiased", **seeds)
        make(make_run, f"adafed{draw}", draw + 0.5, algorithm="adafed", **seeds)
    path = tmp_path / "importance.csv"
    words = ["x", f"--runs={tmp_path}/runs", f"--out={path}"]
    assert cumulative_importance.main(words) == 0
    return path


def test_tables(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ratios 0.5 and 1.5 have mean 1 and standard error .5; t(0.975; 1) = 12.706."""
    capsys.readouterr()
    assert importance_tables.main(["x", f"--importance={file}", "--over=unbiased"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Cumulative importance over p:"
    assert out[4].startswith("| Unbiased | 0.300 [0.300, 0.300] | 1.500 [1.500, 1.500] | 0.750 [")
    assert out[7] == "Means; 95% intervals cover draws of the data, 2 of them."
    assert out[9] == "Cumulative importance over p, more available:"
    assert out[13] == "| Unbiased | -1.200 [-1.200, -1.200] | -0.450 [-0.450, -0.450] |"
    assert out[16] == "Cumulative importance over that of Unbiased, same draws:"
    assert out[21].startswith("| AdaFed | 1.000 [-5.353, 7.353] | 1.000 [-5.353, 7.353] |")


def test_rows_are_in_order(make_run: MakeRun, tmp_path: Path) -> None:
    """First by method, then by ascending number; a method without the setting comes first."""
    for seed in range(2):
        make(make_run, f"f3ast{seed}", seed=seed)
        for history in (100, 32):
            settings: dict[str, Any] = {"algorithm": "adafed", "availability_history": history}
            make(make_run, f"adafed{seed}{history}", seed=seed, **settings)
    out = tmp_path / "importance.csv"
    assert cumulative_importance.main(["x", f"--runs={tmp_path}/runs", f"--out={out}"]) == 0
    table = importance_tables.read_importance(out)
    found = importance_tables.by_method(table, ["algorithm", "availability_history"], "ratio")
    assert list(found) == [("f3ast", ""), ("adafed", "32"), ("adafed", "100")]


def test_a_method_without_weight_divides_nothing(
    make_run: MakeRun, tmp_path: Path, cli: Cli
) -> None:
    for draw in range(2):
        make(make_run, f"unbiased{draw}", 0, algorithm="unbiased", seed=draw)
    path = tmp_path / "importance.csv"
    assert cumulative_importance.main(["x", f"--runs={tmp_path}/runs", f"--out={path}"]) == 0
    printed = cli.said(importance_tables.main(["x", f"--importance={path}", "--over=unbiased"])).out
    assert "| Unbiased | – | – | – |" in printed


def test_clients_without_data_have_no_ratio(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one of two draws p of the more available is 0: there no interval, elsewhere as before."""
    table = pd.read_csv(file)
    empty = (table["clients"] == "more_available") & (table["data_seed"] == 0)
    table.assign(ratio=table["ratio"].mask(empty)).to_csv(file, index=False)
    capsys.readouterr()
    out = file.with_name("importance.svg")
    words = [f"--importance={file}", f"--picture={out}"]
    assert importance_tables.main(["x", *words[:1]]) == 0
    assert "| Unbiased | – | 1.500 [1.500, 1.500] | 0.750 [" in capsys.readouterr().out
    assert importance_tables.main(["x", *words]) == 0 and out.exists()


def test_the_picture(file: Path) -> None:
    out = file.with_name("importance.svg")
    assert importance_tables.main(["x", f"--importance={file}", f"--picture={out}"]) == 0
    drawn = out.read_text()
    for name in ("Unbiased", "AdaFed", "less available, weakly correlated"):
        assert f"<!-- {name} -->" in drawn


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--rows=colour"], "--rows=colour: must be of the columns task, algorithm"),
        (["--over=f3ast"], "--over=f3ast: must be of the rows unbiased, adafed"),
        (["--rows=task"], "twice; name more settings in --rows"),
        (["--picture=x.gif"], "must end in .svg or .png"),
        (["--importance=no.csv"], "cannot read no.csv"),
    ],
)
def test_refused(file: Path, flags: list[str], says: str, cli: Cli) -> None:
    assert says in cli.said(importance_tables.main(["x", f"--importance={file}", *flags]), 2).err


def test_a_file_of_one_draw_or_without_a_column(file: Path, cli: Cli) -> None:
    table = pd.read_csv(file)
    for changed, says in (
        (table[table["data_seed"] == 0], "an interval needs two draws"),
        (table.drop(columns="ratio"), "has no column ratio"),
    ):
        changed.to_csv(file, index=False)
        assert says in cli.said(importance_tables.main(["x", f"--importance={file}"]), 2).err


@pytest.mark.slow
def test_a_run_again_gives_the_kept_importance(cwd: Path) -> None:
    """CA-Fed as printed, on draw 0 of Fig. 1a."""
    kept = pd.read_csv(STUDY / "importance.csv")
    kept = kept[(kept["ca_fed_bias"] == "paper") & (kept["data_seed"] == 0)]
    (run,) = campaign_of(("cafed_fig1a", "--draw=0", "--where=ca_fed_bias=paper"))
    run_experiment(run.configuration, run.folder)
    again = cumulative_importance.cumulative_importance(load_runs(cwd))
    for name in ("weight", "weight_share", "p", "ratio"):
        assert again[name].to_numpy() == pytest.approx(kept[name].to_numpy(), abs=1e-5)
