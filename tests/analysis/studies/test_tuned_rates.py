"""Choosing rates on held-out draws, and one grid of rates, from small files by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.studies.kept_pages import commands
from f3ast_tff.analysis.studies.rate_grids import Pair, best_of, edge_of, unequal_grids
from f3ast_tff.analysis.studies.tuned_rates import main
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.files.data_files import read_toml
from tests.commands import Cli

HEADER = (
    "task,algorithm,availability,aggregation,baseline_sampling,client_share,client_lr,server_lr,"
    "data_seed,seed,round,sample_accuracy,user_accuracy,sample_loss,user_loss"
)
FEDAVG, MIFA = "fedavg,{},mean,uniform", "mifa,{},mifa,"
REGIMES = {100: "always", 101: "uneven"}
PAIRS = list(itertools.product((0.01, 0.1), (0.5, 1.0)))


def rows(
    method: str, share: str, accuracies: list[tuple[str, str]], user: str = "0.3"
) -> list[str]:
    """Rows of draws 100 and 101; per rate pair, the two sample accuracies."""
    found = []
    for (client, server), two in zip(PAIRS, accuracies):
        for (draw, regime), accuracy in zip(REGIMES.items(), two):
            given = f"synthetic,{method.format(regime)},{share},{client},{server},{draw},{draw}"
            found += [f"{given},500,0.99,0.99,0.1,0.1", f"{given},1000,{accuracy},{user},0.5,0.5"]
    return found


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """FedAvg's means are .5, .6, .6, .55: of the two best, the smaller client rate (.01, 1.0) wins.

    MIFA's user accuracy is always .3, so the smallest rates win.
    """
    fedavg = [("0.5", "0.5"), ("0.7", "0.5"), ("0.5", "0.7"), ("0.5", "0.6")]
    path = tmp_path / "tuning.csv"
    lines = [*rows(FEDAVG, "examples", fedavg), *rows(MIFA, "equal", [("0.1", "0.9")] * 4)]
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def chosen(scores: Path, *flags: str) -> pd.DataFrame:
    out = scores.with_name("rates.csv")
    assert main(["x", f"--scores={scores}", f"--out={out}", *flags]) == 0
    return pd.read_csv(out, keep_default_na=False)


def replace(scores: Path, old: str, new: str) -> None:
    text = scores.read_text()
    assert text.count(old) == 1
    scores.write_text(text.replace(old, new))


def test_the_highest_mean_over_held_out_runs(scores: Path) -> None:
    fedavg, mifa = chosen(scores).to_dict("records")
    assert fedavg == {
        "algorithm": "fedavg",
        "aggregation": "mean",
        "baseline_sampling": "uniform",
        "client_share": "examples",
        "client_lr": 0.01,
        "server_lr": 1.0,
        "score": 0.6,
        "score_at_default": 0.6,
        "margin": 0.0,
        "plateau": 2,
        "edge": "both",
        "rate_pairs": 4,
        "runs_per_pair": 2,
    }
    assert mifa["baseline_sampling"] == ""
    assert (mifa["client_lr"], mifa["server_lr"], mifa["score"]) == (0.01, 0.5, 0.3)


@pytest.mark.parametrize("lost", ["0.7,0.3,,0.5", "0.7,0.3,inf,0.5", ",0.3,0.5,0.5"])
def test_a_run_that_is_not_finite_counts_as_0(scores: Path, lost: str) -> None:
    """FedAvg at (.01, 1.0) has (0 + .5) / 2 = .25, so (.1, .5) with .6 wins."""
    replace(scores, "0.01,1.0,100,100,1000,0.7,0.3,0.5,0.5", f"0.01,1.0,100,100,1000,{lost}")
    fedavg = chosen(scores).iloc[0]
    assert (fedavg["client_lr"], fedavg["server_lr"]) == (0.1, 0.5)
    assert (fedavg["score"], fedavg["score_at_default"]) == (0.6, 0.25)


def test_a_user_loss_does_not_count_in_the_objective_over_samples(scores: Path) -> None:
    replace(scores, "0.01,1.0,100,100,1000,0.7,0.3,0.5,0.5", "0.01,1.0,100,100,1000,0.7,0.3,0.5,")
    assert chosen(scores).iloc[0]["score"] == 0.6


def test_a_task_without_accuracy_is_judged_by_its_loss(scores: Path, cli: Cli) -> None:
    """User losses .4, .2 and, diverged, none at .03, .1 and .3: the choice is .1, by .2."""
    header = HEADER.replace("sample_accuracy,user_accuracy,", "") + ",better"
    lines = [
        f"regression,fedavg,always,mean,uniform,equal,{client},0.5,100,100,9,0.9,{loss},loss lower"
        for client, loss in ((0.03, 0.4), (0.1, 0.2), (0.3, ""))
    ]
    scores.write_text("\n".join([header, *lines]) + "\n")
    (row,) = chosen(scores, "--score=loss").to_dict("records")
    assert (row["client_lr"], row["score"], row["margin"], row["plateau"]) == (0.1, 0.2, 0.2, 1)
    assert "is tuned to client_lr 0.1, server_lr 0.5: 0.2 better" in cli.printed().out
    printed = cli.said(main(["x", f"--scores={scores}", "--out=no.csv"]), 2).err
    assert "no score 'accuracy'; it must be one of loss" in printed


def test_one_server_rate_alone_is_not_tuned(scores: Path) -> None:
    """Client rates .03, .1 and .3, and one server rate, .5: the choice .1 is at no edge."""
    lines = []
    for client, accuracy in ((0.03, 0.4), (0.1, 0.5), (0.3, 0.3)):
        given = f"fedavg,always,mean,uniform,examples,{client},0.5,100,100,9"
        lines.append(f"synthetic,{given},{accuracy},0.1,0.5,0.5")
    scores.write_text("\n".join([HEADER, *lines]) + "\n")
    (row,) = chosen(scores).to_dict("records")
    assert (row["client_lr"], row["edge"], row["score_at_default"]) == (0.1, "", "")
    assert (row["rate_pairs"], row["runs_per_pair"]) == (3, 1)


def test_a_missing_run_is_an_error(scores: Path, cli: Cli) -> None:
    lost = "mifa,always,mifa,,equal,0.1,0.5"
    kept = [line for line in scores.read_text().splitlines() if lost not in line]
    scores.write_text("\n".join(kept) + "\n")
    said = "lacks 1 of 2 held-out runs at client_lr 0.1, server_lr 0.5"
    printed = cli.said(main(["x", f"--scores={scores}", f"--out={scores}.out"]), 2).err
    assert f"error: MIFA with client_share=equal {said}" in printed
    assert not Path(f"{scores}.out").exists()


def test_methods_with_unequal_grids_are_refused(scores: Path, cli: Cli) -> None:
    lines = scores.read_text().splitlines()
    scores.write_text("\n".join(line for line in lines if ",equal,0.1,0.5" not in line) + "\n")
    out = scores.with_name("rates.csv")
    said = cli.said(main(["x", f"--scores={scores}", f"--out={out}"]), 2).err
    assert said.startswith("error: unequal grids of rates: 3 pairs: MIFA with client_share=equal; ")
    assert "; 4 pairs: FedAvg, uniform with client_share=examples (" in said
    assert said.count("\n") == 1 and not out.exists()
    toml = scores.with_name("variants.toml")
    assert list(chosen(scores, "--unequal_grids", f"--toml={toml}")["rate_pairs"]) == [4, 3]
    first = cli.printed().out.splitlines()[0]
    assert first.startswith("# Unequal grids of rates: 3 pairs: MIFA with client_share=equal; 4 ")
    assert toml.read_text().splitlines()[0] == first


def test_a_plateau_is_not_called_tuned(scores: Path, cli: Cli) -> None:
    """FedAvg's means: .5, .6, .595 and .55, so the margin is .005 and the best stands alone.

    With .5951 in place of .595 the margin is .0049, and two pairs are on the plateau.
    """
    replace(scores, "0.1,0.5,100,100,1000,0.5,0.3", "0.1,0.5,100,100,1000,0.49,0.3")
    fedavg, mifa = chosen(scores).to_dict("records")
    assert (fedavg["margin"], fedavg["plateau"]) == (0.005, 1)
    assert (mifa["margin"], mifa["plateau"]) == (0, 4)
    remarks = [line for line in cli.printed().out.splitlines() if line.startswith("#")]
    assert remarks == [
        "# FedAvg, uniform with client_share=examples is tuned to client_lr 0.01, server_lr 1: "
        "0.005 better than the second of 4",
        "# MIFA with client_share=equal has a plateau: 4 of 4 pairs lie within 0.005 of client_lr "
        "0.01, server_lr 0.5",
    ]
    replace(scores, "0.1,0.5,100,100,1000,0.49,0.3", "0.1,0.5,100,100,1000,0.4902,0.3")
    fedavg = chosen(scores).iloc[0]
    assert (fedavg["margin"], fedavg["plateau"]) == (0.0049, 2)
    assert "tuned to" not in cli.printed().out


def test_the_pairs_beside_a_choice_on_the_edge(scores: Path) -> None:
    """FedAvg's choice is (.01, 1): of the steps .003, .01, .03 and .3, 1, 3 only it was run.

    MIFA's choice is (.01, .5): the server rates one step from .5 are .3 and 1; (.01, 1) was run.
    """
    edges = scores.with_name("edges.toml")
    chosen(scores, f"--edges={edges}")
    campaign = scores.with_name("campaign.toml")
    campaign.write_text('[settings]\ntask = "synthetic"\n\n' + edges.read_text())
    found: dict[str, list[tuple[float, float]]] = {"fedavg": [], "mifa": []}
    for run in plan(campaign, {}).runs:
        pair = (run.settings["client_lr"], run.settings["server_lr"])
        found[run.settings["algorithm"]].append(pair)
    around = itertools.product((0.003, 0.01, 0.03), (0.3, 1.0, 3.0))
    assert sorted(found["fedavg"]) == [pair for pair in around if pair != (0.01, 1.0)]
    around = itertools.product((0.003, 0.01, 0.03), (0.3, 0.5, 1.0))
    run = ((0.01, 0.5), (0.01, 1.0))
    assert sorted(found["mifa"]) == [pair for pair in around if pair not in run]


@pytest.mark.parametrize(
    ("clients", "servers"),
    [((0.003, 0.01, 0.03), (0.3, 1.0, 3.0)), ((0.0316, 0.1, 0.316), (0.316, 1.0, 3.16))],
    ids=["the ladder", "rates near it"],
)
def test_a_choice_with_its_neighbours_run_is_on_no_edge(
    scores: Path, clients: tuple[float, ...], servers: tuple[float, ...]
) -> None:
    """All pairs were run; that of the middle rates has .5, each other pair .4."""
    best, lines = (clients[1], servers[1]), []
    for client, server in itertools.product(clients, servers):
        accuracy = 0.5 if (client, server) == best else 0.4
        given = f"fedavg,always,mean,uniform,examples,{client},{server},100,100,9"
        lines.append(f"synthetic,{given},{accuracy},0.1,0.5,0.5")
    scores.write_text("\n".join([HEADER, *lines]) + "\n")
    edges = scores.with_name("edges.toml")
    (row,) = chosen(scores, f"--edges={edges}").to_dict("records")
    assert (row["client_lr"], row["server_lr"], row["edge"]) == (*best, "")
    assert edges.read_text() == ""


def test_one_rate_may_vary_alone(scores: Path, cli: Cli) -> None:
    """FedAvg's means at server_lr 0.5 are .5 and .6; the other rate is not known."""
    table = pd.read_csv(scores, dtype=str)
    table[table["server_lr"] == "0.5"].drop(columns="server_lr").to_csv(scores, index=False)
    found = chosen(scores).set_index("algorithm")
    assert found["client_lr"].to_dict() == {"fedavg": 0.1, "mifa": 0.01}
    assert set(found["server_lr"]) == set(found["score_at_default"]) == {""}
    printed = cli.printed().out
    assert "is tuned to client_lr 0.1: 0.1 better" in printed and "server_lr" not in printed


