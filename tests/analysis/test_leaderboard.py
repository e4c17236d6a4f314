"""The boards of kept scores, and the runs that may enter them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.leaderboard.boards import Board, ranked_studies, read_boards
from f3ast_tff.analysis.leaderboard.entry import Entered, enter
from f3ast_tff.analysis.leaderboard.masks import masks_of_run, published
from f3ast_tff.analysis.leaderboard.page import own_verdicts, standings, target_of, to_target
from f3ast_tff.analysis.runs import Run
from f3ast_tff.campaigns.grid import plan, setting_types
from f3ast_tff.campaigns.grid_file import find_grid_file
from f3ast_tff.campaigns.runs import runs_where
from f3ast_tff.cli import availability
from f3ast_tff.settings import builtin_registry

MASKS = published()


@cache
def boards_of(name: str) -> list[Board]:
    return read_boards(next(study for study in ranked_studies() if study.name == name))


def five_models() -> list[Board]:
    return boards_of("table3_synthetic")


def by_k() -> list[Board]:
    return boards_of("fig4_vary_k")


def titled(title: str) -> Board:
    return next(board for board in five_models() if board.title == title)


def home() -> Board:
    return titled("Home devices")


def own_runs(board: Board, better: float = 0.0, **settings: Any) -> list[Run]:
    """FedAvg's runs as runs of a user's method, with accuracies higher by `better`."""
    found = []
    for run in board.fedavg.group.runs.values():
        metrics = run.metrics.assign(
            test_sample_accuracy=run.metrics["test_sample_accuracy"] + better
        )
        last = metrics.iloc[-1].to_dict()
        components = dict(run.components)
        components["algorithm"] = {**run.components["algorithm"], "display": "Mine"}
        found.append(
            replace(
                run,
                path=Path(f"runs/draw{run.pair.draw}"),
                settings={**run.settings, "algorithm": "mine", **settings},
                components=components,
                metrics=metrics,
                summary={"final": last, "mean_of_last_10_percent": last},
            )
        )
    return found


def test_scores_are_the_means_of_the_kept_page() -> None:
    """The page of `table3_synthetic`, home devices: FedAvg .7835, F3AST .8088, F3AST+Adam .8242."""
    means = {each.name: round(home().mean(each.group), 4) for each in home().methods}
    assert means["FedAvg"] == 0.7835
    assert means["F3AST"] == 0.8088
    assert home().ordered()[0].name == "F3AST+Adam"
    assert target_of(home()) == 0.78


def test_a_target_of_hundredths_is_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 * .29 is 28.999999999999996."""
    monkeypatch.setattr(Board, "mean", lambda board, group: 0.29)
    assert target_of(home()) == 0.29


def test_ties_are_ties() -> None:
    """F3AST+Adam leads with .828.

    F3AST differs by -.014 [-.018, -.011]; FedAdam's -.003 is a tie.
    """
    always = titled("Always")
    places = {row.cells["method"]: row.cells["place"] for row in standings(always)}
    assert places["F3AST+Adam"] == places["FedAdam"] == "1="
    assert places["F3AST"] == "3"


def test_the_first_kept_round_that_reaches_the_target_is_said() -> None:
    """Only kept rounds count: a board with one kept round says so, and no method has a clock."""
    rows = [row.cells for row in standings(boards_of("table3_small")[0])]
    name = next(name for name in rows[0] if name.startswith("rounds"))
    assert all(cells[name] == "not reached" or "(no clock)" in cells[name] for cells in rows)
    by = {
        row.cells["method"]: row.cells["rounds (seconds) to 0.77"] for row in standings(by_k()[0])
    }
    wanted = {"F3AST": 250, "Power-of-Choice": 500, "FedAvg": 1000}
    assert by == {method: f"by {number} (no clock)" for method, number in wanted.items()}
    board = by_k()[0]
    last = {
        key: replace(run, metrics=run.metrics.iloc[-1:]) for key, run in board.first.runs.items()
    }
    group = replace(board.first, runs=last)
    one = replace(board, methods=[replace(board.methods[0], group=group)])
    assert to_target(one, group, 0.77) == "only 1000 kept"


def test_intervals_of_an_accuracy_end_at_0_and_1() -> None:
    """Three draws whose scores differ much: Student's interval reaches below 0 and above 1."""
    (board,) = (
        b
        for b in boards_of("availability_methods_real")
        if b.title == "Shakespeare, Dirichlet Bernoulli"
    )
    texts = {row.cells["method"]: row.cells["user accuracy"] for row in standings(board)}
    assert texts["Oort (loss)"].endswith("[0.000, 1.000]")


def test_a_title_says_how_updates_are_late() -> None:
    titles = {board.title for board in boards_of("late_methods_synthetic")}
    assert "Late by clock, L at quantile 0.1" in titles and len(titles) == 3


@pytest.mark.long
@pytest.mark.parametrize(
    "study", ["table3_synthetic", "late_methods_synthetic", "table3_small", "fig4_vary_k"]
)
def test_the_command_of_a_row_runs_its_runs(study: str) -> None:
    runs = plan(find_grid_file(study), {}).runs
    types = setting_types(builtin_registry())
    for board in boards_of(study):
        for method in board.methods:
            chosen = runs_where(runs, f"{board.where},{method.where}", types)
            found = {Pair(run.settings["data_seed"], run.settings["seed"]) for run in chosen}
            assert found == method.group.runs.keys()
            assert len(chosen) == len(found)


