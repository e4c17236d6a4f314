"""Declarations of tasks, the effect of their parameters, halves, and settings that do not fit."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.preprocessing import AsStored, ImageCrops, ScaledPixels
from f3ast_tff.datasets.cifar_files import CifarFiles
from f3ast_tff.datasets.mnist_files import MnistFiles
from f3ast_tff.datasets.task import TaskConfig
from f3ast_tff.run.build import Builder
from f3ast_tff.settings import Derived, Published, builtin_registry
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.resolve import resolve

TASKS = {name: c.config for name, c in builtin_registry().components["task"].items()}
# Per task, settings that fit the small files, and a second value of each parameter.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "synthetic": (
        {"num_clients": 3, "synthetic_alpha": 1.0, "synthetic_beta": 1.0},
        {
            **{"num_clients": 4, "data_seed": 1, "synthetic_beta": 0.5},
            **{"data_generator": "legacy", "size_limit": 60},
        },
    ),
    "synthetic_linear": ({"num_clients": 3}, {"num_clients": 4, "data_seed": 1}),
    "cifar100": (
        {"num_clients": 50},
        {"num_clients": 40, "data_seed": 1, "client_split": "tff", "augmentation": "none"},
    ),
    # Clients are not drawn here: `data_seed` only draws the test clients.
    "shakespeare": ({"num_clients": 3}, {"num_clients": 2, "client_split": "tff"}),
    "leaf_synthetic": (
        {"num_clients": 3, "synthetic_alpha": 0.5, "synthetic_beta": 0.5},
        {
            **{"num_clients": 4, "data_seed": 1, "synthetic_beta": 1.0},
            **{"feature_spread": "variance", "client_sizes": "even"},
        },
    ),
    "mnist": (
        {"num_clients": 4},
        {"num_clients": 5, "data_seed": 1, "dirichlet_s": 5.0, "dirichlet_groups": 2},
    ),
    "cifar10": (
        {"num_clients": 4},
        {
            **{"num_clients": 5, "data_seed": 1, "dirichlet_s": 5.0},
            **{"dirichlet_draws": "classes_of_client"},
        },
    ),
    "cifar10_one_class": (
        {"num_clients": 20},
        {"num_clients": 10, "data_seed": 1, "size_spread": 0.4},
    ),
}
# Parameters read where data are used, given in each case, or tested separately.
ELSEWHERE = {"test_clients", "held_out_clients", "own_test", "data_dir", "synthetic_alpha"}
ELSEWHERE |= {"partition", "label_counts", "scale", "client_half"}


@pytest.mark.parametrize("task", CASES)
def test_every_parameter_reaches_the_data_or_what_a_model_reads(
    task: str, all_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitting, others = CASES[task]
    config = TASKS[task]
    names = {parameter.name for parameter in config.component.parameters}
    seedless = {"data_seed"} if task == "shakespeare" else set()
    assert names - ELSEWHERE - seedless == set(others)
    for name in ("cifar100", "shakespeare"):
        tffs = FederatedData.from_arrays([[7], [8]], [0, 1], [0, 1], test=None)
        monkeypatch.setattr(f"f3ast_tff.datasets.{name}.{name}_from_tff", lambda folder, d=tffs: d)
    if "data_dir" in names:
        fitting = {**fitting, "data_dir": str(all_files)}

    def outcome(**given: Any) -> tuple[str, Any]:
        built = config(**{**fitting, **given})
        return built.build().sha256(), built.preprocessing(3)

    first = outcome()
    shutil.rmtree(all_files / "prepared", ignore_errors=True)
    assert outcome() == first
    classes = config(**fitting).build().num_classes
    # The small CIFAR-100 has 20 of its 100 classes.
    assert config.num_classes == {"synthetic_linear": None, "cifar100": 100}.get(task, classes)
    for name, value in others.items():
        assert outcome(**{name: value}) != first, name


@pytest.mark.parametrize("task", ["synthetic", "leaf_synthetic"])
def test_synthetic_alpha_reaches_the_generator(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """alpha moves no label: it is the deviation of the second array of N normals."""
    asked: list[float] = []

    class Watching(np.random.Generator):
        def normal(self, *arguments: Any, **named: Any) -> Any:
            asked.append(arguments[1] if len(arguments) > 1 else 1.0)
            return super().normal(*arguments, **named)

    monkeypatch.setattr(
        "f3ast_tff.datasets.synthetic.generator", lambda *_: Watching(np.random.PCG64(0))
    )
    TASKS[task](num_clients=3, synthetic_alpha=0.25, synthetic_beta=0.75).build()
    assert asked[:2] == [0.25, 0.75]


def test_a_seed_that_the_legacy_generator_does_not_take_is_refused() -> None:
    for data_seed, data_generator in ((2**32 - 1, "legacy"), (2**32, "generator")):
        TASKS["synthetic"](data_seed=data_seed, data_generator=data_generator).check(
            Settings.of({})
        )
    with pytest.raises(ParameterError, match="data_seed = 4294967296: must be at most 4294967295"):
        TASKS["synthetic"](data_seed=2**32, data_generator="legacy").check(Settings.of({}))


def test_what_models_read() -> None:
    """The run's seed draws the crops."""
    expected = {"cifar100": ImageCrops(32, 24, True, 5), "mnist": ScaledPixels()}
    expected |= dict.fromkeys(("cifar10", "cifar10_one_class"), ScaledPixels(-1.0, 1.0))
    for name, config in TASKS.items():
        assert config().preprocessing(5) == expected.get(name, AsStored())
    assert TASKS["cifar100"](augmentation="none").preprocessing(5) == ImageCrops(32, 24, False, 5)


