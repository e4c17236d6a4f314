"""`run_experiment`: its three callers agree; `config.json`; the warning at a run's end."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import Cohort, Round, TrainingFunction, simulate
from f3ast_tff.campaigns.isolated_run import run_isolated
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import EngineError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.methods import BaseStrategy
from f3ast_tff.records.results import read_metrics
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run import begun, run_experiment
from f3ast_tff.run.build import Builder
from f3ast_tff.run.doubts import large_feature
from f3ast_tff.settings.resolve import resolve

pytestmark = pytest.mark.usefixtures("host_by_default")

SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 3, "eval_every": 2, "seed": 2}
# Columns and entries that depend on the machine.
TIMES = ("wall_seconds", "seconds_per_round", "peak_memory_mib", "files", "sha256")


def by_command_line(folder: Path, **given: Any) -> None:
    where = {"output_dir": folder.parent, "run_name": folder.name}
    flags = [f"--{name}={value}" for name, value in {**given, **where}.items()]
    assert main(["f3ast-tff", "run", *flags]) == 0


def by_campaign(folder: Path, **given: Any) -> None:
    where = {"output_dir": str(folder.parent), "run_name": folder.name}
    assert run_isolated(resolve({**given, **where}), {}, "me").error is None


def by_simulate(folder: Path, **given: Any) -> None:
    result = simulate(folder=folder, **given)
    metrics = read_metrics(folder / "metrics.csv")
    pd.testing.assert_frame_equal(result.metrics, metrics, check_dtype=False, check_exact=True)
    assert result.summary["final"]["round"] == given["rounds"]


def results(folder: Path) -> dict[str, Any]:
    """All results of a run, except times."""
    metrics = read_metrics(folder / "metrics.csv")
    summary = json.loads((folder / "summary.json").read_text())
    for row in (summary, summary["final"], summary["mean_of_last_10_percent"]):
        for name in TIMES:
            row.pop(name, None)
    config = json.loads((folder / "config.json").read_text())
    with np.load(folder / "selection.npz") as arrays:
        selection = {name: arrays[name].tolist() for name in arrays.files}
    # Lines of the log without date and time.
    log = [line.split(" ", 2)[2] for line in (folder / "run.log").read_text().splitlines()]
    return {
        "metrics": metrics.drop(columns="wall_seconds").to_csv(),
        "summary": summary,
        "selection": json.dumps(selection),
        "identity": config["identity"],
        "extended_from": config.get("extended_from"),
        "warnings": [line for line in log if "wall_seconds" not in line],
        "files": sorted(p.name for p in folder.iterdir() if "tfevents" not in p.name),
    }


@pytest.mark.long
@pytest.mark.parametrize("run", [by_campaign, by_simulate])
def test_all_callers_leave_the_same(run: Callable[..., None], tmp_path: Path) -> None:
    """The run diverged and was extended: its warnings and its extension agree too."""
    for folder, way in ((tmp_path / "one", by_command_line), (tmp_path / "two", run)):
        for rounds in (3, 6):
            way(folder, **SMALL, rounds=rounds, client_lr=1e3, algorithm="f3ast")
    one, two = results(tmp_path / "one"), results(tmp_path / "two")
    assert one == two
    assert one["extended_from"] == [3]
    assert sum("no better than that of a guess" in line for line in one["warnings"]) == 2


def test_another_number_of_cores_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    configuration = resolve({"rounds": 2})
    data, said = Builder(configuration).data, []
    with closing(RunFolder(tmp_path / "run", configuration.identity)) as folder:
        for here in (4, 4, 2, 2, 4, 1):
            for module in (run_experiment, begun):
                monkeypatch.setattr(module, "cores", lambda n=here: n)
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                run_experiment.write_config(folder, configuration, {}, "a" * 64, data)
            said.append([record.getMessage() for record in caplog.records])
        config = folder.config()
    assert config is not None and config["cores"] == [4, 2, 1]
    assert [len(messages) for messages in said] == [0, 0, 1, 0, 0, 1]
    assert said[2][0].startswith("the number of cores was 4 and is now 2: weights may differ")


def test_other_versions_are_said_once_and_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    configuration = resolve({"rounds": 2})
    data, said = Builder(configuration).data, []
    with closing(RunFolder(tmp_path / "run", configuration.identity)) as folder:
        for jax in ("0.4.30", "0.4.30", "0.12.0", "0.12.0", "0.4.30"):
            origin = {"python": "3.11.7", "packages": {"jax": jax}, "git_commit": None}
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                run_experiment.write_config(folder, configuration, origin, "a" * 64, data)
            said.append([record.getMessage() for record in caplog.records])
        config = folder.config()
    assert config is not None and config["packages"]["jax"] == "0.4.30"
    assert [each["packages"]["jax"] for each in config["continued_with"]] == ["0.12.0"]
    assert [len(messages) for messages in said] == [0, 0, 1, 0, 0]
    assert "(jax 0.4.30 to 0.12.0)" in said[2][0]


@pytest.mark.parametrize(
    ("client_lr", "says"),
    [(0.01, []), (1e3, ["round 3: the loss is no better than that of a guess among 10 classes: "])],
)
def test_a_model_no_better_than_a_guess_is_said(
    client_lr: float, says: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    given = {"num_clients": 5, "clients_per_round": 2, "rounds": 3, "availability": "always"}
    configuration = resolve({**given, "client_lr": client_lr})
    with caplog.at_level(logging.WARNING):
        result = run_experiment.run_experiment(configuration)
    assert (result.summary["final"]["test_sample_loss"] < math.log(10)) is not bool(says)
    messages = [record.getMessage() for record in caplog.records]
    assert [message[: len(said)] for message, said in zip(messages, says, strict=True)] == says
    assert all(message.endswith("ln 10 is 2.3026") for message in messages)


@pytest.mark.parametrize(
    ("outputs", "says"), [(lambda p: p, 1), (np.log, 0), (lambda p: p - 0.01, 0), (np.rint, 1)]
)
def test_probabilities_in_place_of_logits_are_said(
    outputs: Any, says: int, caplog: pytest.LogCaptureFixture
) -> None:
    def predict(weights: Any, features: Any) -> Any:
        chances = np.full((len(features), 10), 0.01)
        chances[np.arange(len(features)), features.argmax(axis=1) % 10] = 0.91
        return outputs(chances)

    model = TrainingFunction(lambda seed: [np.ones(1)], lambda w, *_: ([w[0] + 1], 0.1), predict)
    with caplog.at_level(logging.WARNING):
        simulate(model=model, rounds=1, num_clients=5, clients_per_round=2)
    assert sum("the model returns probabilities" in each for each in caplog.messages) == says


@pytest.mark.parametrize(("moves", "private"), [(False, ()), (True, ()), (True, (0,))])
def test_a_model_that_no_client_moves_is_said(
    moves: bool, private: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """From a good model on the loss alone would not say it. Of private leaves none is sent."""

    def train(weights: Any, examples: Any, work: Any) -> Any:
        return [weights[0] + moves * 0.01], 0.1

    model = TrainingFunction(lambda seed: [np.zeros((60, 10))], train, lambda w, x: x @ w[0])
    clients = {"num_clients": 5, "clients_per_round": 2, "private": private}
    with caplog.at_level(logging.WARNING):
        simulate(model=model, rounds=3, eval_every=1, **clients)
    said = [each.getMessage() for each in caplog.records if "not moved" in each.getMessage()]
    assert len(said) == (not moves) and all("all 3 evaluated updates" in each for each in said)


class SomeOf(BaseStrategy):
    """The first available clients, each with a weight."""

    def __init__(self, number: int, weight: float) -> None:
        self._number, self._weight = number, weight

    def select(self, now: Round) -> np.ndarray:
        return np.flatnonzero(now.available)[: self._number]

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], np.full(np.count_nonzero(delivered), self._weight))


@pytest.mark.parametrize(
    ("strategy", "says"),
    [
        (SomeOf(0, 1.0), "none of 5 clients selected, model left alone"),
        (SomeOf(2, 0.0), "the weights sum to 0, model left alone"),
        (SomeOf(2, 1e300), "the aggregate is not finite, model left alone"),
    ],
)
def test_why_a_model_is_left_alone(
    strategy: Any, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    given: dict[str, Any] = {"num_clients": 5, "clients_per_round": 2, "availability": "always"}
    with caplog.at_level(logging.WARNING):
        simulate(algorithm=strategy, aggregation="mean", rounds=2, **given)
    assert f"round 1: {says} (said once" in caplog.text


@pytest.mark.parametrize("loss", [math.nan, math.inf, None])
def test_a_loss_that_is_not_finite(loss: float | None, caplog: pytest.LogCaptureFixture) -> None:
    final = {"round": 7, "test_sample_loss": loss}
    run_experiment.warn_of_a_guess(4, final, None)
    (record,) = caplog.records
    assert "sample loss not finite, ln 4 is 1.3863" in record.getMessage()


@pytest.mark.parametrize(
    ("scale", "said"),
    [(1.0, ""), (200.0, "; feature income goes up to 600 in size: scale features to about 1")],
)
def test_a_large_feature_is_named(scale: float, said: str) -> None:
    ages, incomes = [1.0, 2.0, -1.0, 1.0], [-3 * scale, scale, 1.0, 2.0]
    rows = {"client": [0, 0, 1, 1], "age": ages, "income": incomes, "label": [0, 1, 0, 1]}
    frame = pd.DataFrame({**rows, "split": "train"})
    frame = pd.concat([frame, frame.assign(age=1e6, split="test")])
    data = FederatedData.from_frame(frame, split="split")
    assert large_feature(data) == said


def test_a_longer_run_that_is_refused_leaves_the_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the shorter run is removed or rewritten before the longer one can begin."""
    given = {"output_dir": str(tmp_path), "run_name": "a", "num_clients": 12, "eval_every": 2}
    short, longer = (resolve({**given, "rounds": rounds}) for rounds in (2, 4))
    folder = tmp_path / "a"
    run_experiment.run_experiment(short, folder)

    def contents() -> dict[str, bytes]:
        kept = ("config.json", "summary.json", "selection.npz", "metrics.csv")
        return {name: (folder / name).read_bytes() for name in kept}

    before = contents()
    with monkeypatch.context() as patch:

        def refuse(self: Builder) -> None:
            raise EngineError("no cluster")

        patch.setattr(Builder, "experiment", refuse)
        with pytest.raises(EngineError, match="no cluster"):
            run_experiment.run_experiment(longer, folder)
    assert contents() == before
    run_experiment.run_experiment(short, folder)
    run_experiment.run_experiment(longer, folder)
    assert json.loads((folder / "config.json").read_text())["extended_from"] == [2]