@pytest.mark.parametrize("name", ["client_share", "client_lr"])
def test_a_missing_column_is_named(scores: Path, name: str, cli: Cli) -> None:
    table = pd.read_csv(scores, dtype=str)
    table = table[(table["server_lr"] == "0.5") & (table["client_lr"] == "0.01")]
    table = table.drop(columns=[name, "server_lr"])
    table.to_csv(scores, index=False)
    printed = cli.said(main(["x", f"--scores={scores}", f"--out={scores}.out"]), 2).err
    assert f"has no column {name}" in printed


def test_the_choices_plan_a_campaign(scores: Path, cli: Cli) -> None:
    """An algorithm's own aggregation is left out; rates are numbers."""
    variants = scores.with_name("variants.toml")
    lines = scores.read_text().replace(",equal,", ",batches,")
    scores.write_text(lines)
    chosen(scores, f"--toml={variants}")
    text = variants.read_text()
    assert cli.printed().out == text
    assert text.split("\n\n")[0] == "\n".join(
        [
            "# FedAvg, uniform with client_share=examples has a plateau: 2 of 4 pairs lie within "
            "0.005 of client_lr 0.01, server_lr 1",
            "[[variants]]",
            'algorithm = "fedavg"',
            'baseline_sampling = "uniform"',
            'client_share = "examples"',
            "client_lr = 0.01",
            "server_lr = 1.0",
        ]
    )
    campaign = scores.with_name("tuned.toml")
    campaign.write_text('[settings]\ntask = "synthetic"\n\n' + text)
    found = [run.settings for run in plan(campaign, {}).runs]
    assert [(run["algorithm"], run["server_lr"]) for run in found] == [("fedavg", 1), ("mifa", 0.5)]


