"""`simulate`: names, `Config`s and users' objects; folders, callbacks, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff import FederatedData, compare, load_run, simulate
from f3ast_tff.analysis.run_groups import group_runs
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.availability import HomeDevicesConfig, ScarceConfig
from f3ast_tff.core.errors import ComponentError, ParameterError, RunFolderError
from f3ast_tff.core.randomness import generator
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import Uniform
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Round
from f3ast_tff.models import PureModel
from f3ast_tff.records.metrics import COLUMNS
from f3ast_tff.records.outputs import read_client_scores
from f3ast_tff.records.run_folder import json_values
from f3ast_tff.run.trained_model import TrainedModel

pytestmark = pytest.mark.usefixtures("host_by_default")

SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 3, "rounds": 6, "eval_every": 2}


def data(num_clients: int = 8) -> FederatedData:
    """Two classes, 12 points per client, separated by the first coordinate."""
    rng = generator(0, "points")
    clients = np.repeat(np.arange(num_clients), 12)
    labels = rng.integers(2, size=len(clients))
    features = rng.normal(0, 0.3, (len(clients), 3)).astype(np.float32)
    features[:, 0] += 2 * labels - 1
    return FederatedData.from_arrays(features, labels, clients, test=0.25)


def test_names_and_settings() -> None:
    result = simulate("synthetic", "f3ast", "scarce", scarce_q=0.5, seed=1, **SMALL)
    assert list(result.metrics.columns) == list(COLUMNS)
    assert list(result.metrics["round"]) == [2, 4, 6]
    assert result.selection["selected"].shape == (6, 3)
    assert result.selection["final_rates"].shape == (10,)
    assert [weight.shape for weight in result.weights] == [(60, 10), (10,)]
    assert result.summary["rounds"] == 6
    assert result.folder is None
    assert result.configuration.settings["scarce_q"] == 0.5


def test_configs_of_components() -> None:
    by_name = simulate(algorithm="f3ast", availability="scarce", rate_beta=0.1, **SMALL)
    f3ast = by_name.configuration.configs["algorithm"]
    assert isinstance(f3ast, F3AST)
    by_config = simulate(algorithm=f3ast, availability=ScarceConfig(scarce_q=0.2), **SMALL)
    pd.testing.assert_frame_equal(
        by_name.metrics.drop(columns="wall_seconds"), by_config.metrics.drop(columns="wall_seconds")
    )


def test_a_config_leaves_published_values_and_the_reading_alone() -> None:
    given: dict[str, Any] = {**SMALL, "rounds": 1, "reading": "released"}
    by_config = simulate(algorithm=F3AST(rate_beta=0.01), **given)
    by_name = simulate(algorithm="f3ast", rate_beta=0.01, **given)
    assert by_config.configuration.settings == by_name.configuration.settings
    assert by_config.configuration.settings["divide_by_k"] is True


def test_methods_on_the_same_masks_are_compared_and_on_others_not(tmp_path: Path) -> None:
    masks = np.ones((2, 8), bool)
    less = masks.copy()
    less[0, :3] = False
    for name, algorithm, who in (
        ("a", "fedavg", masks),
        ("b", "f3ast", masks.copy()),
        ("c", "f3ast", less),
    ):
        given: dict[str, Any] = {"rounds": 1, "clients_per_round": 2, "folder": tmp_path / name}
        simulate(data(), algorithm, who, **given)
    groups, repeated = group_runs(load_runs(tmp_path))
    worlds = {group.first.path.name: group.world for group in groups}
    assert repeated == [] and len(worlds) == 3
    assert worlds["a"] == worlds["b"] != worlds["c"]


class FirstClients(BaseStrategy):
    """Selects the first K available clients."""

    aggregation = "mean"

    def select(self, now: Round) -> np.ndarray:
        return now.constraint.admit(np.flatnonzero(now.available))


class Halved(Aggregation):
    """Half of the weighted mean."""

    normalise = True

    def in_jax(self, delta: list[Any]) -> list[Any]:
        return [leaf / 2 for leaf in delta]


def apply(weights: Any, inputs: Any) -> Any:
    return inputs @ weights["w"] + weights["b"]


def start(seed: int) -> Any:
    return {"w": np.zeros((3, 2), np.float32), "b": np.zeros(2, np.float32)}


def test_objects_of_ones_own() -> None:
    """The user's data, strategy, masks, constraint, model and aggregation in one run."""
    masks = np.array([[True] * 8, [False] * 4 + [True] * 4])
    model = PureModel(start, apply)
    result = simulate(
        data(),
        FirstClients(),
        masks,
        rounds=4,
        eval_every=1,
        constraint=3,
        model=model,
        aggregation=Halved(),
        client_lr=0.5,
    )
    expected = [[0, 1, 2], [4, 5, 6], [0, 1, 2], [4, 5, 6]]
    np.testing.assert_array_equal(result.selection["selected"], expected)
    assert result.metrics["test_sample_accuracy"].iloc[-1] > 0.9
    assert set(model.tree(result.weights)) == {"w", "b"}
    assert result.configuration.components["algorithm"].display == "FirstClients"
    assert result.configuration.settings["algorithm"] == "first_clients"


