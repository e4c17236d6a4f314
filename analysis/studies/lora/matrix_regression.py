"""Regression of one matrix per client by LoRA, under four laws of who is there with the same pi_k.

f3ast-tff run --plugin=matrix_regression.py --task=matrix_regression --availability=together \
  --train=lora --factors=fedex
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability import AvailabilityConfig, IndependentAvailability, Markov
from f3ast_tff.availability.process import AvailabilityProcess
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.datasets import TaskConfig
from f3ast_tff.models import ModelConfig, PureModel, lora
from f3ast_tff.settings import parameter, register

SIDE = 20
EXAMPLES = 60
RANK = 4


def chances(num_clients: int) -> np.ndarray:
    """Returns pi_k, from .05 for the first client to .9 for the last, evenly; `float64 [N]`."""
    return np.linspace(0.05, 0.9, num_clients)


@register("task", "matrix_regression", "Matrix regression", about="y = W_k x, of rank 4")
@dataclass(frozen=True)
class MatrixRegressionConfig(TaskConfig):
    """W_k = U (S + H_k) V^T, with U and V orthonormal `[20, 4]`.

    H_k is `matrix_spread` times noise, and `matrix_trend` times a direction and a number that falls
    from sqrt(3) for the first client to -sqrt(3) for the last, as `chances` rises. So all W_k, and
    their mean, are within LoRA's reach, and clients that are seldom there differ from the others.
    """

    model: ClassVar[str] = "matrix_lora"
    published: ClassVar[Mapping[str, Any]] = {
        "num_clients": 20,
        "rounds": 200,
        "batch_size": 20,
        "client_lr": 0.1,
    }

    matrix_trend: float = parameter(0.5, "what differs by how often clients are there", minimum=0)
    matrix_spread: float = parameter(0.5, "what differs by chance", minimum=0)

    def build(self) -> FederatedData:
        """Generates 60 examples a client, with noise of deviation .1; a third are for testing."""
        rng = generator(self.data_seed, "matrix regression")
        left, right = (np.linalg.qr(rng.normal(size=(SIDE, RANK)))[0] for _ in range(2))
        trend = np.linspace(3**0.5, -(3**0.5), self.num_clients)
        core, along = rng.normal(size=(2, RANK, RANK))
        own = self.matrix_spread * rng.normal(size=(self.num_clients, RANK, RANK))
        cores = core + own + self.matrix_trend * trend[:, None, None] * along
        clients = np.repeat(np.arange(self.num_clients), EXAMPLES)
        inputs = rng.normal(size=(len(clients), SIDE))
        outputs = np.einsum("ni,nij->nj", inputs, (left @ cores @ right.T)[clients])
        outputs += rng.normal(0, 0.1, outputs.shape)
        return FederatedData.from_arrays(
            inputs, outputs, clients, test=1 / 3, seed=self.data_seed, num_classes=0
        )


@dataclass(frozen=True)
class _Zeros:
    """The base W_0 = 0."""

    shape: tuple[int, int]

    def __call__(self, seed: int) -> dict[str, np.ndarray]:
        return {"kernel": np.zeros(self.shape, np.float32)}


def _apply(weights: Any, inputs: Any) -> Any:
    return inputs @ weights["kernel"]


def _squares(outputs: Any, labels: Any) -> Any:
    return (outputs - labels) ** 2


@register("model", "matrix_lora", "Matrix with LoRA", about="W_0 + B A, of rank 4")
@dataclass(frozen=True)
class MatrixLoraConfig(ModelConfig):
    """A linear map with factors around it."""

    engines: ClassVar[tuple[str, ...]] = ("fused",)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Any:
        """Builds the map; `num_classes` is the number of outputs."""
        base = PureModel(_Zeros((int(np.prod(input_shape)), num_classes)), _apply, loss=_squares)
        return lora(base, rank=RANK, leaves="kernel", alpha=RANK)


class _Common:
    """One draw u decides for all clients in a round; pi_k is the share of u at which k is there."""

    periodic = False

    def __init__(self, num_clients: int, seed: int, together: bool) -> None:
        self.num_clients = num_clients
        self.stationary = chances(num_clients)
        self.positively_correlated = together
        self._seed = seed
        ends = np.cumsum(self.stationary)
        self._starts = np.zeros(num_clients) if together else ends - self.stationary

    def mask(self, round_number: int) -> np.ndarray:
        """Client k is there if a point u + n, n whole, lies in [start_k, start_k + pi_k)."""
        draw = generator(self._seed, "common", round_number).random()
        return np.asarray((draw - self._starts) % 1 < self.stationary)


@register("availability", "together", "Together", about="who is there seldom comes with all others")
@dataclass(frozen=True)
class TogetherConfig(AvailabilityConfig):
    """u < pi_k: the covariance C_ij = min(pi_i, pi_j) - pi_i pi_j is the largest possible."""

    positively_correlated: ClassVar[bool] = True

    def build(self, p: np.ndarray, seed: int) -> AvailabilityProcess:
        """Returns the process."""
        return _Common(len(p), seed, together=True)


@register("availability", "by_turns", "By turns", about="as many clients in every round")
@dataclass(frozen=True)
class ByTurnsConfig(AvailabilityConfig):
    """Systematic sampling: clients side by side on a line of length sum pi_k, points 1 apart."""

    def build(self, p: np.ndarray, seed: int) -> AvailabilityProcess:
        """Returns the process."""
        return _Common(len(p), seed, together=False)


@register("availability", "independent", "Independent", about="each client for itself")
@dataclass(frozen=True)
class IndependentConfig(AvailabilityConfig):
    """C is diagonal."""

    def build(self, p: np.ndarray, seed: int) -> AvailabilityProcess:
        """Returns the process."""
        return IndependentAvailability(chances(len(p)), seed)


@register("availability", "persistent", "Persistent", about="chains of correlation .8")
@dataclass(frozen=True)
class PersistentConfig(AvailabilityConfig):
    """Independent chains, rho = .8 from round to round: of a round the law is `independent`'s."""

    def build(self, p: np.ndarray, seed: int) -> AvailabilityProcess:
        """Returns the process."""
        return Markov(chances(len(p)), np.full(len(p), 0.8), seed)