def test_two_tasks_have_a_choice_each(scores: Path) -> None:
    """A column names the task; without settings of regimes all runs belong to one regime."""
    header, *lines = scores.read_text().splitlines()
    other = [line.replace("synthetic", "mnist", 1) for line in lines]
    scores.write_text("\n".join([header, *lines, *other]) + "\n")
    found = chosen(scores)
    assert found["task"].tolist() == ["synthetic"] * 2 + ["mnist"] * 2
    assert found["client_lr"].tolist() == [0.01] * 4
    of_first = [line for line in lines if ",always," in line]
    scores.write_text("\n".join([header, *of_first]) + "\n")
    assert chosen(scores, "--regimes=")["runs_per_pair"].tolist() == [1, 1]
    table = pd.read_csv(scores, dtype=str, keep_default_na=False)
    table.drop(columns="availability").to_csv(scores, index=False)
    assert chosen(scores)["runs_per_pair"].tolist() == [1, 1]


def test_parameters_of_plug_ins_are_written_as_what_they_look_like(scores: Path) -> None:
    """`mlp_ridge` and the others are unknown here; the text 0x1 is no number of TOML."""
    table = pd.read_csv(scores, dtype=str, keep_default_na=False)
    own = {"mlp_ridge": "1e-05", "mlp_units": "20", "mlp_bias": "True", "mlp_kind": "0x1"}
    for name, value in own.items():
        table.insert(3, name, value)
    table.to_csv(scores, index=False)
    variants = scores.with_name("variants.toml")
    chosen(scores, f"--toml={variants}")
    first = read_toml(variants)["variants"][0]
    found = {name: first[name] for name in own}
    assert found == {"mlp_ridge": 1e-5, "mlp_units": 20, "mlp_bias": True, "mlp_kind": "0x1"}
    types = {name: type(value) for name, value in found.items()}
    assert types == {"mlp_ridge": float, "mlp_units": int, "mlp_bias": bool, "mlp_kind": str}