MODELS = {
    "cifar100": "resnet18",
    "shakespeare": "character_lstm",
    "cifar10": "cafed_cnn",
    "cifar10_one_class": "fedlaavg_cnn",
}


def test_each_task_has_the_model_of_its_publication() -> None:
    for name, config in TASKS.items():
        assert config.model == MODELS.get(name, "softmax_regression")
        assert config.tff_clients_at_once == (1 if name in ("cifar100", "shakespeare") else -1)


def test_published_values_are_of_settings_that_look_for_them() -> None:
    """A published value without a parameter that asks for it would be useless."""
    asked = {
        p.name
        for component in builtin_registry().all()
        for p in component.parameters
        if isinstance(p.default, Published)
    } | {"rounds", "batch_size", "last_batch"}
    for name, config in TASKS.items():
        assert set(config.published) <= asked, name
        for value in config.published.values():
            if isinstance(value, dict):
                assert set(value) == {"sgd", "adam", "yogi", "adagrad"}, name


def test_names_are_in_the_papers_order() -> None:
    assert list(TASKS) == [*CASES, "file"]
    assert TASKS["mnist"].component.display == "MNIST"


def test_the_default_folder_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    (parameter,) = (p for p in TASKS["mnist"].component.parameters if p.name == "data_dir")
    assert isinstance(parameter.default, Derived)
    assert parameter.default.compute(None) == "/caches/f3ast_tff"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "tested", "says"),
    [
        ([0, 1, 2], 0, "task = synthetic: has no test examples"),
        ([0, 1, 7], 2, "task = synthetic: labels .* client 1 has 7"),
    ],
)
def test_examples_that_no_task_has(
    labels: list[int], tested: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels of any data are checked here, also a plug-in's: `FederatedData` knows no task name."""

    def build(config: Any) -> FederatedData:
        part = ClientExamples(np.zeros((3, 2)), np.array(labels), np.array([0, 2, 3]))
        return FederatedData(part, part.take(np.arange(tested)), 3)

    monkeypatch.setattr(TASKS["synthetic"], "build", build)
    with pytest.raises(ParameterError, match=says):
        _ = Builder(resolve({"task": "synthetic", "num_clients": 2, "clients_per_round": 1})).data


N = 7


def data(own_tests: bool = True) -> FederatedData:
    """Features name the client; test clients are the same, or others."""
    clients = np.repeat(np.arange(N), 3)
    train = FederatedData.from_arrays(clients[:, None], clients % 2, clients, test=None)
    others = FederatedData.from_arrays(clients[:, None], clients % 2, clients + 100, test=None)
    return FederatedData(train.train, (train if own_tests else others).train, 2)


def drawn(
    half: str, seed: int = 0, *, own_tests: bool = True, pooled: bool = False
) -> FederatedData:
    config = TaskConfig(num_clients=N, client_half=half, data_seed=seed)
    return config.drawn(data(own_tests), pooled=pooled)


def clients_of(features: np.ndarray) -> set[int]:
    return set(features[:, 0].astype(int).tolist())


def test_the_halves_share_no_client() -> None:
    first, second = drawn("first"), drawn("second")
    of = [clients_of(each.train.features) for each in (first, second)]
    assert [len(each) for each in of] == [3, 4] and of[0] | of[1] == set(range(N))
    for half, clients in zip((first, second), of):
        assert clients_of(half.test.features) == clients
        assert half.scored_clients() == (len(clients), len(clients))
    assert clients_of(drawn("first", 1).train.features) != of[0]
    pooled = drawn("first", pooled=True)
    assert pooled.train.num_clients == 1 and clients_of(pooled.train.features) == of[0]


def test_other_test_clients_stay() -> None:
    assert drawn("first", own_tests=False).test.num_clients == N


def test_one_client_has_no_halves() -> None:
    config = TaskConfig(client_half="first")
    with pytest.raises(ParameterError, match="^client_half = first: needs two clients or more$"):
        config.drawn(FederatedData.from_arrays([[1], [2]], [0, 1], [0, 0], test=None), pooled=False)


# CIFAR-10 has 200 training images, 20 per class; MNIST has 160 after a fifth is set aside. With one
# class per client the smallest share is 0.6 / 1.4 of the largest, so 8 clients per class.
NOT_FITTING: list[tuple[str, dict[str, Any], str]] = [
    ("synthetic_linear", {"num_clients": 5001}, "num_clients = 5001: must be at most 5000"),
    ("cifar10", {"num_clients": 201}, "num_clients = 201: must be from 1 to 200"),
    ("cifar10_one_class", {"num_clients": 15}, "num_clients = 15: must be a multiple of 10"),
    ("cifar10_one_class", {"num_clients": 90}, "num_clients = 90: must be a multiple of 10"),
    ("cifar100", {"num_clients": 499}, "num_clients = 499: must divide 400"),
    ("mnist", {"num_clients": 161}, "num_clients = 161: must be from 1 to 160"),
    ("mnist", {"num_clients": 8, "dirichlet_groups": 9}, "dirichlet_groups = 9: must be at most"),
]


def sizes(name: str, folder: Path, **given: Any) -> list[int]:
    config = builtin_registry().find("task", name).config
    if hasattr(config, "folder"):
        given["data_dir"] = str(folder)
    return config(**given).build().train.sizes.tolist()


@pytest.mark.parametrize(("name", "given", "message"), NOT_FITTING)
def test_settings_that_do_not_fit_are_named(
    name: str,
    given: dict[str, Any],
    message: str,
    tmp_path: Path,
    cifar10_files: CifarFiles,
    cifar100_files: CifarFiles,
    mnist_files: MnistFiles,
) -> None:
    with pytest.raises(ParameterError, match=message):
        sizes(name, tmp_path, **given)


def test_fewer_images_than_clients_and_just_enough(
    tmp_path: Path, cifar10_files: CifarFiles
) -> None:
    assert min(sizes("cifar10_one_class", tmp_path, num_clients=80)) >= 1
    (tmp_path / "cifar-10-batches-py/data_batch_5").unlink()
    assert sizes("cifar10", tmp_path, num_clients=160) == [1] * 160
    with pytest.raises(ParameterError, match="num_clients = 161"):
        sizes("cifar10", tmp_path, num_clients=161)