def test_a_strategy_is_copied() -> None:
    """Without the copy, its rates would continue from the first run."""
    strategy = F3AST.start(np.arange(1, 9) / 36, 2, rate_beta=0.5)
    runs = [simulate(data(), strategy, "always", rounds=6, clients_per_round=2) for _ in range(2)]
    np.testing.assert_array_equal(*(run.selection["selected"] for run in runs))


def test_a_strategy_from_the_world() -> None:
    worlds = []

    def make(world: Any) -> Uniform:
        worlds.append(world)
        return Uniform().build(world)

    own = simulate(data(), make, "always", aggregation="mean", rounds=3, clients_per_round=2)
    built_in = simulate(data(), "uniform", "always", rounds=3, clients_per_round=2)
    np.testing.assert_array_equal(own.selection["selected"], built_in.selection["selected"])
    np.testing.assert_allclose(worlds[0].p, 1 / 8)
    np.testing.assert_array_equal(own.weights[0], built_in.weights[0])


def test_an_availability_process_of_ones_own() -> None:
    process = HomeDevicesConfig().build(np.ones(10), seed=0)
    own = simulate(availability=process, **SMALL)
    built_in = simulate(availability="home_devices", **SMALL)
    np.testing.assert_array_equal(own.selection["selected"], built_in.selection["selected"])


@pytest.mark.parametrize("form", ["frame", "file", "part"])
def test_a_log_is_matched_with_data_by_the_clients_names(form: str, tmp_path: Path) -> None:
    """Only client b is available: the log's first column and the data's second client."""
    frame = pd.DataFrame({"b": [1, 1], "c": [0, 0], "a": [0, 0]})
    frame.to_csv(tmp_path / "log.csv", index=False)
    settings: dict[str, Any] = {"availability": frame}
    if form != "frame":
        settings = {"availability": "table", "table_file": str(tmp_path / "log.csv")}
    if form == "part":
        settings |= {"availability": "product", "availability_parts": "table,always"}
    owners = np.array(["a", "b", "a", "b"])
    data = FederatedData.from_arrays(np.eye(4), [0, 1, 0, 1], owners, test=None)
    found = simulate(task=data, rounds=2, clients_per_round=1, **settings)
    assert found.selection["selected"].tolist() == [[1], [1]]
    assert found.selection["client_names"].tolist() == ["a", "b"]


def test_scores_of_clients_have_their_names(tmp_path: Path) -> None:
    """Client b has no test example, so that the files have a value less than training clients."""
    owners, tested = np.array(["a", "b", "c", "a", "c"]), [False, False, False, True, True]
    data = FederatedData.from_arrays(np.eye(5), [0, 1, 0, 1, 0], owners, test=tested)
    given = {"rounds": 2, "clients_per_round": 1, "folder": tmp_path, "client_scores": True}
    found = simulate(task=data, **given).selection
    assert found["client_names"].tolist() == ["a", "b", "c"]
    (scores,) = read_client_scores(tmp_path).values()
    assert found["test_client_names"].tolist() == ["a", "c"] and len(scores["loss"]) == 2


