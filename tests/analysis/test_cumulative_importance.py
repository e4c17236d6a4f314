"""Cumulative importance by class of clients, from small run folders, and its tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis import cumulative_importance, importance_tables
from f3ast_tff.analysis.runs import RunsError, load_runs
from f3ast_tff.run.run_experiment import run_experiment
from tests.analysis.conftest import MakeRun
from tests.analysis.kept_results import campaign_of

RESULTS = Path(__file__).resolve().parents[2] / "analysis" / "results"

# Clients 0 to 3: more available and correlated, more available and weakly correlated, less
# available and correlated, less available and weakly correlated.
CHAINS = {
    "availability": "four_classes",
    "markov_g": 0.4,
    "markov_nu": 0.9,
    "markov_epsilon": 0.01,
    "markov_order": "blocks",
    "markov_classes": "four",
}
P = np.array([0.3, 0.2, 0.4, 0.1])


def make(make_run: MakeRun, name: str, scale: float = 1.0, **settings: Any) -> Path:
    """Makes a run of two rounds: clients 0 and 2 with weights 0.3 and 0.6, then 3 with 0.3."""
    run = make_run(name, **{**CHAINS, **settings})
    weights = scale * np.array([[0.3, 0.6], [0.3, 0]])
    selected = np.array([[0, 2], [3, -1]])
    np.savez(
        run / "selection.npz",
        selected=selected,
        weights=weights,
        weight_sum=weights.sum(axis=1),
        p=P,
    )
    return run


def ratios(folder: Path) -> dict[str, float]:
    table = cumulative_importance.cumulative_importance(load_runs(folder))
    return dict(zip(table["clients"], table["ratio"]))


def test_importance_by_class(make_run: MakeRun, tmp_path: Path) -> None:
    """Over two rounds client 0 has 0.15, client 2 has 0.3, client 3 has 0.15: 0.6 in total."""
    make(make_run, "unbiased", algorithm="unbiased")
    table = cumulative_importance.cumulative_importance(load_runs(tmp_path))
    assert table["clients"].tolist() == [
        "more_available",
        "less_available_weakly_correlated",
        "less_available_correlated",
    ]
    assert table["weight"].tolist() == [0.15, 0.15, 0.3]
    assert table["weight_share"].tolist() == [0.25, 0.25, 0.5]
    assert table["p"].tolist() == [0.5, 0.1, 0.4]
    assert table["ratio"].tolist() == [0.3, 1.5, 0.75]


def test_three_classes_are_the_same_groups(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "unbiased", markov_classes="three")
    assert ratios(tmp_path) == {
        "more_available": 0.3,
        "less_available_weakly_correlated": 1.5,
        "less_available_correlated": 0.75,
    }


def test_a_mean_has_weights_of_sum_one(make_run: MakeRun, tmp_path: Path) -> None:
    """Weights are 1/3 and 2/3, then 1: means 1/6, 1/3 and 1/2."""
    make(make_run, "fedavg", aggregation="mean")
    found = ratios(tmp_path)
    assert found["more_available"] == pytest.approx(1 / 6 / 0.5, abs=1e-6)
    assert found["less_available_weakly_correlated"] == pytest.approx(0.5 / 0.1, abs=1e-6)
    assert found["less_available_correlated"] == pytest.approx(1 / 3 / 0.4, abs=1e-6)


def test_late_updates_count(make_run: MakeRun, tmp_path: Path) -> None:
    run = make(make_run, "fedbuff")
    arrays = dict(np.load(run / "selection.npz"))
    late = {"late_clients": np.array([[-1], [1]]), "late_weights": np.array([[0.0], [0.1]])}
    np.savez(run / "selection.npz", **arrays, **late)
    assert ratios(tmp_path)["more_available"] == pytest.approx((0.3 + 0.1) / 2 / 0.5)


def test_no_weight_at_all(make_run: MakeRun, tmp_path: Path) -> None:
    make(make_run, "unbiased", scale=0)
    table = cumulative_importance.cumulative_importance(load_runs(tmp_path))
    assert table["ratio"].tolist() == [0, 0, 0]
    assert all(map(math.isnan, table["weight_share"]))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"availability": "always"}, "has availability always, not four_classes"),
        ({"availability_draws": "by_round_only"}, "availability_draws=by_round_only"),
    ],
)
def test_classes_that_are_not_known(
    make_run: MakeRun, tmp_path: Path, settings: dict[str, Any], says: str
) -> None:
    make(make_run, "unbiased", **settings)
    with pytest.raises(RunsError, match=says):
        ratios(tmp_path)


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
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for draw in range(2):
        make(make_run, f"unbiased{draw}", 0, algorithm="unbiased", seed=draw)
    path = tmp_path / "importance.csv"
    assert cumulative_importance.main(["x", f"--runs={tmp_path}/runs", f"--out={path}"]) == 0
    assert importance_tables.main(["x", f"--importance={path}", "--over=unbiased"]) == 0
    assert "| Unbiased | – | – | – |" in capsys.readouterr().out


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
def test_refused(
    file: Path, flags: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert importance_tables.main(["x", f"--importance={file}", *flags]) == 2
    assert says in capsys.readouterr().err


def test_a_file_of_one_draw_or_without_a_column(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv(file)
    for changed, says in (
        (table[table["data_seed"] == 0], "an interval needs two draws"),
        (table.drop(columns="ratio"), "has no column ratio"),
    ):
        changed.to_csv(file, index=False)
        assert importance_tables.main(["x", f"--importance={file}"]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_again_gives_the_kept_importance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CA-Fed as printed, on draw 0 of Fig. 1a."""
    monkeypatch.chdir(tmp_path)
    kept = pd.read_csv(RESULTS / "cafed_fig1d.csv")
    kept = kept[(kept["ca_fed_bias"] == "paper") & (kept["data_seed"] == 0)]
    (run,) = campaign_of(("cafed_fig1a", "--draw=0", "--where=ca_fed_bias=paper"))
    run_experiment(run.configuration, run.folder)
    again = cumulative_importance.cumulative_importance(load_runs(tmp_path))
    for name in ("weight", "weight_share", "p", "ratio"):
        assert again[name].to_numpy() == pytest.approx(kept[name].to_numpy(), abs=1e-5)