def test_published_masks_are_made_again() -> None:
    """Uneven follows p_k, so its masks need the data of each draw."""
    uneven = titled("Uneven")
    configuration = uneven.methods[0].configuration
    assert configuration is not None
    there = MASKS[uneven.study.name, uneven.where]
    assert there.keys() == uneven.first.runs.keys()
    for pair in (Pair(0, 0), Pair(7, 7)):
        assert masks_of_run(configuration, pair) == (there[pair].digest, 2440)


def entered_one(runs: list[Run]) -> Entered:
    entered, said = enter([*five_models(), *by_k()], runs, MASKS)
    assert not said
    (one,) = entered
    return one


@pytest.mark.long
def test_a_method_of_ones_own_is_placed_and_judged() -> None:
    """Each draw is .05 above FedAvg's, .7835 + .05 = .8335: first, and better than FedAvg."""
    one = entered_one(own_runs(home(), 0.05))
    assert one.board is home()
    assert one.complete
    first = standings(home(), [one])[0]
    assert first.own
    assert first.cells["method"] == "Mine (yours)"
    assert first.cells["sample accuracy"].startswith("0.83")
    verdicts = own_verdicts([one]).set_index("against")
    assert verdicts.loc["FedAvg", "verdict"] == "better"
    assert verdicts.loc["FedAvg", "difference"] == pytest.approx(0.05)
    assert verdicts.loc["the best kept method", "verdict"] == "too close to call"


@pytest.mark.long
def test_with_few_draws_there_is_no_verdict_and_no_place() -> None:
    one = entered_one(own_runs(home(), 0.05)[:4])
    last = standings(home(), [one])[-1]
    assert last.own
    assert last.cells["place"] == "–"
    (to_target,) = (cell for name, cell in last.cells.items() if name.startswith("rounds"))
    assert to_target == "–"
    verdicts = own_verdicts([one])
    assert {*verdicts["verdict"]} == {"not judged"}
    assert verdicts["sentence"].str.contains("4 draws of the data, 5 are needed").all()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"rounds": 200}, "on no board. table3_synthetic, Home devices has rounds 1000, not 200"),
        ({"clients_per_round": 7}, "has clients_per_round 10, not 7"),
        ({"local_steps": 3}, "has local_steps not set, not 3"),
        ({"client_lr": 0.3}, "rates of client and server are sgd 0.3, sgd 1.0; this board has"),
        ({"algorithm": "fedavg"}, "these settings are those of its row FedAvg"),
    ],
)
def test_runs_of_other_conditions_are_left_out(settings: dict[str, Any], reason: str) -> None:
    entered, said = enter([*five_models(), *by_k()], own_runs(home(), **settings), MASKS)
    assert not entered
    assert len(said) == 1
    assert reason in said[0]


def test_other_draws_and_other_masks_are_left_out(tmp_path: Path) -> None:
    """Left out: a draw that the board lacks, and a run with other masks than the published ones."""
    first, second, third = own_runs(home())[:3]
    other = replace(first, settings={**first.settings, "data_seed": 50, "seed": 50})
    np.save(tmp_path / "masks.npy", np.ones((1000, 100), bool))
    entered, said = enter(five_models(), [other, replace(second, path=tmp_path), third], MASKS)
    assert [{*each.method.group.runs} for each in entered] == [{third.pair}]
    assert "data_seed 50 with seed 50 is no draw of table3_synthetic, Home devices" in said[0]
    assert "its masks have SHA-256" in said[1]


def test_a_table_is_of_the_regime_whose_masks_it_has(tmp_path: Path) -> None:
    """Home devices, draw 0: the table of its masks enters; with one changed entry it does not."""
    run = own_runs(home())[0]
    masks = tmp_path / "masks.csv"
    _, *words = MASKS[home().study.name, home().where][run.pair].command.split()
    assert availability.main([*words, f"--write={masks}"]) == 0
    table = {"availability": "table", "table_file": str(masks), "table_round_seconds": 3600}
    on_table = replace(run, settings={**run.settings, **table}, input_files={"table_file": "0"})
    assert entered_one([on_table]).board is home()
    text = masks.read_text()
    masks.write_text(("1" if text[0] == "0" else "0") + text[1:])
    entered, said = enter(five_models(), [on_table], MASKS)
    assert not entered
    assert "are not published" in said[0]


def test_a_method_has_one_pair_of_rates_where_rates_are_tuned() -> None:
    """Two regimes with two pairs of rates: both are left out, and the message names the pairs."""
    boards = [replace(each, study=replace(each.study, tuned=True)) for each in five_models()[:2]]
    runs = [own_runs(each, client_lr=0.1 + place)[0] for place, each in enumerate(boards)]
    entered, said = enter(boards, runs, MASKS)
    assert not entered
    assert "2 pairs of client and server rate (0.1 and 1, 1.1 and 1)" in said[0]


@pytest.mark.long
def test_evaluations_must_agree_where_several_make_the_score() -> None:
    """A mean of the last evaluations is another one if there are more; a last score is not."""
    entered, said = enter([home()], own_runs(home(), 0.05, eval_every=1), MASKS)
    assert len(entered) == 1 and not said
    board = boards_of("table3_small")[0]
    entered, (line,) = enter([board], own_runs(board, 0.05, eval_every=1), MASKS)
    assert not entered
    assert "on no board" in line and "eval_every" in line
