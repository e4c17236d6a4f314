"""Further scores: the numbers by hand, a run's columns, comparisons, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import load_run, simulate
from f3ast_tff.analysis.results_frame import final_table, read_results
from f3ast_tff.analysis.run_groups import group_runs
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores, tidy_scores
from f3ast_tff.availability.process import AvailabilityProcess
from f3ast_tff.core.errors import ComponentError, ParameterError, RunFolderError
from f3ast_tff.run.build import Builder
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.scores import ScoreOfConfig, Spread, Worst
from f3ast_tff.scores.seldom import SeldomScore
from f3ast_tff.settings import builtin_registry, register
from f3ast_tff.settings.resolve import resolve

pytestmark = pytest.mark.usefixtures("host_by_default")
SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 3, "rounds": 4, "eval_every": 2}


def test_the_worst_clients_by_hand() -> None:
    """Two of four: (.1 + .3) / 2 of accuracies, (.9 + .5) / 2 of losses; .1 of four is one."""
    means, ids = np.array([0.5, 0.1, 0.9, 0.3]), np.arange(4)
    assert Worst(worst_share=0.5).score(means, ids, True) == pytest.approx(0.2)
    assert Worst(worst_share=0.5).score(means, ids, False) == pytest.approx(0.7)
    assert Worst().score(means, ids, True) == 0.1
    assert math.isnan(Worst().score(np.array([0.5, np.nan]), ids[:2], True))


def test_the_seldom_clients_by_hand() -> None:
    """Of clients 4, 1, 3 with pi = .9, .2, .2 a third is one; 1 and 3 are there equally seldom."""
    component = SeldomScore(np.array([0.1, 0.2, 0.5, 0.2, 0.9]), share=1 / 3)
    assert component.score(np.array([0.8, 0.4, 0.6]), np.array([4, 1, 3]), True) == 0.5


@pytest.mark.parametrize("further", ["worst", "seldom"])
def test_a_run_has_it_beside_its_other_scores(further: str, tmp_path: Path) -> None:
    """From the clients' own scores; the model is that of a run without it."""
    given = {**SMALL, "availability": "home_devices", "client_scores": True, "num_clients": 20}
    result = simulate(**given, score_of=further, folder=tmp_path / "a")
    plain = simulate(**SMALL | {"num_clients": 20}, availability="home_devices")
    for ours, theirs in zip(result.weights, plain.weights):
        np.testing.assert_array_equal(ours, theirs)
    columns, saved = list(result.metrics), load_run(tmp_path / "a").client_scores
    place = columns.index("test_user_loss")
    assert columns[place + 1 : place + 3] == [f"test_{further}_accuracy", f"test_{further}_loss"]
    for t, row in zip((2, 4), result.metrics.to_dict("records")):
        scores = saved[t]
        if further == "worst":
            expected = np.sort(scores["accuracy"])[:2].mean(), np.sort(scores["loss"])[-2:].mean()
        else:
            pi = Builder(resolve(given)).world.availability.stationary  # type: ignore[attr-defined]
            who = pi <= np.sort(pi)[3]
            expected = scores["accuracy"][who].mean(), scores["loss"][who].mean()
        found = row[f"test_{further}_accuracy"], row[f"test_{further}_loss"]
        assert found == pytest.approx(expected, rel=1e-6)


def test_a_spread_is_better_if_lower_wherever_it_is_read(tmp_path: Path) -> None:
    """Of 0.2, 0.4, 0.4, 0.4, 0.5, 0.5, 0.7, 0.9 it is .2: the squares sum to .32 = 8 x .2^2."""
    means = np.array([0.2, 0.4, 0.4, 0.4, 0.5, 0.5, 0.7, 0.9])
    assert Spread().score(means, np.arange(8), True) == pytest.approx(0.2)
    given = {**SMALL, "score_of": "spread", "output_dir": str(tmp_path / "runs")}
    for algorithm in ("fedavg", "f3ast"):
        for seed in range(2):
            one = {"algorithm": algorithm, "data_seed": seed, "seed": seed}
            configuration = resolve({**given, **one, "run_name": f"{algorithm}{seed}"})
            run_experiment(configuration, configuration.folder)
    results = read_results(tmp_path / "runs")
    tidy_scores(load_runs(tmp_path / "runs")).to_csv(tmp_path / "scores.csv", index=False)
    for group in (*results.methods.groups, *kept_groups(read_scores(tmp_path / "scores.csv"))):
        assert not group.higher_is_better("spread_accuracy")
        assert not group.higher_is_better("spread_loss")
        assert group.higher_is_better("user_accuracy") and group.kinds[-1] == "spread"