@pytest.mark.parametrize("name", ["methods_synthetic", "late_methods_synthetic", "methods_real"])
def test_the_kept_choices_are_those_of_the_command(name: str, tmp_path: Path) -> None:
    study = Path(__file__).resolve().parents[3] / f"analysis/studies/tune_{name}"
    for words in commands((study / "page.md").read_text()):
        if words[:3] == ["python", "-m", "f3ast_tff.analysis.studies.tuned_rates"]:
            kept = study / Path(words[words.index("--out") + 1]).name
            words[words.index("--out") + 1] = str(tmp_path / "rates.csv")
            words[words.index("--scores") + 1] = str(study / "scores.csv")
            assert main(words[2:]) == 0
            assert (tmp_path / "rates.csv").read_text() == kept.read_text()
            return
    raise AssertionError("the page has no command of tuned_rates")


GRID = list(itertools.product((0.01, 0.03, 0.1), (1.0, 3.0, 10.0)))
MIDDLE, CORNER = (0.03, 3.0), (0.1, 10.0)
# The pairs beside the corner.
BESIDE = [(0.03, 30.0), (0.1, 30.0), (0.3, 3.0), (0.3, 10.0), (0.3, 30.0)]


def means(pairs: list[Pair], *best: Pair) -> dict[Pair, float]:
    """Means of .5, and of .6, .7, ... for the best pairs."""
    return {pair: 0.6 + 0.1 * best.index(pair) if pair in best else 0.5 for pair in pairs}


