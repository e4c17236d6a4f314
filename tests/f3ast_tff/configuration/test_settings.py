"""Settings: published defaults, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import pytest

from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.configuration.settings import Settings
from f3ast_tff.configuration.tasks import TASKS
from f3ast_tff.errors import SettingError

NAN, INF = math.nan, math.inf


def test_defaults_are_the_published_values() -> None:
    """Table II and App. C: 100 clients, K = 10, beta 0.001, batches of 20, client rate 0.01."""
    resolved = resolve({}).as_dict()
    published = {
        "task": "synthetic",
        "algorithm": "f3ast",
        "reading": "paper",
        "num_clients": 100,
        "synthetic_alpha": 1.0,
        "synthetic_beta": 1.0,
        "clients_per_round": 10,
        "rate_beta": 0.001,
        "poc_candidates": 30,
        "batch_size": 20,
        "client_lr": 0.01,
        "server_lr": 1.0,
        "local_epochs": 1,
        "local_steps": None,
    }
    assert {name: resolved[name] for name in published} == published
    assert set(resolved) == {spec.name for spec in fields(Settings)}


@pytest.mark.parametrize(
    ("algorithm", "adaptive"),
    [("fedavg", False), ("fedadam", True), ("f3ast", False), ("f3ast_adam", True), ("poc", False)],
)
def test_server_learning_rate_is_that_of_the_server_optimizer(
    algorithm: str, adaptive: bool
) -> None:
    """SGD steps by the aggregate itself, rate 1; an Adam needs less, its steps being normalised."""
    assert (resolve({"algorithm": algorithm}).server_lr == 1) is not adaptive
    assert resolve({"algorithm": algorithm, "server_lr": 0.5}).server_lr == 0.5


def test_what_is_given_stands_and_none_means_not_given() -> None:
    given = {"rounds": 7, "client_lr": 0.5, "local_steps": 3, "seed": None, "batch_size": None}
    settings = resolve(given)
    assert (settings.rounds, settings.client_lr, settings.local_steps) == (7, 0.5, 3)
    assert (settings.seed, settings.batch_size) == (0, 20)


def test_run_name_says_what_runs() -> None:
    name = resolve({"algorithm": "poc", "availability": "uneven", "seed": 3}).run_name
    assert name == "synthetic-poc-uneven-paper-seed3"
    assert resolve({"run_name": "mine"}).run_name == "mine"


def test_identity_is_all_but_where_and_how_often_it_is_saved() -> None:
    settings = resolve({})
    assert set(settings.as_dict()) - set(settings.identity) == {
        "output_dir",
        "run_name",
        "checkpoint_every",
        "data_dir",
        "tff_clients_at_once",
        "num_workers",
        "ray_address",
        "round_timeout",
    }
    assert json.loads(json.dumps(settings.identity)) == settings.identity


BELOW_1 = "above 0 and below 1"
BAD: list[tuple[str, Any, str]] = [
    ("task", "imagenet", "must be one of synthetic, synthetic_linear, cifar100"),
    ("algorithm", "fedsgd", "must be one of fedavg, fedadam, f3ast, f3ast_adam, f3ast_fixed"),
    ("availability", "never", "must be one of always, scarce, home_devices, smartphones, uneven"),
    ("reading", "mine", "must be one of paper, released, ca_fed"),
    ("rate_init", "zero", "must be one of k_over_n, p, one_over_n"),
    ("num_clients", 0, "at least 1"),
    ("num_clients", 9, "at most num_clients, 9"),
    ("clients_per_round", 0, "at least 1"),
    ("clients_per_round", -3, "at least 1"),
    ("clients_per_round", 101, "at most num_clients, 100"),
    ("rounds", 0, "at least 1"),
    ("eval_every", 0, "at least 1"),
    ("checkpoint_every", 0, "at least 1"),
    ("batch_size", 0, "at least 1"),
    ("local_epochs", 0, "at least 1"),
    ("local_steps", 0, "at least 1"),
    ("seed", -1, "at least 0"),
    ("data_seed", -1, "at least 0"),
    ("poc_clip_norm", -0.5, "at least 0"),
    *[("rate_beta", value, BELOW_1) for value in (0.0, 1.0, 2.0, -0.1, NAN, INF)],
    *[("client_lr", value, "above 0") for value in (0.0, -0.1, NAN, INF)],
    *[("server_lr", value, "above 0") for value in (0.0, -0.1, NAN, INF)],
    *[("synthetic_alpha", value, "at least 0") for value in (-1.0, NAN, INF)],
    *[("synthetic_beta", value, "at least 0") for value in (-1.0, NAN, INF)],
    *[("run_name", value, "the name of one folder") for value in ("", ".", "..", "a/b", "/a")],
    ("learning_rate", 0.1, "there is no such setting"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD, ids=lambda part: str(part)[:20])
def test_bad_value_is_named_with_what_is_allowed(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(SettingError) as caught:
        resolve({name: value})
    message = str(caught.value)
    # K > N is said of K, which has a default, whichever of the two was given.
    said = "clients_per_round" if "num_clients" in allowed else name
    assert message.startswith(f"--{said}={10 if said != name else value}: ")
    assert allowed in message
    assert "\n" not in message
    assert caught.value.setting == said


def test_every_number_refuses_what_is_not_one() -> None:
    """NaN compares false with every bound; a declaration that forgets it would let it through."""
    numbers = [spec.name for spec in fields(Settings) if spec.metadata["kind"] is not str]
    assert len(numbers) > 15
    for name in numbers:
        for value in (NAN, INF, -INF):
            with pytest.raises(SettingError, match=f"--{name}="):
                resolve({name: value})


def test_every_listed_choice_resolves() -> None:
    required = {
        "trace": {"trace_file": "x.json"},
        "table": {"table_file": "x.npy"},
        "product": {"availability_parts": "scarce,uneven"},
        "mix": {"availability_parts": "scarce,uneven"},
    }
    for spec in fields(Settings):
        for value in spec.metadata["choices"] or ():
            given = {spec.name: value, **required.get(value, {})}
            if spec.metadata["tasks"]:
                given["task"] = spec.metadata["tasks"][0]
            if spec.name == "model":
                given["task"] = next(name for name, task in TASKS.items() if value in task.models)
            if spec.name == "tff_runtime":
                given["engine"] = "tff"
            if spec.name.startswith(("markov_", "trace_")):
                process = spec.name.split("_")[0]
                given.update(availability=process, **required.get(process, {}))
            assert getattr(resolve(given), spec.name) == value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scarce_q": 0.3}, "--scarce_q=0.3: is not of the availability, home_devices"),
        ({"availability": "trace"}, "--trace_file=None: must be given"),
        ({"availability": "product"}, "--availability_parts=None: must be given"),
        (
            {"availability": "mix", "availability_parts": "scarce,never"},
            "--availability_parts=scarce,never: must be names among always, scarce",
        ),
    ],
)
def test_parameters_of_availability_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        resolve(given)
    assert str(error.value).startswith(message)


def test_power_of_choice_needs_as_many_candidates_as_clients() -> None:
    with pytest.raises(SettingError, match=r"--poc_candidates=9: .*at least clients_per_round, 10"):
        resolve({"algorithm": "poc", "poc_candidates": 9})
    assert resolve({"algorithm": "poc", "poc_candidates": 10}).poc_candidates == 10
    assert resolve({"algorithm": "f3ast", "poc_candidates": 9}).poc_candidates == 9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"algorithm": "f3ast_fixed", "communication": "cycle:5,10"},
            "--communication=cycle:5,10: f3ast_fixed has its policy for a fixed K: "
            "--clients_per_round",
        ),
        (
            {"algorithm": "f3ast_fixed", "reading": "released"},
            "--aggregate=sum_over_k: must be sum for f3ast_fixed",
        ),
        (
            {
                "algorithm": "fedavg",
                "communication": "bytes:5e6",
                "baseline_sampling": "with_replacement",
            },
            "--baseline_sampling=with_replacement: must be without_replacement under a budget in "
            "bytes",
        ),
        (
            {"communication": "bytes:5e6", "short_rounds": "fill_unavailable"},
            "--short_rounds=fill_unavailable: must be available_only under a budget in bytes",
        ),
        (
            {"rate_clusters": 4, "ties": "lowest_id"},
            "--ties=lowest_id: must be random with rate_clusters",
        ),
    ],
)
def test_what_a_selection_would_pass_over_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        resolve(given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"availability": "scarce"},
            "--availability=scarce: must be always for sequential_sgd, which has one client",
        ),
        (
            {"clients_per_round": 10},
            "--clients_per_round=10: must be 1 for sequential_sgd, which has one client",
        ),
        (
            {"communication": "cycle:1,2"},
            "--communication=cycle:1,2: is not of sequential_sgd, which has one client",
        ),
    ],
)
def test_one_client_who_holds_all_is_always_there(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        resolve({"algorithm": "sequential_sgd", **given})
    assert str(error.value) == message
    settings = resolve({"algorithm": "sequential_sgd"})
    assert (settings.availability, settings.clients_per_round) == ("always", 1)
    assert settings.run_name == "synthetic-sequential_sgd-always-paper-seed0"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tff_runtime": "tf"}, "--tff_runtime=tf: is of --engine=tff"),
        (
            {"engine": "tff", "num_workers": 2},
            "--num_workers=2: needs --tff_runtime=ray with --engine=tff",
        ),
        ({"ray_address": "auto"}, "--ray_address=auto: is of --num_workers"),
        (
            {"round_timeout": 5.0},
            "--round_timeout=5.0: is of --num_workers or --engine=tff with TFF's worker",
        ),
        (
            {"engine": "tff", "device": "gpu"},
            "--device=gpu: TFF's worker trains on the CPU alone: --tff_runtime=tf",
        ),
        (
            {"engine": "tff", "tff_runtime": "tf", "tff_clients_at_once": 3},
            "--tff_clients_at_once=3: is of --tff_runtime=worker; the others train one client "
            "after the other",
        ),
        ({"algorithm": "fedlaavg", "num_workers": 2}, "--num_workers=2: is not of fedlaavg"),
        (
            {"algorithm": "fedlaavg", "engine": "tff", "tff_runtime": "tf"},
            "--tff_runtime=tf: must be worker for fedlaavg, which needs each client's update",
        ),
    ],
)
def test_what_the_engine_would_pass_over_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        resolve(given)
    assert str(error.value) == message


def test_ray_has_two_workers_if_not_told() -> None:
    assert resolve({"engine": "tff", "tff_runtime": "ray"}).num_workers == 2
    assert resolve({}).num_workers is None


def test_fedlaavg_takes_over_half_way() -> None:
    assert resolve({"algorithm": "fedavg_then_fedlaavg", "rounds": 100}).switch_round == 51
    assert resolve({"rounds": 100, "switch_round": 7}).switch_round == 7


def test_learning_rate_does_not_grow() -> None:
    with pytest.raises(SettingError, match=r"--client_lr_decay=1.1: must be .*at most 1"):
        resolve({"client_lr_decay": 1.1})


def test_k_may_be_all_clients() -> None:
    assert resolve({"num_clients": 10}).clients_per_round == 10


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
        ({"task": "cifar10"}, {"ridge": 0.0, "model": "cafed_cnn", "batch_size": 32}),
        ({"task": "leaf_synthetic"}, {"synthetic_alpha": 0.5, "synthetic_beta": 0.5}),
    ],
)
def test_published_values_of_the_tasks(given: dict[str, Any], expected: dict[str, Any]) -> None:
    resolved = resolve(given).as_dict()
    assert {name: resolved[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dirichlet_s": 0.5}, "--dirichlet_s=0.5: is of mnist, cifar10; the task is synthetic"),
        (
            {"task": "mnist", "augmentation": "none"},
            "--augmentation=none: is of cifar100; the task is mnist",
        ),
        (
            {"task": "shakespeare", "model": "resnet18"},
            "--model=resnet18: must be one of character_lstm for shakespeare",
        ),
        (
            {"task": "mnist", "model": "cafed_cnn", "ridge": 0.1},
            "--ridge=0.1: must be 0 for cafed_cnn",
        ),
    ],
)
def test_settings_of_another_task_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        resolve(given)
    assert str(error.value) == message