@pytest.mark.parametrize("further", builtin_registry().names("score_of"))
def test_every_one_of_the_registry_has_its_columns(further: str) -> None:
    metrics = simulate(**SMALL, score_of=further).metrics
    assert np.isfinite(metrics[[f"test_{further}_accuracy", f"test_{further}_loss"]]).all(axis=None)


def test_a_folder_of_a_run_with_another_one_is_refused(tmp_path: Path) -> None:
    given = {**SMALL, "output_dir": str(tmp_path), "run_name": "a"}
    first = resolve({**given, "score_of": "worst"})
    run_experiment(first, first.folder)
    other = resolve({**given, "rounds": 6})
    with pytest.raises(RunFolderError, match="rounds 4, now 6; score_of 'worst', now None"):
        run_experiment(other, other.folder)


def test_comparisons_take_it_and_it_makes_no_other_experiment(tmp_path: Path) -> None:
    for name in ("fedavg", "f3ast"):
        for seed in range(2):
            further = {} if (name, seed) == ("f3ast", 0) else {"score_of": "worst"}
            given = {**SMALL, "data_seed": seed, "seed": seed, "output_dir": str(tmp_path)}
            given |= {"algorithm": name, "run_name": f"{name}{seed}", **further}
            configuration = resolve(given)
            run_experiment(configuration, configuration.folder)
    runs = load_runs(tmp_path)
    assert [len(group.runs) for group in group_runs(runs)[0]] == [2, 2]
    with pytest.raises(ParameterError, match="score = worst_accuracy: must be one of"):
        read_results(tmp_path).differences(score="worst_accuracy")
    assert not any("worst" in name for name in tidy_scores(runs))
    columns = list(final_table(read_results(tmp_path).methods.groups, []))
    assert "final_user_loss" in columns and not any("worst" in name for name in columns)
    of_fedavg = [run for run in runs if run.settings["algorithm"] == "fedavg"]
    table = tidy_scores(of_fedavg)
    table.to_csv(tmp_path / "scores.csv", index=False)
    (kept,) = kept_groups(read_scores(tmp_path / "scores.csv"))
    assert kept.score_names == (
        *("sample_accuracy", "user_accuracy", "worst_accuracy"),
        *("sample_loss", "user_loss", "worst_loss"),
    )
    expected = [run.metrics["test_worst_loss"].iloc[-1] for run in of_fedavg]
    assert [*kept.at("worst_loss", "final").values()] == pytest.approx(expected, abs=1e-6)
    assert kept.higher_is_better("worst_accuracy") and not kept.higher_is_better("worst_loss")


def test_without_it_nothing_of_it_is_in_a_run() -> None:
    configuration = resolve({"score_of": "none"})
    assert "score_of" not in configuration.settings and "score_of" not in configuration.identity


class Unknown(AvailabilityProcess):
    """Everyone, but it does not say so."""

    num_clients = 10

    def mask(self, round_number: int) -> np.ndarray:
        return np.ones(10, bool)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"availability": Unknown()}, "score_of = seldom: must be another: the long-run"),
        ({"test_clients": 5}, "score_of = seldom: must be another: the test clients of this data"),
        ({"worst_share": 0.2}, "worst_share = 0.2"),
        ({"score_of": "wurst"}, "score_of = wurst: did you mean worst"),
    ],
)
def test_what_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        simulate(**SMALL, **{"score_of": "seldom", **given})


def test_a_component_of_ones_own_is_checked() -> None:
    @register("score_of", "text", about="no number")
    @dataclass(frozen=True)
    class Text(ScoreOfConfig):
        def score(self, means: np.ndarray, ids: np.ndarray, higher_is_better: bool) -> Any:
            return "high"

    with pytest.raises(ComponentError, match="score_of text: score returned str: must be a number"):
        simulate(**SMALL, score_of=Text())

    @register("score_of", "two_words", about="a name with _")
    @dataclass(frozen=True)
    class TwoWords(ScoreOfConfig):
        def score(self, means: np.ndarray, ids: np.ndarray, higher_is_better: bool) -> float:
            return 0.0

    with pytest.raises(ComponentError, match="'two_words': its name must be one word without _"):
        simulate(**SMALL, score_of=TwoWords())