def test_callbacks_come_in_order() -> None:
    seen: list[Any] = []
    models: list[TrainedModel] = []

    def on_evaluation(row: Any, trained: TrainedModel) -> None:
        seen.append(row["round"])
        models.append(trained)

    result = simulate(
        on_round=lambda t, cohort, outcome: seen.append((t, len(cohort), outcome.train_loss > 0)),
        on_evaluation=on_evaluation,
        availability="always",
        **SMALL,
    )
    rounds = [(t, 3, True) for t in range(1, 7)]
    assert seen == [*rounds[:2], 2, *rounds[2:4], 4, *rounds[4:], 6]
    first, _, last = (trained.weights for trained in models)
    assert all(map(np.array_equal, last, result.weights))
    assert not all(map(np.array_equal, first, last))
    assert models[-1].probabilities(np.zeros((2, 60), np.float32)).shape == (2, 10)


def test_plot(tmp_path: Path) -> None:
    result = simulate(**SMALL)
    figure = result.plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "sample accuracy")
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [2, 4, 6])
    with pytest.raises(KeyError):
        result.plot(metric="loss")


def test_a_run_with_another_object_is_another_run(tmp_path: Path) -> None:
    given: dict[str, Any] = {"rounds": 2, "clients_per_round": 2, "folder": tmp_path / "x"}
    first = simulate(data(), "fedavg", "always", **given)
    again = simulate(data(), "fedavg", "always", **given)
    np.testing.assert_array_equal(first.weights[0], again.weights[0])
    written = json.loads((tmp_path / "x/summary.json").read_text())
    assert again.summary == json_values(first.summary)
    assert written == {**again.summary, "files": written["files"], "sha256": written["sha256"]}
    other = data()
    other.train.features[0] += 1
    with pytest.raises(RunFolderError, match="a plug-in in use is another"):
        simulate(other, "fedavg", "always", **given)


class WrongMask:
    num_clients = 10
    positively_correlated = periodic = False
    stationary = None

    def __init__(self, mask: Any) -> None:
        self._mask = mask

    def mask(self, round_number: int) -> Any:
        return self._mask


class Selects(BaseStrategy):
    def __init__(self, ids: Any, weights: Any) -> None:
        self._cohort = ids, weights

    def select(self, now: Round) -> np.ndarray:
        return np.array(self._cohort[0])

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], np.array(self._cohort[1]))


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"availability": WrongMask(np.ones(9, bool))}, r"WrongMask: mask\(1\) returned shape \(9,\)"),
    ({"availability": WrongMask(np.ones(10))}, "dtype float64"),
    ({"availability": WrongMask(None)}, "returned NoneType"),
    ({"availability": np.ones((3, 10))}, r"must be bool \[T, N\]"),
    ({"availability": object()}, "availability object: has no num_clients, mask"),
    ({"algorithm": object()}, "algorithm object: has no .*select, weigh, observe, state, restore"),
    ({"algorithm": lambda world: None}, "algorithm NoneType: has no .*select"),
    ({"algorithm": Selects([99], [1.0])}, "Selects"),
    ({"algorithm": Selects([0], [np.nan])}, "Selects"),
    ({"task": [1, 2]}, "task list: has no train, test, num_classes"),
    ({"model": object()}, "model object: has no initial_weights"),
    ({"aggregation": object()}, "aggregation object: has no normalise"),
    ({"constraint": object()}, "constraint object: has no largest_k"),
    ({"server_optimizer": object()}, "server_optimizer object: has no learning_rate"),
]


@pytest.mark.parametrize(("given", "says"), BROKEN)
def test_what_breaks_a_protocol_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ComponentError, match=says) as caught:
        simulate(**{**SMALL, "availability": "always", **given})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"client_scores": True}, "client_scores = True: must not be given without folder"),
        ({"write_masks": "csv"}, "write_masks = csv: must not be given without folder"),
        ({"logger": "csv"}, "logger = csv: must not be given without folder"),
        ({"output_dir": "runs"}, "output_dir = runs: must not be given without folder"),
        ({"run_name": "x"}, "run_name = x: must not be given without folder"),
        ({"folder": "a/b", "run_name": "x"}, "run_name = x: must not be given with folder.* a/b"),
        ({"folder": "a/b", "output_dir": "c"}, "output_dir = c: must not be given with folder"),
    ],
)
def test_settings_of_files_that_would_be_ignored_are_refused(
    given: dict[str, Any], says: str, cwd: Path
) -> None:
    with pytest.raises(ParameterError, match=says) as caught:
        simulate(**{**SMALL, **given})
    assert "\n" not in str(caught.value)
    assert not list(cwd.iterdir())