def test_of_equal_means_the_smallest_rates_win() -> None:
    assert best_of({(0.1, 1.0): 0.5, (0.03, 3.0): 0.5, (0.03, 10.0): 0.5}) == (0.03, 3.0)


def test_the_corner_of_a_grid_has_five_pairs_beside_it() -> None:
    assert edge_of(MIDDLE, GRID) == ("", [])
    assert edge_of(CORNER, GRID) == ("both", BESIDE)
    assert edge_of((0.1, 3.0), GRID).rates == "client"


def test_the_same_pairs_are_one_grid_whatever_their_form() -> None:
    some = [(0.01, 1.0), (0.1, 30.0), (7.0, 0.2)]
    assert unequal_grids({"a": means(some), "b": means(some, some[2])}) == ""


def test_a_grid_extended_where_a_choice_lies_on_its_edge_is_the_same_grid() -> None:
    """Method b's best lies inside, so it has 9 pairs; c's best is on the new edge and stays."""
    extended = means([*GRID, *BESIDE], CORNER)
    at_new_edge = means([*GRID, *BESIDE], CORNER, (0.3, 30.0))
    inside = means(GRID, MIDDLE)
    assert unequal_grids({"a": extended, "b": inside, "c": at_new_edge}) == ""
    further = [(0.1, 100.0), (0.3, 100.0), (1.0, 10.0), (1.0, 30.0), (1.0, 100.0)]
    twice = means([*GRID, *BESIDE, *further], CORNER, (0.3, 30.0), (1.0, 30.0))
    assert unequal_grids({"b": inside, "c": at_new_edge, "d": twice}) == ""


def test_two_methods_may_share_a_part_of_their_further_pairs() -> None:
    """Pairs beside (0.1, 10) and beside (0.1, 3) share (0.3, 3) and (0.3, 10)."""
    side = [(0.3, 1.0), (0.3, 3.0), (0.3, 10.0)]
    one = means([*GRID, *BESIDE], CORNER)
    other = means([*GRID, *side], (0.1, 3.0), (0.3, 3.0))
    assert unequal_grids({"a": one, "b": other}) == ""


SMALL = [(0.01, 1.0), (0.03, 1.0), (0.1, 1.0)]


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (
            means(SMALL, SMALL[1]),
            means([*SMALL, *((client, 3.0) for client, _ in SMALL)], SMALL[1]),
            "b has client_lr 0.01, server_lr 3, not beside its best from the common grid of 3",
        ),
        (
            means(GRID, CORNER),
            means([*GRID, *BESIDE], CORNER),
            "a lacks client_lr 0.03, server_lr 30, beside its best of the common grid of 9",
        ),
        (
            means(GRID, MIDDLE),
            means([*GRID, (0.3, 3.0)], MIDDLE),
            "b has client_lr 0.3, server_lr 3, not beside its best from the common grid of 9",
        ),
        (means(SMALL), means([(1.0, 1.0)]), "no pair is common to all"),
    ],
    ids=["3 and 6 pairs", "only one was extended", "a pair on no edge", "nothing in common"],
)
def test_other_grids_are_unequal(
    one: dict[Pair, float], other: dict[Pair, float], why: str
) -> None:
    said = unequal_grids({"a": one, "b": other})
    for name, pairs in (("a", one), ("b", other)):
        assert f"{len(pairs)} pairs: {name}" in said
    assert said.endswith(f"({why})")
