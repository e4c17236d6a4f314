"""A task and a JAX model for it: two moons, turned by another angle for each client.

f3ast-tff run --plugin=moons.py --task=moons --hidden_units=32
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.datasets import TaskConfig
from f3ast_tff.models import ModelConfig, PureModel
from f3ast_tff.settings import parameter, register


@register("task", "moons", "Two moons", about="two half circles, turned at each client")
@dataclass(frozen=True)
class MoonsConfig(TaskConfig):
    """Configuration of the task."""

    model: ClassVar[str] = "small_mlp"
    published: ClassVar[Mapping[str, Any]] = {
        "num_clients": 40,
        "rounds": 60,
        "batch_size": 10,
        "client_lr": 0.1,
    }

    moons_turn: float = parameter(0.5, "spread of the angles", minimum=0, units="radians")

    def build(self) -> FederatedData:
        """Generates the data, 60 points per client."""
        rng = generator(self.data_seed, "moons")
        clients = np.repeat(np.arange(self.num_clients), 60)
        labels = rng.integers(2, size=len(clients))
        angle = rng.uniform(0, np.pi, len(clients)) + np.pi * labels
        moons = np.stack([np.cos(angle) + labels, np.sin(angle) + 0.5 * labels], axis=1)
        moons += rng.normal(0, 0.1, moons.shape)
        turn = rng.normal(0, self.moons_turn, self.num_clients)[clients]
        x = moons[:, 0] * np.cos(turn) - moons[:, 1] * np.sin(turn)
        y = moons[:, 0] * np.sin(turn) + moons[:, 1] * np.cos(turn)
        features = np.stack([x, y], axis=1).astype(np.float32)
        return FederatedData.from_arrays(features, labels, clients, test=0.2, seed=self.data_seed)


@dataclass(frozen=True)
class _Start:
    """Initial weights of a network with one hidden layer."""

    units: tuple[int, ...]

    def __call__(self, seed: int) -> dict[str, dict[str, np.ndarray]]:
        rng = generator(seed, "initial weights")
        pairs = enumerate(zip(self.units, self.units[1:]))
        return {
            f"layer{i}": {
                "kernel": rng.normal(0, n**-0.5, (n, m)).astype(np.float32),
                "bias": np.zeros(m, np.float32),
            }
            for i, (n, m) in pairs
        }


def _apply(weights: Any, inputs: Any) -> Any:
    import jax

    hidden = jax.nn.relu(inputs @ weights["layer0"]["kernel"] + weights["layer0"]["bias"])
    return hidden @ weights["layer1"]["kernel"] + weights["layer1"]["bias"]


@register("model", "small_mlp", "Small MLP", about="one hidden layer, in JAX alone")
@dataclass(frozen=True)
class SmallMLPConfig(ModelConfig):
    """Configuration of the network."""

    engines: ClassVar[tuple[str, ...]] = ("fused",)

    hidden_units: int = parameter(16, "units of the hidden layer", minimum=1)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> PureModel:
        """Builds the network for inputs of a shape."""
        return PureModel(
            _Start((int(np.prod(input_shape)), self.hidden_units, num_classes)), _apply
        )
