"""The leaderboard's command on a small folder of runs, and all runs in one table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.times import PERIODS
from f3ast_tff.analysis.leaderboard.boards import ranked_studies
from f3ast_tff.analysis.runs import SCORES
from f3ast_tff.analysis.texts import read_csv
from f3ast_tff.analysis.tidy_scores import read_scores
from f3ast_tff.campaigns.study_folders import STUDIES
from f3ast_tff.cli import leaderboard
from f3ast_tff.cli.export import main
from f3ast_tff.files.exit_codes import BAD_INPUT
from f3ast_tff.records.results import seal, without_seal
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.resolve import resolve
from tests.analysis.conftest import MakeRun, make_run
from tests.commands import Cli

SETTINGS = {"task": "synthetic", "algorithm": "f3ast", "rate_beta": 0.01}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: Table III's home devices, draw 0, with another beta; and a run of two rounds.

    The first is a run of two rounds too, with the rounds and scores of the kept run: 1000 rounds
    would take ten seconds.
    """
    folder = tmp_path_factory.mktemp("runs")
    for name, every in (("whole", 1), ("short", 500)):
        run_experiment(resolve({**SETTINGS, "rounds": 2, "eval_every": every}), folder / name)
    scores = read_scores(STUDIES / "table3_synthetic/scores.csv")
    world = {"algorithm": "f3ast", "availability": "home_devices", "reading": "paper"}
    of_run = {**world, "draw": 0, "seed": 0}
    kept = scores[np.all([scores[name] == value for name, value in of_run.items()], axis=0)]
    kept = kept[kept["round"].isin([500, 1000])]
    metrics = pd.read_csv(folder / "whole" / "metrics.csv")
    metrics["round"] = kept["round"].to_numpy()
    for score in SCORES:
        metrics[f"test_{score}"] = kept[score].to_numpy()
    metrics.to_csv(folder / "whole" / "metrics.csv", index=False)
    config = json.loads((folder / "whole" / "config.json").read_text())
    config["settings"].update(rounds=1000, eval_every=500)
    (folder / "whole" / "config.json").write_text(json.dumps(config))
    summary = without_seal(json.loads((folder / "whole" / "summary.json").read_text()))
    last = metrics.iloc[-1].to_dict()
    for name in PERIODS:
        summary[name] = {each: last[each] for each in summary[name]}
    sealed = seal(folder / "whole", summary)
    (folder / "whole" / "summary.json").write_text(json.dumps(sealed))
    return folder


@pytest.fixture
def one_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one study is read: all would take seconds."""
    kept = [study for study in ranked_studies() if study.name == "table3_synthetic"]
    monkeypatch.setattr(leaderboard, "ranked_studies", lambda: kept)


@pytest.mark.long
def test_own_runs_stand_among_the_kept_ones(
    runs: Path, one_study: None, tmp_path: Path, cli: Cli
) -> None:
    """One of 12 draws gives no place, verdict or rounds to the target. The short run is out."""
    out = tmp_path / "board"
    said = cli.said(leaderboard.main(["leaderboard", f"--add={runs}", f"--out={out}"]))
    assert "F3AST (yours) against FedAvg, sample accuracy, 1 regime" in said.out
    assert "not judged in 1" in said.out
    assert "has rounds 1000, not 2" in said.err
    html = (out / "leaderboard.html").read_text()
    assert html.count('class="marked"') == 1
    assert "not judged: 1 draw of the data, 5 are needed" in html
    assert "has rounds 1000, not 2" in (out / "leaderboard.md").read_text()
    table = pd.read_csv(out / "standings.csv")
    own = table[table["own"]]
    assert own["board"].tolist() == ["reading=paper,availability=home_devices"]
    assert own["place"].tolist() == ["–"]
    # FedAvg's accuracy is a mean over all draws.
    assert own["rounds_to_target"].tolist() == ["–"]
    assert len(table) == 5 * 5 + 1


@pytest.mark.long
def test_without_runs_the_kept_methods_stand_alone(one_study: None, tmp_path: Path) -> None:
    assert leaderboard.main(["leaderboard", f"--out={tmp_path}"]) == 0
    page = (tmp_path / "leaderboard.html").read_text()
    assert "How to read" in page
    assert "Is mine better?" not in page


@pytest.mark.long
def test_errors_are_one_line(runs: Path, one_study: None, tmp_path: Path, cli: Cli) -> None:
    for words in (
        [f"--add={runs / 'short'}", f"--out={tmp_path}"],
        [f"--add={tmp_path / 'nothing'}", f"--out={tmp_path}"],
        [f"--add={runs}"],
    ):
        assert cli.said(leaderboard.main(["leaderboard", *words]), BAD_INPUT).err.count("\n") == 1


def test_a_run_on_a_table_that_names_no_file_is_left_out(
    runs: Path, one_study: None, tmp_path: Path, cli: Cli
) -> None:
    path = runs / "whole" / "config.json"
    config = json.loads(path.read_text())
    config["settings"]["availability"] = "table"
    path.write_text(json.dumps(config))
    added = [f"--add={path.parent}", f"--out={tmp_path / 'out'}"]
    printed = cli.said(leaderboard.main(["leaderboard", *added]), BAD_INPUT).err
    assert "its settings name no table_file" in printed


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
