"""A method of one's own against others: equal tuning, held-out draws, a verdict for every pair."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.advice import own_method
from f3ast_tff.advice.own_method import Choice, Comparison, comparison
from f3ast_tff.advice.own_verdict import Outcome
from f3ast_tff.campaigns.planned import Campaign
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry

METHODS = ["f3ast", "fedavg", "f3ast+rate_beta=0.5"]
TUNE = "client_lr=0.01,0.1,1.0;server_lr=1;rate_step=constant,falling"

Scores = Callable[[Any], float | None]


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_method, "TUNING_DRAWS", "100-101")
    monkeypatch.setattr(own_method, "JUDGED_DRAWS", "0-5")


def made(
    folder: Path, methods: list[str] = METHODS, tune: str = TUNE, score: str = "", **given: Any
) -> Comparison:
    return comparison(
        plugins=[],
        registry=builtin_registry(),
        methods=methods,
        tune=tune,
        given={"rounds": 4, **given},
        folder=folder,
        score=score,
    )


def finished(
    campaign: Campaign, score: Scores, scoring: Any = None, rounds: Sequence[int] = (4,)
) -> Campaign:
    """Writes the folders of runs without running them.

    All their scores at round 4 are one number; at round t they are t / 4 of it.
    """
    for run in campaign.runs:
        run.folder.mkdir(parents=True, exist_ok=True)
        value = score(run)
        names = ["accuracy", "loss"] if scoring is None else scoring["scores"]
        columns = [f"test_{kind}_{name}" for kind in ("sample", "user") for name in names]
        final = dict.fromkeys(columns, value)
        config = {**run.configuration.describe(), "settings": dict(run.settings)}
        config.update(data_sha256=None, scoring=scoring)
        (run.folder / "config.json").write_text(json.dumps(config))
        (run.folder / "summary.json").write_text(
            json.dumps({"final": final, "mean_of_last_10_percent": final})
        )
        lines = [",".join(["round", *columns])]
        for number in rounds:
            cell = "nan" if value is None else repr(value * number / 4)
            lines.append(",".join([str(number), *[cell] * len(columns)]))
        (run.folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    return campaign


def outcome(found: Comparison, judged: Campaign, chosen: Mapping[str, Choice]) -> Outcome:
    return Outcome(found, found.outcome(judged, chosen), chosen, *found.scored(judged))


def said_of(found: Comparison, judged: Campaign, chosen: Mapping[str, Choice]) -> str:
    return str(outcome(found, judged, chosen))


def test_all_methods_have_the_same_grid_as_far_as_they_have_the_settings(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert [len(found.choices(each)) for each in found.methods] == [6, 3, 6]
    tuning = found.tuning()
    assert len(tuning.runs) == 2 * (6 + 3 + 6)
    assert {run.settings["data_seed"] for run in tuning.runs} == {100, 101}
    assert {run.settings["eval_every"] for run in tuning.runs} == {1}
    assert all(run.folder.is_relative_to(tmp_path / "tuning") for run in tuning.runs)


def test_the_highest_mean_is_chosen_and_judged_on_other_draws(tmp_path: Path) -> None:
    """F3AST is best at .1, FedAvg at 1, an end; a run that diverged counts 0."""
    found = made(tmp_path, METHODS[:2], "client_lr=0.01,0.1,1.0")

    def score(run: Any) -> float | None:
        lr, own = run.settings["client_lr"], run.settings["algorithm"] == "f3ast"
        if own and lr == 1.0:
            return None if run.settings["seed"] == 100 else 0.9
        return {0.01: 0.2, 0.1: 0.6, 1.0: 0.7}[lr]

    chosen = found.chosen(finished(found.tuning(), score))
    assert chosen == {"F3AST": {"client_lr": 0.1}, "FedAvg": {"client_lr": 1.0}}
    assert found.at_ends(chosen) == {("client_lr", 1.0): ["FedAvg"]}
    assert found.wider(chosen, most=2) is None
    judged = finished(
        found.judged(chosen),
        lambda run: (
            (0.8 if run.settings["algorithm"] == "f3ast" else 0.6) + run.settings["seed"] / 1e3
        ),
    )
    assert {run.settings["data_seed"] for run in judged.runs} == set(range(6))
    said = said_of(found, judged, chosen)
    assert "F3AST against FedAvg: user accuracy, mean of 6 draws" in said
    assert "+0.200 [+0.200, +0.200] better" in said
    assert "at the edge of what was tried: FedAvg client_lr 1: widen --tune" in said


def test_forms_of_one_algorithm_are_told_apart(tmp_path: Path) -> None:
    found = made(tmp_path, ["f3ast", "f3ast+scaffold", "f3ast+rate_beta=0.5"], "client_lr=0.1")
    chosen = {each.name: {"client_lr": 0.1} for each in found.methods}

    def score(run: Any) -> float:
        plain = run.settings["aggregation"] == "sum" and run.settings["rate_beta"] != 0.5
        return (0.5 if plain else 0.7) + run.settings["seed"] / 1e3

    said = said_of(found, finished(found.judged(chosen), score), chosen)
    assert said.count("-0.200 [-0.200, -0.200] worse") == 2


def test_a_models_own_score_has_its_direction(tmp_path: Path) -> None:
    """Without classes the loss decides, or the score named; a run that diverged is the worst."""
    scoring = {"scores": {"loss": "lower", "mae": "lower", "near": "higher"}}
    found = made(tmp_path, METHODS[:2], "client_lr=0.01,0.1", score="user_mae")

    def score(run: Any) -> float | None:
        lr, own = run.settings["client_lr"], run.settings["algorithm"] == "f3ast"
        if own and lr == 0.01 and run.settings["seed"] == 101:
            return None
        return {0.01: 0.2, 0.1: 0.25}[lr] + (0.0 if own else 0.1) + run.settings["seed"] / 1e3

    tuning = finished(found.tuning(), score, scoring)
    chosen = found.chosen(tuning)
    assert chosen == {"F3AST": {"client_lr": 0.1}, "FedAvg": {"client_lr": 0.01}}
    judged = finished(found.judged(chosen), score, scoring)
    said = said_of(found, judged, chosen)
    assert "user mae (lower is better)" in said
    assert "-0.050 [-0.050, -0.050] better" in said
    assert made(tmp_path, METHODS[:2]).scored(judged) == ("user_loss", False)
    with pytest.raises(ParameterError, match="score = user_rmse: must be one of sample_loss, "):
        made(tmp_path, METHODS[:2], score="user_rmse").scored(judged)


def test_a_method_that_diverged_is_worse_where_enough_draws_say_so(tmp_path: Path) -> None:
    scoring = {"scores": {"loss": "lower"}}
    found = made(tmp_path, METHODS[:2], "client_lr=0.1")
    chosen = {each.name: {"client_lr": 0.1} for each in found.methods}
    judged = finished(
        found.judged(chosen),
        lambda run: None if run.settings["algorithm"] == "f3ast" else 0.5,
        scoring,
    )
    said = said_of(found, judged, chosen)
    assert "A diverged in 6 of 6 runs worse" in said
    assert "F3AST is worse than FedAvg at round 4; F3AST diverged in 6 of 6 runs." in said


@pytest.mark.parametrize(
    ("tune", "best", "added"),
    [
        ("client_lr=0.01,0.1,1", [1, 1, 0.1], (10, 100)),
        ("client_lr=0.001,0.003,0.01", [0.001, 0.001, 0.001], (0.0003, 0.0001)),
        ("client_lr=0.01,0.1,1", [1, 0.01, 0.1], ()),
        ("client_lr=0.1,1", [1, 1, 1], ()),
        # 1 is the largest momentum that is allowed; 0 has no ratio.
        ("client_momentum=0.0,0.45,0.9", [0.9, 0.9, 0.9], ()),
        ("client_momentum=0.6,0.75,0.9", [0.9, 0.9, 0.9], ()),
    ],
)
def test_a_grid_grows_beyond_an_end_that_most_methods_chose(
    tune: str, best: list[float], added: tuple[float, ...], tmp_path: Path
) -> None:
    """Twice, as all go on to choose the new end; all methods get the value."""
    found = made(tmp_path, METHODS, tune)
    name, values = tune.partition("=")[0], [each.name for each in found.methods]
    chosen = {each: {name: value} for each, value in zip(values, best)}
    for number, value in enumerate(added, start=1):
        wider = found.wider(chosen, most=2)
        assert wider is not None
        assert wider.added == {name: added[:number]}
        assert all(len(wider.choices(each)) == 3 + number for each in wider.methods)
        assert len(wider.tuning().runs) == 2 * 3 * (3 + number)
        found, chosen = wider, {each: {name: value} for each in values}
    assert found.wider(chosen, most=2) is None


def test_verdicts_at_three_times_the_tries_and_unequal_rates(tmp_path: Path) -> None:
    """The lead is .2 at the end, and t / 4 of it at round t; only F3AST has `rate_step`."""
    found = made(tmp_path, METHODS[:2])
    chosen = {
        "F3AST": {"client_lr": 1.0, "server_lr": 1, "rate_step": "falling"},
        "FedAvg": {"client_lr": 0.1, "server_lr": 1},
    }

    def score(run: Any) -> float:
        return (0.8 if run.settings["algorithm"] == "f3ast" else 0.6) + run.settings["seed"] / 1e3

    judged = finished(found.judged(chosen), score, rounds=(1, 2, 4))
    of_tuning = finished(found.tuning(), score)
    made_of = outcome(found, judged, chosen)
    at = {time.said: each["FedAvg"] for time, each in made_of.verdicts.items()}
    assert {when: (round(v.mean, 6), v.word) for when, v in at.items()} == {
        "round 1": (0.05, "better"),
        "round 2": (0.1, "better"),
        "round 4": (0.2, "better"),
    }
    said = " ".join(str(made_of).split())
    assert "They differ in client_lr (1.0, 0.1)." in said
    assert "settings tried: 6 of F3AST, 3 of FedAvg; not equal" in said
    assert "client_lr: 0.01, 0.1, 1.0 server_lr: 1 rate_step: constant, falling" in said
    page = made_of.document(found.scores_of(of_tuning))
    (picture,) = page.pictures
    assert [trace.y[-1].round(4) for trace in picture.panels[0].traces] == [0.8025, 0.6025]
    tuned = next(grid for grid in page.grids if grid.name == "tuned")
    assert tuned.rows == (
        ("F3AST", "1.0 (an end)", "1", "falling", "6"),
        ("FedAvg", "0.1", "1", "–", "3"),
    )
    assert len(page.tables["tuning"]) == 9


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"methods": ["f3ast"]}, "against = : must be others"),
        ({"methods": ["f3ast", "f3ast"]}, "against = f3ast: must be others"),
        ({"tune": "client_lr"}, "tune = client_lr: must be such as"),
        ({"tune": "mu=0.1"}, "no method here has a setting mu"),
        ({"client_share": "x"}, "client_share = x: must be one of"),
        ({"methods": ["f3ast", "no_such"]}, "algorithm no_such must be one of"),
        ({"tune": "client_lr=-1"}, "client_lr = -1.0: must be"),
    ],
)
def test_refused(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        made(tmp_path, **changed).tuning()
    assert not any(tmp_path.iterdir())
