"""Deliveries chosen by settings, with any algorithm, availability and engine."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.delivery import Arrivals, Bernoulli, Deadline
from f3ast_tff.engines.components import FusedConfig
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.build import Builder
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.run.round_loop import RunResult, train
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve
from tests.fake_engine import FakeEngine

pytestmark = pytest.mark.usefixtures("host_by_default")

N, ROUNDS = 12, 12
SMALL: dict[str, Any] = {
    "num_clients": N,
    "clients_per_round": 4,
    "rounds": ROUNDS,
    "eval_every": 4,
    "checkpoint_every": 2,
    "seed": 2,
    "availability": "four_classes",
}
LOSSY: dict[str, dict[str, Any]] = {
    "bernoulli": {"delivery": "bernoulli", "loss_probability": 0.4},
    "by_size": {"delivery": "bernoulli", "loss_probability": 0.4, "loss_follows": "size"},
    "by_q": {"delivery": "bernoulli", "loss_probability": 0.4, "loss_follows": "availability"},
    "trace": {"delivery": "trace"},
    "slots": {"delivery": "trace", "slot_seconds": 3.0},
    "deadline": {"delivery": "deadline", "deadline_quantile": 0.5},
    "over_commit": {"delivery": "over_commit", "over_commitment": 2.0},
}
ALGORITHMS = [
    name
    for name in builtin_registry().names("algorithm")
    if name not in ("sequential_sgd", "f3ast_fixed", "f3ast_adam", "fedadam")
    and not builtin_registry().find("algorithm", name).config.deliveries
]
# Further settings that an algorithm needs.
GIVEN = {"poc": {"poc_candidates": 6}, "fedavg_then_fedlaavg": {"switch_round": 5}}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives experiments an engine without a framework."""
    monkeypatch.setattr(FusedConfig, "connect", lambda self: None)
    monkeypatch.setattr(FusedConfig, "build", lambda self, parts: FakeEngine(N, None, 100))


def built(break_at: int | None = None, **given: Any) -> Experiment:
    parts = Builder(resolve({**SMALL, **given})).experiment()
    return replace(parts, engine=FakeEngine(N, break_at, 100))


def ran(folder: Path | None, parts: Experiment) -> RunResult:
    if folder is None:
        return train(parts, None)
    with closing(RunFolder(folder, {"name": "test"})) as opened:
        return train(parts, opened)


@pytest.mark.parametrize("name", LOSSY)
def test_who_is_delivered_is_who_delivers(name: str, fake: None) -> None:
    """The record equals a second query of the delivery; losses never let a cohort exceed K."""
    found = ran(None, built(**LOSSY[name])).selection
    parts = built(**LOSSY[name])
    k = 8 if name == "over_commit" else 4
    assert found["num_selected"].max() <= k
    assert found["num_delivered"].max() <= 4
    assert found["num_delivered"].sum() < found["num_selected"].sum()
    for t in range(1, ROUNDS + 1):
        ids = found["selected"][t - 1]
        again = parts.delivery.arrivals(t, ids[ids >= 0])
        assert again.delivered.tolist() == found["delivered"][t - 1][ids >= 0].tolist()
        assert found["round_seconds"][t - 1] == again.round_seconds
    assert (found["selected"].shape[1] > 4) == (name == "over_commit")


def test_delivery_is_a_condition_and_part_of_the_identity() -> None:
    before = resolve({})
    assert before.identity["delivery"] == "certain"
    lossy = resolve({"delivery": "bernoulli"})
    assert lossy.identity["delivery"] == "bernoulli"
    assert lossy.identity["loss_probability"] == 0.1
    assert "delivery" not in lossy.method_settings and "rates_follow" in lossy.method_settings
    assert "delivery-bernoulli" in lossy.settings["run_name"]


@pytest.mark.parametrize("algorithm", ["f3ast", "mifa", "poc"])
def test_no_loss_is_certain_delivery_with_a_clock(algorithm: str, fake: None) -> None:
    """Bit for bit, except for the seconds."""
    given = {"algorithm": algorithm, **GIVEN.get(algorithm, {})}
    certain = ran(None, built(**given))
    timed = ran(None, built(delivery="bernoulli", loss_probability=0.0, **given))
    for name, array in certain.selection.items():
        if name == "round_seconds":
            assert np.isnan(array).all() and np.isfinite(timed.selection[name]).all()
        else:
            np.testing.assert_array_equal(timed.selection[name], array)
    for one, other in zip(timed.rows, certain.rows):
        assert one["simulated_seconds"] > 0
        same = one.keys() - {"simulated_seconds", "wall_seconds"}
        np.testing.assert_equal([one[name] for name in same], [other[name] for name in same])


@pytest.mark.parametrize(
    ("aggregation", "down", "up"),
    [("sum", 1, 1), ("fedvarp", 1, 1), ("scaffold", 2, 2), ("amplified_scaffold", 2, 2)],
)
def test_bytes_by_model_and_aggregation(aggregation: str, down: int, up: int, fake: None) -> None:
    """61 weights in each of 10 classes, 4 bytes each."""
    payload = built(aggregation=aggregation, cohort_weights=None).payload
    assert (payload.bytes_down, payload.bytes_up) == (down * 2440, up * 2440)


