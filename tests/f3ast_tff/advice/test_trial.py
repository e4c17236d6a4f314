"""A trial of methods under a log."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.advice.trial import Trial, settings_of, trial
from f3ast_tff.analysis.method_differences import corrected_intervals
from f3ast_tff.analysis.paired_difference import paired_difference
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.core.errors import ParameterError

pytestmark = pytest.mark.usefixtures("host_by_default")


def made(**scores: list[float]) -> Trial:
    """Makes a trial whose best method is the first."""
    by_pair = {
        name: {Pair(d, d): value for d, value in enumerate(values)}
        for name, values in scores.items()
    }
    best, *others = by_pair
    found = [paired_difference(by_pair[best], by_pair[name]) for name in others]
    ends = corrected_intervals(found)
    return Trial(by_pair, "test_user_accuracy", dict(zip(others, zip(found, ends))))


def test_the_best_or_too_close_to_call() -> None:
    clear = made(a=[0.8, 0.81, 0.79, 0.8, 0.8], b=[0.6, 0.61, 0.6, 0.59, 0.6])
    assert clear.level == ["a"] and "a is the best" in str(clear)
    assert "b 0.600  -0.200 [-0.2" in str(clear)
    close = made(a=[0.8, 0.7, 0.9, 0.8, 0.8], b=[0.7, 0.8, 0.8, 0.85, 0.8], c=[0.1] * 5)
    assert close.ranked == ["a", "b", "c"]
    assert close.level == ["a", "b"] and "too close to call: a, b" in str(close)
    few = made(a=[0.8, 0.81, 0.79, 0.8], b=[0.6, 0.61, 0.6, 0.59])
    assert str(few).endswith("no verdict: 5 draws are needed")


def test_methods_have_the_learning_rates_of_the_study() -> None:
    assert settings_of("f3ast+scaffold", "synthetic", "examples") == {
        "algorithm": "f3ast",
        "aggregation": "scaffold",
        "client_lr": 0.03,
        "server_lr": 1.0,
    }
    for method, rates in (("f3ast", (0.001, 10.0)), ("fedavg", (0.01, 10.0))):
        own = settings_of(method, "synthetic", "equal")
        assert (own["client_lr"], own["server_lr"]) == rates
    assert settings_of("f3ast", "file", "equal") == {"algorithm": "f3ast"}


def test_every_method_runs_on_every_draw_of_the_log() -> None:
    masks = np.random.default_rng(0).random((48, 12)) < 0.5
    seen: list[tuple[str, int]] = []
    found = trial(
        masks,
        2,
        ["fedavg", "f3ast"],
        draws=2,
        rounds=2,
        on_run=lambda method, draw: seen.append((method, draw)),
    )
    assert seen == [("fedavg", 0), ("f3ast", 0), ("fedavg", 1), ("f3ast", 1)]
    assert found.score == "test_user_accuracy"
    assert {len(scores) for scores in found.scores.values()} == {2}
    assert found.ranked[0] in found.level


@pytest.mark.parametrize(
    ("methods", "draws", "message"),
    [(["f3ast"], 5, "methods = f3ast: must be two or more"), (["f3ast", "fedavg"], 1, "draws = 1")],
)
def test_refused(methods: list[str], draws: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        trial(np.ones((4, 4), bool), 2, methods, draws=draws)


def test_a_run_that_diverged_scores_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its accuracy is finite, that of a guess; its loss is not."""

    def simulated(algorithm: str, data_seed: int, **settings: Any) -> SimpleNamespace:
        accuracy, loss = (0.10, np.nan) if algorithm == "fedavg" else (0.09 + data_seed / 1e3, 2.0)
        row = {"test_user_accuracy": accuracy, "test_user_loss": loss}
        return SimpleNamespace(metrics=pd.DataFrame([row]))

    monkeypatch.setattr("f3ast_tff.advice.trial.simulate", simulated)
    found = trial(np.ones((4, 12), bool), 2, ["fedavg", "f3ast"], share="equal")
    assert set(found.scores["fedavg"].values()) == {0.0}
    assert found.ranked == ["f3ast", "fedavg"]


def test_a_share_that_the_study_lacks_has_the_rates_of_the_task() -> None:
    assert settings_of("fedavg", "synthetic", "batches") == {"algorithm": "fedavg"}