def test_without_a_folder_nothing_may_be_asked_for() -> None:
    asked = {"client_scores": False, "write_masks": "none", "logger": "", "run_name": None}
    assert simulate(**{**SMALL, **asked, "rounds": 1}).folder is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"aggregation": "median"}, "aggregation = median: .*must be one of sum, mean"),
        ({"algorithm": "fedavg", "rate_beta": 0.5}, "rate_beta = 0.5: only applies with"),
        ({"engine": object()}, "must be one of fused, tff"),
        ({"rounds": 0}, "rounds = 0: must be at least 1"),
        ({"colour": "red"}, "colour = red: there is no such setting"),
        ({"plugins": ["missing.py"]}, "plugin = missing.py: not found"),
        ({"seeds": range(2), "seed": 1}, "seed = 1: must not be given with seeds"),
        ({"seeds": []}, "seeds = .*: must hold at least one"),
        ({"seeds": [0, 1, 0]}, "seeds = .*: must differ"),
        (
            {"availability": ScarceConfig(scarce_q=0.2), "scarce_q": 0.3},
            "scarce_q = 0.3: is given in ScarceConfig too",
        ),
    ],
)
def test_wrong_settings_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        simulate(**{**SMALL, **given})


def test_a_folder_may_be_the_working_folder(cwd: Path) -> None:
    simulate(folder=".", constraint=np.int64(3), **{**SMALL, "clients_per_round": None})
    assert load_run(".").settings["clients_per_round"] == 3


@pytest.mark.parametrize("name", ["/elsewhere", "../up", "a/b"])
def test_methods_are_names_of_folders(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=f"methods = {name}: must be the name of a folder"):
        compare({"A": "fedavg", name: "fedavg"}, folder=tmp_path / "runs", **SMALL)
    assert not (tmp_path / "runs").exists()


def test_what_methods_must_be(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="methods = .*: must hold at least one"):
        compare({})
    methods = {"A": "fedavg", "B": {"algorithm": "f3ast", "seeds": [0, 1]}}
    both = compare(methods, seeds=[0], folder=tmp_path, **SMALL)
    there = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*"))
    assert there == ["A/0", "B/0", "B/1"]
    with pytest.raises(ParameterError, match="methods = X: .* one method, not of FedAvg, F3AST"):
        compare({"X": both})


def test_reprs_are_short() -> None:
    result = simulate(algorithm="f3ast", **{**SMALL, "rounds": 2})
    assert repr(result).startswith(
        "<Simulation: task Synthetic, algorithm F3AST, availability Home devices, N 10, K 3, "
        "rounds 2, sample accuracy 0."
    )
    assert "<th>algorithm</th><td>F3AST</td>" in result._repr_html_()
    assert repr(data()).startswith("FederatedData(train=ClientExamples(N=8, examples=72, shape=(")
    assert "<td>72</td>" in data()._repr_html_()
    # Without colours of their own they take those of a light or a dark notebook.
    shown = result._repr_html_() + data()._repr_html_()
    assert not any(word in shown for word in ("style", "color", "class="))


def test_what_several_runs_warn_of_is_said_once_with_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody is ever available; every run has empty rounds, and a loss no better than a guess's."""
    scarce = {"availability": "scarce", "scarce_q": 1e-9, "num_clients": 20, "rounds": 3}
    found = simulate(algorithm="f3ast", seeds=[0, 1, 2], eval_every=1, **scarce)
    lines = [record.getMessage() for record in caplog.records]
    empty = [line for line in lines if "no client available" in line]
    first = "round 1: no client available, model left alone (said once; the summary counts them)"
    assert empty == [first, f"in 3 runs, each: {first}"]
    assert sum("no better than that of a guess" in line for line in lines) == 2
    # The metrics have every round.
    assert found["num_available"].tolist() == [0] * 9
