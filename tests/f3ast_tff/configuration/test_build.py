"""From settings to parts: what each setting moves, and that it moves nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.configuration.build import (
    build_availability,
    build_data,
    build_engine,
    build_experiment,
    build_local_work,
    build_strategy,
)
from f3ast_tff.configuration.readings import READINGS
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.estimation import KnownActivity, LossEstimates
from f3ast_tff.federated_data import ClientExamples, FederatedData
from f3ast_tff.local_training import client_share
from f3ast_tff.rates import ParticipationRates

N, K = 8, 3
SIZES = np.array([45, 61, 80, 100, 200, 46, 333, 77])
DAYS = range(1, 73)


class Recorder:
    """Stands for an engine: remembers what it was made of."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.arguments, self.named = arguments, named


@pytest.fixture(autouse=True)
def no_framework(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("datasets.cifar100", no_images)
    for module, engine in (("tff_engine", "TffEngine"), ("fused_engine", "FusedEngine")):
        fake = SimpleNamespace(**{engine: Recorder})
        monkeypatch.setitem(sys.modules, f"f3ast_tff.engines.{module}", fake)
    yield


def no_images(data_dir: Path, num_clients: int, seed: int) -> FederatedData:
    """Stands for CIFAR-100: clients without a single image."""
    nothing = np.zeros((0, 32, 32, 3), np.uint8), np.zeros(0, np.int32)
    empty = ClientExamples(*nothing, np.zeros(num_clients + 1, np.int64))
    return FederatedData(empty, empty, 100)


def content(value: Any) -> Any:
    """Returns something that compares by value."""
    if isinstance(value, ParticipationRates):
        return (value.beta, value.values.tolist())
    if isinstance(value, KnownActivity):
        return (value.pi.tolist(), value.eigenvalue.tolist())
    if isinstance(value, LossEstimates):
        return {name: part.tolist() for name, part in value.state().items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def parts(**given: Any) -> dict[str, Any]:
    """Returns all that an experiment is made of, by name."""
    settings = resolve({"num_clients": N, "clients_per_round": K, "run_name": "x", **given})
    work = build_local_work(settings)
    p = client_share(SIZES, work, settings.client_share)
    world = build_availability(settings, p)
    strategy = build_strategy(settings, p, SIZES, world)
    engine = build_engine(settings, build_data(settings), Path("folder"))
    _, model, engine_work, client, server, aggregation = engine.arguments
    assert engine_work == work
    assert is_dataclass(strategy)
    found = {
        "p": p,
        "work": work,
        "world": type(world).__name__,
        "world.chances": np.array([world.probabilities(t) for t in DAYS]),
        "world.masks": np.array([world.mask(t) for t in DAYS]),
        "strategy": type(strategy).__name__,
        **{f"strategy.{f.name}": getattr(strategy, f.name) for f in fields(strategy)},
        "engine.model": model,
        "engine.client": client,
        "engine.server": server,
        "engine.aggregation": aggregation,
        **{f"engine.{name}": value for name, value in engine.named.items()},
    }
    return {name: content(value) for name, value in found.items()}


def moved(base: dict[str, Any], **switch: Any) -> set[str]:
    before, after = parts(**base), parts(**{**base, **switch})
    assert before.keys() == after.keys()
    return {name for name in before if before[name] != after[name]}


F3AST = {"algorithm": "f3ast", "availability": "always"}
FEDAVG = {"algorithm": "fedavg", "availability": "always"}
POC = {"algorithm": "poc", "availability": "always"}
CA_FED = {"algorithm": "ca_fed", "availability": "always"}
WORLD = {"world.chances", "world.masks"}
# Settings to start from, the reading to switch to the released code's, the parts that move.
EFFECTS: list[tuple[dict[str, Any], str, set[str]]] = [
    (F3AST, "rate_init", {"strategy.rates"}),
    (F3AST, "aggregate", {"strategy.divisor"}),
    (F3AST, "ties", {"strategy.random_ties"}),
    (F3AST, "short_rounds", {"strategy.fill_unavailable"}),
    ({**F3AST, "availability": "smartphones"}, "availability_objective", {"strategy.objective"}),
    (F3AST, "client_share", {"p", "strategy.p"}),
    ({**F3AST, "availability": "uneven"}, "client_share", {"p", "strategy.p"} | WORLD),
    ({**F3AST, "rate_init": "p"}, "client_share", {"p", "strategy.p", "strategy.rates"}),
    (FEDAVG, "baseline_sampling", {"strategy.replace"}),
    (FEDAVG, "baseline_average", {"strategy.average_weights"}),
    ({**F3AST, "availability": "home_devices"}, "lognormal_spread", WORLD),
    ({**F3AST, "availability": "smartphones"}, "lognormal_spread", WORLD),
    ({**F3AST, "availability": "smartphones"}, "smartphones_grid", WORLD),
    ({**F3AST, "availability": "scarce"}, "availability_draws", {"world.masks"}),
    ({**F3AST, "availability": "home_devices"}, "availability_draws", WORLD),
    ({**POC, "engine": "fused"}, "poc_loss", {"engine.client_loss"}),
    ({**POC, "engine": "tff"}, "poc_loss", {"engine.client_loss"}),
    (POC, "poc_clip_norm", {"engine.client"}),
    (CA_FED, "ca_fed_bias", {"strategy.bias_factor", "strategy.strict"}),
    ({**F3AST, "task": "cifar100"}, "resnet_variant", {"engine.model"}),
    # What does not concern an algorithm or an availability leaves it alone.
    (FEDAVG, "poc_clip_norm", set()),
    (F3AST, "ca_fed_bias", set()),
    (FEDAVG, "ties", set()),
    (FEDAVG, "rate_init", set()),
    (F3AST, "baseline_average", set()),
    (POC, "baseline_sampling", set()),
    ({**F3AST, "availability": "scarce"}, "lognormal_spread", set()),
    ({**F3AST, "availability": "home_devices"}, "smartphones_grid", set()),
]


@pytest.mark.parametrize(("base", "reading", "expected"), EFFECTS)
def test_a_reading_moves_exactly_its_part(
    base: dict[str, Any], reading: str, expected: set[str]
) -> None:
    values = READINGS[reading]
    other = values.released if values.released != values.paper else values.ca_fed
    assert moved(base, **{reading: other}) == expected


def test_every_reading_moves_something() -> None:
    """R19 makes another strategy, of other parts: `test_ca_fed.py`."""
    moving = {reading for _, reading, expected in EFFECTS if expected}
    assert moving == set(READINGS) - {"f3ast_rule"}


def test_values_of_the_paper_and_of_the_released_code() -> None:
    """N = 8, K = 3; batches of 20 of 45, 61, ... examples: 3, 4, 4, 5, 10, 3, 17, 4, sum 50."""
    paper, released = parts(**F3AST), parts(**F3AST, reading="released")
    assert paper["p"] == (SIZES / SIZES.sum()).tolist()
    batches = np.array([3, 4, 4, 5, 10, 3, 17, 4])
    assert released["p"] == (batches / 50).tolist()
    assert paper["strategy.rates"] == (0.001, [3 / 8] * 8)
    assert released["strategy.rates"] == (0.001, released["p"])
    assert parts(**F3AST, rate_init="one_over_n")["strategy.rates"] == (0.001, [1 / 8] * 8)
    assert (paper["strategy.divisor"], released["strategy.divisor"]) == (1, 3)
    paper, released = parts(**FEDAVG), parts(**FEDAVG, reading="released")
    assert paper["strategy.average_weights"] == [1] * 8
    assert released["strategy.average_weights"] == SIZES.tolist()
    paper, released = parts(**POC), parts(**POC, reading="released")
    assert paper["engine.client"].clip_norm is None
    assert released["engine.client"].clip_norm == 1


def test_available_sets_of_the_released_code_ignore_the_seed() -> None:
    """R13, and what else the seed moves."""
    base = {**F3AST, "availability": "home_devices"}
    rest = {"work", "strategy.seed", "engine.seed"}
    assert moved(base, seed=5) == rest | WORLD
    assert moved({**base, "availability_draws": "by_round_only"}, seed=5) == rest


@pytest.mark.parametrize("algorithm", ["fedavg", "fedadam", "f3ast", "f3ast_adam", "poc"])
def test_algorithms_are_selection_aggregate_and_server_optimizer(algorithm: str) -> None:
    """F3AST's weights are meant for a sum, the others' for a mean."""
    made = parts(algorithm=algorithm)
    strategies = {"f3ast": "F3AST", "poc": "PowerOfChoice", "fedavg": "Proportional"}
    plain = algorithm.replace("f3ast_adam", "f3ast").replace("fedadam", "fedavg")
    assert made["strategy"] == strategies[plain]
    assert made["engine.aggregation"] == ("sum" if plain == "f3ast" else "mean")
    assert made["engine.server"].name == ("adam" if algorithm.endswith("adam") else "sgd")
    assert made["engine.client"].name == "sgd"


def test_sequential_sgd_has_one_client_with_all_data(tmp_path: Path) -> None:
    experiment = build_experiment(resolve({"algorithm": "sequential_sgd"}), tmp_path)
    data = experiment.engine.arguments[0]
    federated = build_experiment(resolve({}), tmp_path).engine.arguments[0]
    np.testing.assert_array_equal(data.train.sizes, [federated.train.sizes.sum()])
    assert experiment.availability.mask(1).tolist() == [True]
    assert experiment.constraint.k(1) == 1


@pytest.mark.parametrize(
    ("given", "first_round"),
    [({"algorithm": "fedlaavg"}, 1), ({"algorithm": "fedavg_then_fedlaavg", "rounds": 9}, 5)],
)
def test_fedlaavg_has_a_memory(given: dict[str, Any], first_round: int, tmp_path: Path) -> None:
    small = {"num_clients": N, "clients_per_round": K}
    experiment = build_experiment(resolve({**given, **small}), tmp_path)
    memory = experiment.engine.named["latest"]
    updates = np.ones((N, memory.average.size), np.float32)
    memory.store(np.arange(N), updates, 1.0)
    np.testing.assert_allclose(memory.average, 1)
    assert not memory.correction(first_round - 1, np.array([0]), 1.0).any()
    assert memory.correction(first_round, np.array([0]), 1.0).all()


@pytest.mark.parametrize("share", ["examples", "batches"])
def test_experiment_is_made_of_these_parts(share: str, tmp_path: Path) -> None:
    small = {"num_clients": N, "clients_per_round": K, "rounds": 7, "eval_every": 4}
    experiment = build_experiment(resolve({**small, "client_share": share}), tmp_path)
    data = experiment.engine.arguments[0]
    assert data.train.num_clients == N
    counts = {"examples": data.train.sizes, "batches": np.ceil(data.train.sizes / 20)}[share]
    np.testing.assert_allclose(experiment.strategy.p, counts / counts.sum())
    assert experiment.constraint.k(1) == K
    assert experiment.availability.num_clients == N
    assert (experiment.rounds, experiment.eval_every, experiment.checkpoint_every) == (7, 4, 25)
