"""From settings to a configuration: published defaults, refused values, names of runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.datasets import TaskConfig
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.settings import register
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import parameters_of
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.settings.examples import CHOOSING

ABSENT = "not there"
SEQUENTIAL = "synthetic-sequential_sgd-always-paper-seed0"
THEN = {"algorithm": "fedavg_then_fedlaavg"}


def settings(**given: Any) -> Any:
    return resolve(given).settings


def test_defaults_are_the_published_values() -> None:
    """Table II and App. C: 100 clients, K = 10, beta 0.001, batches of 20, client rate 0.01."""
    published = {
        "task": "synthetic",
        "algorithm": "f3ast",
        "aggregation": "sum",
        "reading": "paper",
        "num_clients": 100,
        "synthetic_alpha": 1.0,
        "synthetic_beta": 1.0,
        "clients_per_round": 10,
        "rate_beta": 0.001,
        "batch_size": 20,
        "client_lr": 0.01,
        "server_lr": 1.0,
        "local_epochs": 1,
        "local_steps": None,
    }
    resolved = settings()
    assert {name: resolved[name] for name in published} == published


def test_only_the_settings_of_chosen_components_are_there() -> None:
    names = {kind for kind in KINDS if not KINDS[kind].optional}
    configuration = resolve({})
    for config in (*map(type, configuration.configs.values()), *GROUPS.values()):
        names |= {p.name for p in parameters_of(config)}
    assert set(configuration.settings) == names
    assert not names & {"poc_candidates", "scarce_q", "dirichlet_s", "epsilon", "tff_runtime"}


@pytest.mark.parametrize(
    ("algorithm", "adaptive"),
    [("fedavg", False), ("fedadam", True), ("f3ast", False), ("f3ast_adam", True), ("poc", False)],
)
def test_server_learning_rate_is_that_of_the_server_optimizer(
    algorithm: str, adaptive: bool
) -> None:
    """SGD steps by the aggregate itself, rate 1; Adam normalises steps and needs a lower rate."""
    assert (settings(algorithm=algorithm)["server_lr"] == 1) is not adaptive
    assert settings(algorithm=algorithm, server_lr=0.5)["server_lr"] == 0.5


def test_a_resolved_experiment_resolves_to_itself() -> None:
    for given in ({}, {"algorithm": "ca_fed"}, {"constraint": "cycle:5,10"}):
        once = resolve(given)
        assert resolve(once.settings).settings == once.settings


def test_identity_is_all_but_where_and_how_often_it_is_saved() -> None:
    configuration = resolve({})
    assert " ".join(sorted(set(configuration.settings) - set(configuration.identity))) == (
        "checkpoint_every checkpoint_seconds client_half client_scores factors initial_weights "
        "keep_checkpoints label_counts logger lora lora_alpha lora_leaves method_name num_workers "
        "output_dir ray_address round_timeout run_name train write_masks"
    )
    assert json.loads(json.dumps(configuration.identity)) == configuration.identity
    assert json.loads(json.dumps(configuration.describe())) == configuration.describe()


BAD: list[tuple[str, Any, str]] = [
    ("task", "imagenet", "must be one of synthetic, synthetic_linear, cifar100"),
    ("algorithm", "fedsgd", "must be one of fedavg, fedadam, f3ast, f3ast_adam"),
    ("algorithm", "f3sat", "did you mean f3ast? It must be one of fedavg"),
    ("algorithm", 3, "must be a name"),
    ("availability", "never", "must be one of always, scarce, home_devices"),
    ("constraint", "sometimes:3", "must be one of fixed, "),
    ("constraint", 3.5, "must be a text such as cycle:5,10"),
    ("reading", "mine", "must be one of paper, released, ca_fed"),
    ("rate_init", "zero", "must be one of p, k_over_n, one_over_n, all_available"),
    ("num_clients", 0, "at least 1"),
    ("num_clients", 9, "at most num_clients, 9"),
    ("clients_per_round", 0, "at least 1"),
    ("clients_per_round", 101, "at most num_clients, 100"),
    ("rounds", 1.5, "must be an integer"),
    ("client_lr_decay", 1.1, "at most 1"),
    ("seed", -1, "at least 0"),
    ("rate_beta", 1.0, "above 0 and below 1"),
    *[("run_name", value, "the name of one folder") for value in ("", ".", "..", "a/b", "/a")],
    *[
        (name, value, "at most")
        for name in ("rounds", "batch_size", "local_epochs", "local_steps", "num_clients", "seed")
        for value in (10**20, 10**4000)
    ],
    # Single precision bounds learning rates.
    ("client_lr", 1e300, "at most 1000000"),
    ("learning_rate", 0.1, "there is no such setting"),
    ("clients_a_round", 5, "did you mean clients_per_round?"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD, ids=lambda part: str(part)[:20])
def test_bad_value_is_named_with_what_is_allowed(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(ParameterError) as caught:
        resolve({name: value})
    # For K > N the error names K, which has a default, whichever of the two was given.
    said = "clients_per_round" if "num_clients" in allowed else name
    assert (caught.value.name, caught.value.value) == (said, 10 if said != name else value)
    assert allowed in caught.value.allowed
    assert "\n" not in str(caught.value)
    assert "--" not in caught.value.allowed


@pytest.mark.parametrize("kind", KINDS)
def test_a_setting_of_a_component_that_is_not_chosen_is_refused(kind: str) -> None:
    """Each parameter with a component of its kind that lacks it, and each component once."""
    registry, seen = builtin_registry(), set()
    components = registry.components[kind].values()
    for parameter, other in product([p for c in components for p in c.parameters], components):
        takers = {(c.kind, c.name) for c in registry.takers(parameter.name)}
        if {parameter.name, other.name} <= seen or (kind, other.name) in takers:
            continue
        chosen = CHOOSING.get((kind, other.name), {})
        name = chosen.get("constraint", other.name)
        given = {**({} if name == "fixed" else {kind: name}), **chosen}
        if parameter.name in resolve(given).settings:
            continue
        seen |= {parameter.name, other.name}
        value = parameter.choices[0] if parameter.choices else parameter.kind(1)
        with pytest.raises(ParameterError) as caught:
            resolve({**given, parameter.name: value})
        assert caught.value.name == parameter.name
        assert "only applies with " in caught.value.allowed


def test_a_name_of_two_halves_joins_a_selection_with_rules() -> None:
    apart = resolve({"algorithm": "f3ast", "aggregation": "scaffold"})
    assert resolve({"algorithm": "f3ast+scaffold"}).identity == apart.identity


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # Reddi et al.: FedAvg 10^-1 and 10^0.5, FedAdam 10^-1.5, 10^0 and epsilon 10^-1.
        (
            {"task": "cifar100", "algorithm": "f3ast"},
            {"client_lr": 0.1, "server_lr": 10**0.5, "rounds": 1000, "last_batch": "drop"},
        ),
        (
            {"task": "cifar100", "algorithm": "f3ast_adam"},
            {"client_lr": 10**-1.5, "server_lr": 1.0, "epsilon": 0.1, "model": "resnet18"},
        ),
        (
            {"task": "shakespeare", "algorithm": "fedadam"},
            {"client_lr": 1.0, "server_lr": 0.01, "epsilon": 1e-3, "batch_size": 4, "rounds": 500},
        ),
        ({"task": "shakespeare"}, {"num_clients": 715, "server_lr": 1.0, "last_batch": "keep"}),
        ({"task": "mnist"}, {"ridge": 0.01, "dirichlet_s": 0.5, "model": "softmax_regression"}),
        ({"task": "cifar10"}, {"model": "cafed_cnn", "batch_size": 32}),
        ({"task": "leaf_synthetic"}, {"synthetic_alpha": 0.5, "synthetic_beta": 0.5}),
        # What is given stands; None means not given; names have any case.
        ({"rounds": 7, "client_lr": 0.5}, {"rounds": 7, "client_lr": 0.5}),
        ({"local_steps": 3, "seed": None}, {"local_steps": 3, "seed": 0}),
        ({"batch_size": None, "last_batch": "Drop"}, {"batch_size": 20, "last_batch": "drop"}),
        (
            {"task": "Synthetic", "algorithm": "FedAvg", "availability": "HOME_DEVICES"},
            {"task": "synthetic", "run_name": "synthetic-fedavg-home_devices-paper-seed0"},
        ),
        ({"algorithm": "FedAvg"}, {"algorithm": "fedavg"}),
        ({"run_name": "mine"}, {"run_name": "mine"}),
        (
            {"algorithm": "poc", "availability": "uneven", "seed": 3},
            {"run_name": "synthetic-poc-uneven-paper-seed3"},
        ),
        # A constraint replaces clients_per_round; one client who holds all is always there.
        ({"constraint": "cycle:5,10"}, {"constraint": "cycle:5,10", "clients_per_round": ABSENT}),
        ({"constraint": "7"}, {"clients_per_round": 7}),
        (
            {"algorithm": "sequential_sgd", "availability": "Always"},
            {"availability": "always", "clients_per_round": 1, "run_name": SEQUENTIAL},
        ),
        # Workers have the runtime that splits; FedLaAvg takes over half-way.
        ({"engine": "tff"}, {"tff_runtime": "tf"}),
        ({"engine": "tff", "num_workers": 2}, {"tff_runtime": "tf"}),
        ({}, {"num_workers": None}),
        ({**THEN, "rounds": 100}, {"switch_round": 51, "memory_from_round": 51}),
        ({**THEN, "rounds": 100, "switch_round": 7}, {"memory_from_round": 7}),
        ({"algorithm": "fedlaavg"}, {"memory_from_round": 1}),
    ],
)
def test_what_settings_resolve_to(given: dict[str, Any], expected: dict[str, Any]) -> None:
    resolved = resolve(given).settings
    found = {name: resolved.get(name, ABSENT) for name in expected}
    assert found == {
        name: pytest.approx(value) if isinstance(value, float) else value
        for name, value in expected.items()
    }


def test_a_precision_is_part_of_the_identity() -> None:
    assert resolve({}).identity["matmul_precision"] == "highest"
    added = {"matmul_precision": "tensorfloat32"}
    assert resolve(added).identity == {**resolve({}).identity, **added}


@pytest.mark.parametrize("name", ["client_rate", "client_momentum"])
def test_a_published_value_that_no_setting_reads_is_refused(name: str) -> None:
    """There is no setting of the one name, and the other's default is not the publication's."""

    @register("task", "own_task", about="publishes too much")
    @dataclass(frozen=True)
    class OwnTask(TaskConfig):
        published = {"num_clients": 3, name: 0.5}

    with pytest.raises(ComponentError, match=f"task own_task: published has '{name}': must be am"):
        resolve(*settings_of({"task": OwnTask()}, builtin_registry()))


@pytest.mark.parametrize(
    ("algorithm", "aggregation", "weights"),
    [
        ("f3ast", "fedvarp", "sum"),
        ("f3ast", "fedstale", "sum"),
        ("fedstale", None, "sum"),
        ("unbiased", "fedvarp", "sum"),
        ("f3ast", "scaffold", "sum"),
        ("fedvarp", None, "mean"),
        ("fedvarp", "fedstale", "mean"),
        ("fedavg", "fedvarp", "mean"),
        ("poc", "fedstale", "mean"),
        ("fedlaavg", "fedvarp", "mean"),
    ],
)
def test_cohort_weights_follow_what_the_algorithm_means(
    algorithm: str, aggregation: str | None, weights: str
) -> None:
    """p_k over a rate is meant for a sum; with all other weights a mean makes sense."""
    where = {"algorithm": algorithm, "aggregation": aggregation, "availability": "four_classes"}
    given = settings(**where)
    assert given["cohort_weights"] == weights
    built = resolve(where).configs["aggregation"].build()
    assert built.normalise is (weights == "mean")


@pytest.mark.parametrize(
    ("algorithm", "aggregation"),
    [
        ("mifa", "fedlaavg"),
        ("fedlaavg", "mifa"),
        ("mifa", "sum"),
        ("fedstale", "sum"),
        ("mifa", "focus"),
        ("focus", "mifa"),
    ],
)
def test_those_of_weights_p_take_each_other(algorithm: str, aggregation: str) -> None:
    """MIFA with FedLaAvg's memory; p_k with absent clients as 0; p_k / pi_k without memory."""
    where = {"algorithm": algorithm, "aggregation": aggregation, "availability": "four_classes"}
    assert settings(**where)["aggregation"] == aggregation


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"rate_beta": 0.01}, "rate_beta0.01"),
        ({"rate_beta": 0.001}, ""),
        ({"client_lr": 0.0316227766}, "client_lr0.0316227766"),
        ({"engine": "tff", "clients_per_round": 5}, "tff-clients_per_round5"),
        ({"model": "softmax_regression"}, ""),
        ({"checkpoint_every": 3, "output_dir": "x", "logger": "csv"}, ""),
        ({"rounds": 7}, ""),
        ({"rounds": 7, "algorithm": "f3ast_fixed"}, "rounds7"),
        ({"rounds": 7, "algorithm": "fedavg_then_fedlaavg"}, "rounds7"),
        ({"rounds": 7, "algorithm": "fedavg_then_fedlaavg", "switch_round": 3}, "switch_round3"),
        ({"rounds": 7, "availability": "arrival_departure"}, "rounds7"),
    ],
)
def test_run_name_carries_what_is_not_default(given: dict[str, Any], part: str) -> None:
    """Rounds are only included if a longer run is no continuation."""
    name = settings(**given)["run_name"]
    chosen = (given.get("algorithm", "f3ast"), given.get("availability", "home_devices"))
    parts = ["synthetic", *chosen, "paper", *([part] if part else []), "seed0"]
    assert name == "-".join(parts)


def test_run_names_are_names_of_folders() -> None:
    names = {settings(constraint=text)["run_name"] for text in ("cycle:5,10", "cycle:5,11")}
    assert len(names) == 2 and all("/" not in name and ":" not in name for name in names)
