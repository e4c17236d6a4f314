"""Flower's rounds equal `simulate`'s, also with absent, silent, broken or restarted nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from f3ast_tff import F3AST, FedAvg, PowerOfChoice, simulate
from f3ast_tff.availability import AlwaysConfig, HomeDevicesConfig, Table
from f3ast_tff.core.errors import CheckpointError, ComponentError, ParameterError
from f3ast_tff.flower import AvailabilityStrategy, tell_partition_id
from f3ast_tff.flower.replies import mean_metrics, metric
from f3ast_tff.flower.saved import SavedRound, load_round, save_round
from f3ast_tff.methods import BaseStrategy
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.fedavg import FedAdam
from f3ast_tff.methods.fedlaavg import FedLaAvg
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid

ROOT = Path(__file__).resolve().parents[3]
N, K, ROUNDS = 10, 3, 5


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The example app: its modules `softmax` and `client_app`."""
    sys.path.insert(0, str(ROOT / "examples" / "flower_synthetic"))
    from flower_synthetic import client_app, softmax

    yield softmax, client_app.app
    sys.path.pop(0)


def shares(softmax: Any) -> np.ndarray:
    sizes = softmax.data(N).train.sizes
    return sizes / sizes.sum()


METHODS: dict[str, type[BaseStrategy]] = {"f3ast": F3AST, "fedavg": FedAvg, "fedau": FedAU}


@pytest.mark.parametrize("name", METHODS)
def test_five_rounds_equal_those_of_simulate(name: str, example: Any) -> None:
    """F3AST with p / r, FedAvg's mean with clients drawn twice, FedAU, which learns outcomes."""
    softmax, app = example
    p = shares(softmax)
    first = {"rate_init": "all_available"} if name == "f3ast" else {}
    ours = simulate(
        "synthetic",
        name,
        "home_devices",
        rounds=ROUNDS,
        num_clients=N,
        clients_per_round=K,
        client_share="examples",
        **first,
    )
    strategy = AvailabilityStrategy(
        METHODS[name].start(p, K),
        num_clients=N,
        clients_per_round=K,
        availability=HomeDevicesConfig().build(p, 0),
        evaluate_every=0,
    )
    grid = InProcessGrid(app, N, {"seed": 0, "num-clients": N})
    result = strategy.start(grid, ArrayRecord(softmax.initial_model()), ROUNDS, timeout=5)
    asked = [[k for kind, k, t in grid.sent if (kind, t) == ("train", r)] for r in range(1, 6)]
    selected = [list(dict.fromkeys(ids[ids >= 0].tolist())) for ids in ours.selection["selected"]]
    assert asked == selected and any(selected)
    for flower, fused in zip(result.arrays.to_numpy_ndarrays(), ours.weights):
        assert flower.dtype == np.float32
        np.testing.assert_allclose(flower, fused, atol=1e-5)


