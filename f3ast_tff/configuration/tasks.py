"""The tasks by name: who holds which data, what a model reads of it, and which models fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from f3ast_tff import datasets
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.models import (
    CharacterLSTM,
    Model,
    ResNet18,
    SoftmaxRegression,
    cafed_cnn,
    fedlaavg_cnn,
)
from f3ast_tff.preprocessing import AsStored, ImageCrops, Inputs, ScaledPixels

if TYPE_CHECKING:
    from f3ast_tff.configuration.settings import Settings


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        data: Builds its data.
        models: The models that fit, the published one first.
        inputs: From its features to what a model reads.
        tff_clients_at_once: Clients that TFF's worker trains at the same time by default, -1 for
            all; few where a client's training takes much memory.
    """

    data: Callable[[Settings], FederatedData]
    models: tuple[str, ...]
    inputs: Callable[[Settings], Inputs] = lambda settings: AsStored()
    tff_clients_at_once: int = -1


def _softmax_regression(s: Settings, data: FederatedData) -> Model:
    shape = data.train.features.shape[1:]
    return SoftmaxRegression(math.prod(shape), data.num_classes, s.ridge, input_shape=shape)


def _image_shape(data: FederatedData) -> tuple[int, int, int]:
    rows, columns, channels = data.train.features.shape[1:]
    return rows, columns, channels


MODELS: dict[str, Callable[[Settings, FederatedData], Model]] = {
    "softmax_regression": _softmax_regression,
    "resnet18": lambda s, data: ResNet18(s.resnet_variant, num_classes=data.num_classes),
    "character_lstm": lambda s, data: CharacterLSTM(data.num_classes),
    "cafed_cnn": lambda s, data: cafed_cnn(_image_shape(data), data.num_classes),
    "fedlaavg_cnn": lambda s, data: fedlaavg_cnn(_image_shape(data), data.num_classes),
}


def _from(
    redrawn: Callable[[Settings], FederatedData], tffs: Callable[[Path], FederatedData]
) -> Callable[[Settings], FederatedData]:
    return lambda s: tffs(Path(s.data_dir)) if s.client_split == "tff" else redrawn(s)


TASKS: dict[str, Task] = {
    "synthetic": Task(
        lambda s: datasets.synthetic(
            s.num_clients, s.synthetic_alpha, s.synthetic_beta, s.data_seed
        ),
        ("softmax_regression",),
    ),
    "synthetic_linear": Task(
        lambda s: datasets.synthetic_linear(s.num_clients, s.data_seed), ("softmax_regression",)
    ),
    "cifar100": Task(
        _from(
            lambda s: datasets.cifar100(Path(s.data_dir), s.num_clients, seed=s.data_seed),
            datasets.cifar100_from_tff,
        ),
        ("resnet18",),
        lambda s: ImageCrops(32, 24, s.augmentation == "random", s.seed),
        tff_clients_at_once=1,
    ),
    "shakespeare": Task(
        _from(
            lambda s: datasets.shakespeare(Path(s.data_dir), s.num_clients),
            datasets.shakespeare_from_tff,
        ),
        ("character_lstm",),
        tff_clients_at_once=1,
    ),
    "leaf_synthetic": Task(
        lambda s: datasets.leaf_synthetic(
            s.num_clients, s.synthetic_alpha, s.synthetic_beta, s.data_seed
        ),
        ("softmax_regression",),
    ),
    "mnist": Task(
        lambda s: datasets.mnist(
            Path(s.data_dir),
            s.num_clients,
            s.dirichlet_s,
            s.data_seed,
            num_groups=s.dirichlet_groups,
        ),
        ("softmax_regression", "cafed_cnn", "fedlaavg_cnn"),
        lambda s: ScaledPixels(),
    ),
    "cifar10": Task(
        lambda s: datasets.cifar10(Path(s.data_dir), s.num_clients, s.dirichlet_s, s.data_seed),
        ("cafed_cnn", "fedlaavg_cnn", "softmax_regression"),
        lambda s: ScaledPixels(-1.0, 1.0),
    ),
    "cifar10_one_class": Task(
        lambda s: datasets.cifar10_one_class(
            Path(s.data_dir), s.num_clients, s.size_spread, s.data_seed
        ),
        ("fedlaavg_cnn", "cafed_cnn", "softmax_regression"),
        lambda s: ScaledPixels(-1.0, 1.0),
    ),
}
