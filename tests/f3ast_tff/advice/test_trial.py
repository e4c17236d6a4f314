"""A trial of methods under a log, and the values that it tunes."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.advice.candidates import METHODS, candidate
from f3ast_tff.advice.ladders import ends_of, next_value
from f3ast_tff.advice.trial import (
    Trial,
    candidates_of,
    clients_of,
    mean_of,
    rounds_of_draw,
    study_rates,
    tasks_of,
    trial,
    usual_rounds,
)
from f3ast_tff.analysis.compare.scored import Kept, Pair
from f3ast_tff.analysis.runs import DIRECTIONS, course_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry

pytestmark = pytest.mark.usefixtures("host_by_default")

PLAIN, MEAN, F3AST, SCAFFOLD = ("FedAvg, without replacement", "Plain mean", "F3AST", "SCAFFOLD")


def kept(scores: Sequence[float]) -> Kept:
    """Runs of draws 0, 1, ... with these final accuracies."""
    courses = {
        Pair(draw, draw): course_of(
            pd.DataFrame({"round": [100], "user_accuracy": [score], "user_loss": [1.0]})
        )
        for draw, score in enumerate(scores)
    }
    return Kept({}, courses, DIRECTIONS, generates_data=True)


def made(*scores: Sequence[float]) -> Trial:
    """Makes a trial of the first default methods."""
    candidates = candidates_of(METHODS[: len(scores)])
    by_name = {each.name: kept(values) for each, values in zip(candidates, scores)}
    return Trial(candidates, {"a task": by_name}, "user_accuracy", 3, 12, 100)


def test_the_simplest_of_the_methods_that_are_not_shown_to_be_worse() -> None:
    clear = made([0.6, 0.61, 0.6, 0.59, 0.6], [0.5] * 5, [0.8, 0.81, 0.79, 0.8, 0.8])
    assert clear.ranked == [F3AST, PLAIN, MEAN]
    assert clear.level(clear.deployable) == [F3AST] and clear.advised.name == F3AST
    close = made([0.7, 0.8, 0.8, 0.85, 0.8], [0.1] * 5, [0.8, 0.7, 0.9, 0.8, 0.8])
    assert close.ranked == [F3AST, PLAIN, MEAN]
    assert close.level(close.deployable) == [PLAIN, F3AST] and close.advised.name == PLAIN


def test_a_method_that_no_server_can_run_is_not_advised() -> None:
    found = made([0.6, 0.61, 0.6, 0.59, 0.6], [0.5] * 5, [0.4] * 5, [0.8, 0.81, 0.79, 0.8, 0.8])
    assert found.ranked[0] == SCAFFOLD and SCAFFOLD not in found.deployable
    assert found.advised.name == PLAIN
    memory = candidates_of(["scaffold", "mifa"])
    runs = {each.name: kept([0.5] * 5) for each in memory}
    only = Trial(memory, {"a task": runs}, "user_accuracy", 3, 12, 100)
    assert only.deployable == [] and only.advised.name == SCAFFOLD


def test_scores_of_several_tasks_are_averaged_draw_by_draw() -> None:
    one = made([0.6, 0.7], [0.5, 0.5])
    two = {name: kept([0.1, 0.1]) for name in one.means}
    both = Trial(one.candidates, {**one.runs, "b": two}, "user_accuracy", 3, 12, 100)
    assert list(both.means[PLAIN].values()) == pytest.approx([0.35, 0.4])
    assert mean_of(both.means[MEAN]) == pytest.approx(0.3)


def test_methods_have_the_learning_rates_of_the_study() -> None:
    found = {each.text: each for each in candidates_of(["f3ast+scaffold", "f3ast", "fedavg"])}
    assert study_rates(found["f3ast+scaffold"], "examples") == {"client_lr": 0.03, "server_lr": 1.0}
    for method, rates in (("f3ast", (0.001, 10.0)), ("fedavg", (0.01, 10.0))):
        own = study_rates(found[method], "equal")
        assert (own["client_lr"], own["server_lr"]) == rates
    for each in candidates_of(METHODS):
        assert study_rates(each, "equal") and study_rates(each, "examples")
    assert study_rates(found["fedavg"], "batches") == {}


def test_a_start_on_a_server_is_code_that_runs() -> None:
    import f3ast_tff

    names = {
        "p": np.array([0.2, 0.3, 0.5]),
        **{n: getattr(f3ast_tff, n) for n in f3ast_tff.__all__},
    }
    starts = [each.start(2, "p") for each in candidates_of(METHODS)]
    assert [start is None for start in starts] == [False, False, False, True, True]
    for start in filter(None, starts):
        assert eval(start, names).select is not None


def test_a_method_has_settings_in_their_types() -> None:
    found = candidate("f3ast+scaffold+rate_beta=0.01", builtin_registry())
    assert found.settings == {"algorithm": "f3ast", "aggregation": "scaffold", "rate_beta": 0.01}
    assert found.start(2, "p") is None and found.takes_objective


def test_every_method_runs_on_every_draw_of_the_log() -> None:
    masks = np.random.default_rng(0).random((48, 12)) < 0.5
    seen: list[tuple[str, str, int]] = []
    found = trial(
        masks,
        2,
        ["fedavg", "f3ast"],
        draws=2,
        rounds=2,
        model="softmax_regression",
        on_run=lambda task, method, draw: seen.append((task, method, draw)),
    )
    assert seen == [("Synthetic", name, draw) for draw in (0, 1) for name in ("FedAvg", "F3AST")]
    assert found.score == "user_accuracy"
    assert {len(scores) for scores in found.means.values()} == {2}


def test_a_large_log_lends_a_part_of_its_clients_and_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 2000 clients each draw takes 400, and a fifth of K; of 100 rounds 10, one from each ten.

    K = 20 of 500 clients becomes 8 of 200, K = 50 of 100 becomes 20 of 40.
    """
    seen = []

    def simulated(availability: np.ndarray, clients_per_round: int, **_: Any) -> SimpleNamespace:
        seen.append((availability.shape, clients_per_round))
        row = {"round": 10, "test_user_accuracy": 0.5, "test_user_loss": 1.0}
        return SimpleNamespace(metrics=pd.DataFrame([row]), summary={})

    monkeypatch.setattr("f3ast_tff.advice.trial.simulate", simulated)
    masks = np.ones((100, 2000), bool)
    found = trial(masks, 10, ["fedavg", "f3ast"], draws=2, rounds=10, model="softmax_regression")
    assert seen == [((10, 400), 2)] * 4 and (found.clients, found.k) == (400, 2)
    assert found.log_rounds == 100
    cases = {(500, 20): 200, (100, 50): 40, (40, 6): 40, (30, 20): 30, (10**6, 5): 400}
    assert {case: clients_of(*case) for case in cases} == cases
    # Up to twice as many rounds are affordable with K = 8 and below as are the default.
    assert [usual_rounds(t, 6) for t in (244, 720, 1000, 1001)] == [500, 720, 1000, 500]
    assert usual_rounds(300, 40) == 300 and usual_rounds(14_400, 40) == 200
    table = np.arange(8)[:, None]
    for draw in range(20):
        taken = rounds_of_draw(table, 4, draw).ravel().tolist()
        assert [each // 2 for each in taken] == [0, 1, 2, 3]
    assert rounds_of_draw(table, 8, draw=1) is table


def test_shares_decide_how_much_data_a_client_has(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = []

    def simulated(task: Any, **settings: Any) -> SimpleNamespace:
        tasks.append(task)
        assert settings["client_share"] == "examples"
        row = {"test_sample_accuracy": 0.5, "test_sample_loss": 1.0}
        return SimpleNamespace(metrics=pd.DataFrame([row]), summary={})

    monkeypatch.setattr("f3ast_tff.advice.trial.simulate", simulated)
    p = np.array([0.1, 0.2, 0.3, 0.4])
    given: dict[str, Any] = {"draws": 2, "model": "softmax_regression", "share": "examples"}
    trial(np.ones((4, 4), bool), 2, ["fedavg", "f3ast"], p=p, **given)
    assert (tasks[0].train.sizes + tasks[0].test.sizes).tolist() == [60, 120, 180, 240]


@pytest.mark.parametrize(
    ("methods", "draws", "message"),
    [
        (["f3ast"], 5, "methods = f3ast: must be two or more"),
        (["f3ast", "f3ast"], 5, "methods = f3ast,f3ast: must be two or more, each once"),
        (["f3ast", "fedavg"], 1, "draws = 1"),
        (["f3ast", "fedavg+x"], 5, "aggregation x must be one of"),
        (["f3ast", "fedavg+rate_beta=1"], 5, "methods = fedavg.rate_beta=1: Unknown command line"),
    ],
)
def test_refused(methods: list[str], draws: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        trial(np.ones((4, 4), bool), 2, methods, draws=draws)


@pytest.mark.long
def test_a_run_that_diverged_scores_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its accuracy is finite, that of a guess; its loss is not."""

    def simulated(algorithm: str, seed: int, **settings: Any) -> SimpleNamespace:
        accuracy, loss = (0.10, np.nan) if algorithm == "fedavg" else (0.09 + seed / 1e3, 2.0)
        row = {"round": 500, "test_user_accuracy": accuracy, "test_user_loss": loss}
        return SimpleNamespace(metrics=pd.DataFrame([row]), summary={})

    monkeypatch.setattr("f3ast_tff.advice.trial.simulate", simulated)
    found = trial(np.ones((4, 12), bool), 2, ["fedavg", "f3ast"], draws=2)
    assert set(found.means["FedAvg"].values()) == {0.0}
    assert found.ranked == ["F3AST", "FedAvg"]


def test_tasks_are_the_users_or_generated() -> None:
    assert tasks_of({"task": "file"}) == ["file"]
    assert tasks_of({"model": "softmax_regression"}) == ["Synthetic"]
    assert tasks_of({})[0] == "Synthetic"


@pytest.mark.parametrize(
    ("ladder", "end", "value"),
    [
        # .01 * .03 / .003, and .003 * .001 / .01.
        ([0.001, 0.003, 0.01, 0.03], 0.03, 0.1),
        ([0.001, 0.003, 0.01, 0.03], 0.001, 0.0003),
        ([30, 1, 10, 3], 30, 100),
        ([1, 3, 10], 1, 0.3),
        ([1, 2, 4], 4, 8),
        ([0.5, 1, 2], 2, 4),
        ([0, 0.1, 1], 1, None),
        ([-1, 1, 3], -1, None),
    ],
)
def test_the_next_value_goes_on_by_the_ladders_ratio(
    ladder: Sequence[float], end: float, value: float | None
) -> None:
    found = next_value(ladder, end)
    assert found == value
    assert value is None or isinstance(found, int) == (isinstance(end, int) and value >= 1)


@pytest.mark.parametrize(
    ("ladder", "ends"),
    [([3, 1, 2], (1, 3)), ([1, 2], ()), (["a", "b", "c"], ()), ([0.1, "mean", 1], ())],
)
def test_ends(ladder: Sequence[object], ends: tuple[object, ...]) -> None:
    assert ends_of(ladder) == ends