def app_of(
    update: Callable[[int, int], Any],
    tell: Callable[[Message, Context], Message] = tell_partition_id,
) -> ClientApp:
    """Nodes that send the model plus `update(client, round)`: tests can compute the result."""
    app = ClientApp()
    app.query("partition_id")(tell)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        k, t = context.node_config["partition-id"], message.content["config"]["server-round"]
        sent = message.content["arrays"].to_numpy_ndarrays()[0]
        model = ArrayRecord([np.asarray(sent + update(k, t), np.float64)])
        metrics = MetricRecord({"num-examples": k + 1, "loss": float(k)})
        return Message(RecordDict({"arrays": model, "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        metrics = MetricRecord({"loss": float(context.node_config["partition-id"])})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    @app.evaluate("loss")
    def loss(message: Message, context: Context) -> Message:
        assert message.content["config"]["client-loss"] == "mean"
        return evaluate(message, context)

    return app


def unit(k: int, t: int) -> np.ndarray:
    """Client k moves coordinate k by 1, so the aggregate equals the weights."""
    return np.arange(4) == k


def four(strategy: Any = None, **changes: Any) -> AvailabilityStrategy:
    made = F3AST.start(np.full(4, 0.25), 4, rate_beta=0.5) if strategy is None else strategy
    return AvailabilityStrategy(made, **{"num_clients": 4, "clients_per_round": 4, **changes})


def run(grid: InProcessGrid, strategy: AvailabilityStrategy, rounds: int = 1) -> np.ndarray:
    result = strategy.start(grid, ArrayRecord([np.zeros(4)]), rounds, timeout=1)
    return result.arrays.to_numpy_ndarrays()[0]


def test_a_silent_node_costs_nothing_but_its_update() -> None:
    """All r(0) are 1, and the three delivered clients weigh 1/4 over 1.

    By eq. (5) with beta 1/2, the silent client's rate falls to 1/2. In round 2 it answers, and
    weighs 1/4 over 3/4.
    """
    grid = InProcessGrid(app_of(unit), 4, {})
    grid.silent["train"] = {2}
    strategy = four()
    np.testing.assert_allclose(run(grid, strategy), [0.25, 0.25, 0, 0.25])
    grid.silent["train"] = set()
    weights = strategy.start(grid, ArrayRecord([np.zeros(4)]), 1).arrays.to_numpy_ndarrays()[0]
    np.testing.assert_allclose(weights, [0.25, 0.25, 1 / 3, 0.25])


BROKEN: dict[str, Callable[[int, int], Any]] = {
    "not_finite": lambda k, t: np.full(4, np.nan) if k == 2 else unit(k, t),
    "other_shape": lambda k, t: np.zeros((4, 4)) if k == 2 else unit(k, t),
    "an_error": lambda k, t: 1 / (k - 2) * 0 + unit(k, t),
}


@pytest.mark.parametrize("update", BROKEN.values(), ids=BROKEN)
def test_a_broken_reply_is_not_delivered(update: Callable[[int, int], Any]) -> None:
    grid = InProcessGrid(app_of(update), 4, {})
    np.testing.assert_allclose(run(grid, four()), [0.25, 0.25, 0, 0.25])


def test_a_round_without_an_update_leaves_the_model_and_counts() -> None:
    """No client answers in the first round; no client is available in the second."""
    grid = InProcessGrid(app_of(unit), 4, {})
    grid.silent["train"] = {0, 1, 2, 3}
    start = ArrayRecord([np.arange(4.0)])
    strategy = four(availability=Table(np.array([[True] * 4, [False] * 4])))
    result = strategy.start(grid, start, 2, timeout=0.1)
    assert result.arrays.to_numpy_ndarrays()[0].tolist() == [0, 1, 2, 3]
    assert {t for kind, _, t in grid.sent if kind == "train"} == {1}
    assert not result.train_metrics_clientapp


def test_only_connected_and_available_clients_are_asked_and_each_node_is_queried_once() -> None:
    grid = InProcessGrid(app_of(unit), 4, {})
    grid.connected = {0, 1, 2}
    strategy = four(availability=Table(np.array([[True, False, True, True]])))
    np.testing.assert_array_equal(run(grid, strategy, 3) > 0, [True, False, True, False])
    assert [k for kind, k, _ in grid.sent if kind == "query"] == [2, 1, 0]
    assert {k for kind, k, _ in grid.sent if kind == "evaluate"} == {0, 2}
    grid.connected.add(3)
    run(grid, strategy)
    assert [k for kind, k, _ in grid.sent if kind == "query"] == [2, 1, 0, 3]


def test_a_node_that_does_not_say_which_client_it_is_is_left_out() -> None:
    grid = InProcessGrid(app_of(unit), 4, {})
    grid.silent["query"] = {1}
    grid._contexts[grid.node[3]].node_config["partition-id"] = 9
    assert (run(grid, four(answer_seconds=0.3), 2) > 0).tolist() == [True, False, True, False]
    assert [k for kind, k, _ in grid.sent if kind == "query"] == [3, 2, 1, 0]


def test_a_method_that_asks_for_losses_gets_those_of_the_nodes() -> None:
    """Client k has loss k, and client 3 does not answer: 2 and 1 have the highest losses."""
    grid = InProcessGrid(app_of(unit), 4, {})
    grid.silent["evaluate"] = {3}
    method = PowerOfChoice.start(np.full(4, 0.25), 2, poc_candidates=4)
    strategy = four(method, clients_per_round=2, evaluate_every=0)
    assert run(grid, strategy).tolist() == [0, 0.5, 0.5, 0]
    assert sorted(k for kind, k, _ in grid.sent if kind == "evaluate") == [0, 1, 2, 3]
    assert [k for kind, k, _ in grid.sent if kind == "train"] == [2, 1]


def test_no_round_passes_while_nodes_start() -> None:
    """The nodes answer after half a second, later than a round would wait."""
    grid = InProcessGrid(app_of(unit), 4, {})
    grid.asleep = 5
    result = four(answer_seconds=0.1).start(grid, ArrayRecord([np.zeros(4)]), 1, timeout=20)
    np.testing.assert_allclose(result.arrays.to_numpy_ndarrays()[0], 0.25)


def test_metrics_are_averages_by_examples() -> None:
    """(0 * 1 + 1 * 2 + 2 * 3 + 3 * 4) / 10 = 2; evaluation has no sizes: (0 + 1 + 2 + 3) / 4."""
    grid = InProcessGrid(app_of(unit), 4, {})
    result = four(evaluate_every=2).start(grid, ArrayRecord([np.zeros(4)]), 3)
    assert [dict(record) for record in result.train_metrics_clientapp.values()] == [{"loss": 2}] * 3
    assert {t: dict(r) for t, r in result.evaluate_metrics_clientapp.items()} == {2: {"loss": 1.5}}


def test_a_reply_of_no_examples_says_nothing_and_a_missing_metric_is_of_the_others() -> None:
    """(100 * 0.5 + 300 * 0.9) / 400 = 0.8; of the accuracy 100 examples are known."""
    nan = float("nan")
    replies = [
        {"num-examples": 100, "loss": 0.5, "accuracy": 0.8},
        {"num-examples": 0, "loss": nan, "accuracy": nan},
        {"num-examples": 300, "loss": 0.9},
    ]
    contents = [RecordDict({"m": MetricRecord(reply)}) for reply in replies]
    mean = mean_metrics(contents)
    assert mean is not None and dict(mean) == pytest.approx({"loss": 0.8, "accuracy": 0.8})
    assert mean_metrics(contents[1:2]) is None
    assert np.isnan(
        metric(RecordDict({"m": MetricRecord({"num-examples": 0, "loss": 0.0})}), "loss")
    )


@pytest.mark.parametrize(
    ("replies", "mean", "said"),
    [
        (({"num_examples": 1, "a": 0.0}, {"num_examples": 3, "a": 1.0}), {"a": 0.75}, ""),
        (
            ({"num-examples": 99, "a": 0.0}, {"a": 1.0}),
            {"a": 0.01},
            "1 of 2 replies have no num-examples: their metrics count as those of 1 example",
        ),
        (
            ({"num-examples": 1, "a": [0, 1]}, {"num-examples": 3, "a": [1.0, 2.0]}),
            {"a": [0.75, 1.75]},
            "",
        ),
        (
            ({"num-examples": 1, "a": [0, 1], "b": 2}, {"num-examples": 3, "a": 1.0, "b": 2}),
            {"b": 2.0},
            "no mean of a: its lists differ in length",
        ),
    ],
    ids=["older name", "some without", "lists", "lists and numbers"],
)
def test_means_of_what_clients_reply(
    replies: Any, mean: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = mean_metrics(RecordDict({"m": MetricRecord(reply)}) for reply in replies)
    assert found is not None and dict(found) == mean
    assert caplog.messages == [said] * bool(said)


@pytest.mark.parametrize("state_file", [None, "round.npz"])
def test_arrays_of_any_shape_survive(state_file: str | None, tmp_path: Path) -> None:
    """A state dict with the counter of a batch norm, shape (), an empty array and a flag."""

    def model(value: float, count: int, flag: bool) -> ArrayRecord:
        arrays = {
            "weight": np.full((2, 3), value, np.float32),
            "num_batches_tracked": np.array(count, np.int64),
            "scale": np.array(value, np.float16),
            "none": np.zeros((0, 3), np.float32),
            "flag": np.array(flag),
        }
        return ArrayRecord({name: Array(array) for name, array in arrays.items()})

    app = ClientApp()
    app.query("partition_id")(tell_partition_id)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        sent = {"arrays": model(1, 10, True), "metrics": MetricRecord({"num-examples": 5})}
        return Message(RecordDict(sent), reply_to=message)

    given = {} if state_file is None else {"state_file": tmp_path / state_file}
    for rounds in (2, 4):
        result = four(evaluate_every=0, **given).start(
            InProcessGrid(app, 4, {}), model(0, 0, False), rounds, timeout=1
        )
    found = {name: array.numpy() for name, array in result.arrays.items()}
    assert {name: (array.shape, str(array.dtype)) for name, array in found.items()} == {
        "weight": ((2, 3), "float32"),
        "num_batches_tracked": ((), "int64"),
        "scale": ((), "float16"),
        "none": ((0, 3), "float32"),
        "flag": ((), "bool"),
    }
    assert found["num_batches_tracked"] == 10 and found["scale"] == 1 and found["flag"]


class Killed(BaseException):
    """Replaces SIGKILL: no code catches it."""


def drift(k: int, t: int) -> np.ndarray:
    return np.sin(np.arange(4) + 10 * k + t)


@pytest.mark.parametrize("method", [F3AST, FedAU], ids=["f3ast", "fedau"])
@pytest.mark.parametrize("killed_in", [1, 4])
def test_a_restarted_server_goes_on_as_if_it_had_not_stopped(
    method: type[BaseStrategy], killed_in: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The restarted federation has other node ids; the killed round is repeated."""
    p, masks = np.arange(1, 5) / 10, np.random.default_rng(0).random((6, 4)) < 0.7

    def server(file: Path | None) -> AvailabilityStrategy:
        made = method.start(p, 2)
        return four(made, clients_per_round=2, availability=Table(masks), state_file=file)

    expected = run(InProcessGrid(app_of(drift), 4, {}), server(None), 6)
    file = tmp_path / "below" / "server.npz"

    def dies(k: int, t: int) -> np.ndarray:
        if t == killed_in:
            raise Killed
        return drift(k, t)

    with pytest.raises(Killed):
        run(InProcessGrid(app_of(dies), 4, {}), server(file), 6)
    grid = InProcessGrid(app_of(drift), 4, {}, first_node=900)
    scored: list[int] = []
    result = server(file).start(
        grid, ArrayRecord([np.zeros(4)]), 6, evaluate_fn=lambda t, _: scored.append(t)
    )
    np.testing.assert_array_equal(result.arrays.to_numpy_ndarrays()[0], expected)
    assert scored == list(range(killed_in - 1, 7))
    assert set(result.train_metrics_clientapp) <= set(range(killed_in, 7))
    assert "no round is left" not in caplog.text
    again = server(file).start(InProcessGrid(app_of(drift), 4, {}), ArrayRecord([np.zeros(4)]), 6)
    np.testing.assert_array_equal(again.arrays.to_numpy_ndarrays()[0], expected)
    assert f"no round is left: {file} holds round 6" in caplog.messages


def test_a_state_file_of_any_size_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("f3ast_tff.files.array_files._MAX_ARRAYS_BYTES", 10)
    arrays = {"0": np.arange(4.0), "1": np.ones((2, 3))}
    save_round(tmp_path / "server.npz", SavedRound(7, arrays, {"rates": np.zeros(2)}))
    saved = load_round(tmp_path / "server.npz")
    assert saved is not None and saved.number == 7
    assert list(saved.model) == ["0", "1"] and list(saved.strategy) == ["rates"]
    np.testing.assert_array_equal(saved.model["1"], arrays["1"])


def test_a_state_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    file, grid = tmp_path / "server.npz", InProcessGrid(app_of(unit), 4, {})
    run(grid, four(state_file=file))
    with pytest.raises(CheckpointError, match="server.npz holds another model: {'0': "):
        four(state_file=file).start(grid, ArrayRecord([np.zeros(5)]))
    other = FedAvg.start(np.full(4, 0.25), 4)
    with pytest.raises(CheckpointError, match="server.npz is of another method: unexpected saved"):
        run(grid, four(other, state_file=file))
    file.write_bytes(b"no archive")
    with pytest.raises(CheckpointError, match="server.npz cannot be read: "):
        run(grid, four(state_file=file))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "memory": (
        {"strategy": FedLaAvg.start([0.5, 0.5], 1)},
        "strategy = FedLaAvg: weighs for the aggregation fedlaavg: must be sum or mean",
    ),
    "adam": (
        {"strategy": FedAdam.start(np.full(4, 0.25), 2)},
        "strategy = FedAdam: needs the server optimizer adam of a run: here the step is plain",
    ),
    "n": ({"num_clients": 0}, "num_clients = 0: must be at least 1"),
    "p": ({"num_clients": 5}, "num_clients = 5: must be 4, the clients of the strategy"),
    "k": ({"clients_per_round": 0}, "clients_per_round = 0: must be at least 1"),
    "constraint": ({"clients_per_round": "3"}, "clients_per_round = 3: must be an integer or a"),
    "rate": ({"server_lr": 0.0}, "server_lr = 0.0: must be above 0"),
    "evaluations": ({"evaluate_every": -1}, "evaluate_every = -1: must be at least 0"),
    "seconds": ({"answer_seconds": float("nan")}, "answer_seconds = nan: must be at least 0"),
}


@pytest.mark.parametrize(("changes", "says"), REFUSED.values(), ids=REFUSED)
def test_bad_settings_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError) as caught:
        four(**changes)
    assert str(caught.value).startswith(says)


def test_a_strategy_that_breaks_its_protocol_is_refused() -> None:
    class Everybody(BaseStrategy):
        def select(self, now: Any) -> np.ndarray:
            return np.arange(4)

    with pytest.raises(ComponentError, match="algorithm object: has no "):
        four(object())
    strategy = four(Everybody(), availability=Table(np.array([[True, True, False, True]])))
    with pytest.raises(ComponentError, match="Everybody: select in round 1 returned client 2, not"):
        run(InProcessGrid(app_of(unit), 4, {}), strategy)


def test_the_server_rate_scales_the_step_and_integers_stay_integers() -> None:
    grid = InProcessGrid(app_of(lambda k, t: 2 * unit(k, t)), 4, {})
    strategy = four(availability=AlwaysConfig().build(np.full(4, 0.25), 0), server_lr=2.0)
    result = strategy.start(grid, ArrayRecord([np.zeros(4, np.int64)]), 1)
    (model,) = result.arrays.to_numpy_ndarrays()
    assert (model.dtype, model.tolist()) == (np.int64, [1, 1, 1, 1])