def test_work_is_examples_times_speed(fake: None) -> None:
    """3 epochs of n_k examples of 20 ms; transfers of 2 x 2440 bytes at 976 kilobits per second."""
    given = {
        **{"delivery": "deadline", "local_epochs": 3, "device_example_ms": 20.0},
        **{"device_example_spread": 0.0, "device_kbps": 976.0, "device_kbps_spread": 0.0},
    }
    parts = built(deadline_seconds=9.0, **given)
    assert isinstance(parts.delivery, Deadline)
    sizes = parts.delivery.world.examples / 3
    np.testing.assert_allclose(
        parts.delivery.typical(np.arange(N)), 3 * sizes * 0.02 + 0.04, rtol=1e-12
    )
    assert parts.delivery.deadline == 9
    by_quantile = built(deadline_quantile=0.5, **given).delivery
    assert isinstance(by_quantile, Deadline)
    assert by_quantile.deadline == np.median(3 * sizes * 0.02 + 0.04)


def test_loss_by_size_and_by_availability(fake: None) -> None:
    by_size, by_q = (built(**LOSSY[name]).delivery for name in ("by_size", "by_q"))
    assert isinstance(by_size, Bernoulli) and isinstance(by_q, Bernoulli)
    parts = built(**LOSSY["by_q"])
    assert isinstance(by_size.loss, np.ndarray) and isinstance(by_q.loss, np.ndarray)
    assert parts.p is not None
    assert np.all(np.diff(by_size.loss[np.argsort(parts.p)]) >= 0)
    stationary: Any = getattr(parts.availability, "stationary", None)
    assert np.all(np.diff(by_q.loss[np.argsort(-stationary, kind="stable")]) >= 0)
    assert by_size.loss.mean() == pytest.approx(0.4) == by_q.loss.mean()


def test_speeds_of_a_file(fake: None, tmp_path: Path) -> None:
    """Two devices for twelve clients: each serves six."""
    path = tmp_path / "speeds.csv"
    path.write_text("device,computation,communication\na,1,1e9\nb,100,1e9\n")
    given = {"delivery": "deadline", "device_file": str(path)}
    first = resolve({**SMALL, **given}).identity
    delivery: Any = built(**given).delivery
    found = delivery.typical(np.arange(N)) / delivery.world.examples
    assert sorted(np.round(found, 6)) == pytest.approx([0.003] * 6 + [0.3] * 6, rel=1e-3)
    path.write_text("device,computation,communication\na,2,1e9\nb,100,1e9\n")
    assert resolve({**SMALL, **given}).identity != first
    path.write_text("device,computation\n")
    with pytest.raises(DataError, match="line 1 must be device,computation,communication"):
        built(**given)


@pytest.mark.parametrize(
    ("delivery", "says"),
    [
        ("over_commit", "over_commit needs a constraint on the number"),
        ("asynchronous", "needs a constraint on the number of clients"),
    ],
)
def test_deliveries_that_need_a_count(delivery: str, says: str, fake: None) -> None:
    given = {"constraint": "bytes:20000", "clients_per_round": None}
    with pytest.raises(ParameterError, match=says):
        ran(None, built(delivery=delivery, **given))


class EverySecond:
    """A user's delivery: clients with even ids are delivered."""

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        return Arrivals(ids % 2 == 0, np.ones(len(ids)), 1.0)


def test_delivery_as_an_object(fake: None) -> None:
    result = simulate(delivery=EverySecond(), rounds=3, num_clients=N, clients_per_round=6)
    selected, delivered = result.selection["selected"], result.selection["delivered"]
    np.testing.assert_array_equal(delivered, (selected >= 0) & (selected % 2 == 0))
    assert result.configuration.settings["delivery"] == "every_second"
    assert result.metrics["simulated_seconds"].tolist() == [3.0]


@pytest.mark.tff
@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "least"), [("f3ast", 0.0), ("scaffold", 0.0), ("mifa", 0.5)])
def test_engines_agree_with_losses(algorithm: str, least: float) -> None:
    """Asked clients, delivered clients, and the model after 12 rounds, some of which may fail."""
    given = {**SMALL, **LOSSY["deadline"], "client_lr": 0.05, "fail_below_arrivals": least}
    one, other = (simulate(algorithm=algorithm, engine=e, **given) for e in ("fused", "tff"))
    assert one.summary["lost_updates"] == other.summary["lost_updates"] > 0
    failed = (one.selection["num_delivered"] == 0) & (one.selection["bytes_up"] > 0)
    assert failed.any() == (least > 0) and not failed.all()
    for name in ("selected", "delivered", "weights", "round_seconds", "bytes_down", "bytes_up"):
        np.testing.assert_array_equal(one.selection[name], other.selection[name])
    for a, b in zip(one.weights, other.weights):
        np.testing.assert_allclose(a, b, atol=1e-5)
