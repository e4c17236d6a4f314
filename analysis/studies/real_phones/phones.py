"""Plug-in of the study: three regimes of real phones, MNIST-1D, and a network of one hidden layer.

The traces are not part of the project: `trace_file` says where they are expected. A regime is one
file, whose SHA-256 stands here, so that runs can be planned and tables made without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.advice.trial_tasks import mnist1d_data
from f3ast_tff.availability import TraceConfig
from f3ast_tff.availability.logs.device_traces import DeviceTraces
from f3ast_tff.core.errors import DataError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.randomness import generator
from f3ast_tff.datasets import TaskConfig
from f3ast_tff.models import PureModel
from f3ast_tff.models.model import ModelConfig
from f3ast_tff.settings import parameter, register

_FILE = "the regime's traces"
# Examples of a client: lognormal with these parameters, plus the fewest, at most the most.
_LOG_MEAN, _LOG_DEVIATION, _FEWEST, _MOST = 4.0, 1.0, 20, 1000


@dataclass(frozen=True)
class Phones(TraceConfig):
    """Base of the regimes: traces of one file.

    Attributes:
        sha256: SHA-256 of the file; another file is refused.
    """

    sha256: ClassVar[str]

    def _traces(self) -> DeviceTraces:
        path = Path(self.trace_file)
        if not path.is_file():
            raise DataError(f"{path}: there is no such file; see page.md")
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise DataError(f"{path}: must have the SHA-256 {self.sha256}")
        return super()._traces()


@register("availability", "flash_ready_1000", about="710 phones: locked, on Wi-Fi and charging")
@dataclass(frozen=True)
class FlashReady(Phones):
    """FLASH's phones, ready where FLASH lets a device train, in rounds of ten minutes.

    Each phone's window of observation repeats, in whole days; outside of it nothing is known.
    Round 1 is at day 28 of FLASH's clock, when most windows have begun.
    """

    sha256: ClassVar[str] = "a4b0f08431e07174abfc86ce01d07904877880fa069a7deae52ae9b13141ef98"

    trace_file: str = parameter(
        "availability_traces/flash_ready_1000.json", _FILE, decides_result=False, is_path=True
    )
    trace_round_seconds: int = parameter(600, "length of a round", minimum=1, units="seconds")
    trace_start: float = parameter(2_419_200.0, "time of round 1", units="seconds")
    trace_days: float = parameter(
        7.0, "length of the part of the trace to repeat", above=0, units="days"
    )


@register("availability", "flash300_6d", about="300 phones of FLASH: charging")
@dataclass(frozen=True)
class Flash300(Phones):
    """300 of FLASH's phones while they charge, in rounds of ten minutes; five days repeat."""

    sha256: ClassVar[str] = "87163d224a8ab3328f58342a7135fc31041986bdf8289977cc31d7e4ae8990db"

    trace_file: str = parameter(
        "availability_traces/flash300_6d.json", _FILE, decides_result=False, is_path=True
    )
    trace_states: str = parameter("2st", "which list of states, where a device has several")
    trace_eligible: str = parameter("AVL_TRAIN", "states to train in, as charging+wifi,idle")
    trace_round_seconds: int = parameter(600, "length of a round", minimum=1, units="seconds")


@register("availability", "fedscale300", about="300 phones of FedScale, rescaled to 48 hours")
@dataclass(frozen=True)
class FedScale300(Phones):
    """300 of FedScale's phones, whose windows were rescaled to 48 hours; 1.9 days repeat.

    The first round, in which all phones are on, and the end, after which none is off, are left out.
    """

    sha256: ClassVar[str] = "8293fd5a0051eb5cb98820fbf3d3321db26fea3385b00807229d97252611c974"

    trace_file: str = parameter(
        "availability_traces/fedscale300_48h.json", _FILE, decides_result=False, is_path=True
    )
    trace_round_seconds: int = parameter(228, "length of a round", minimum=1, units="seconds")
    trace_start: float = parameter(228.0, "time of round 1", units="seconds")
    trace_days: float = parameter(
        1.9, "length of the part of the trace to repeat", above=0, units="days"
    )


@register("task", "mnist1d", "MNIST-1D", about="MNIST-1D, labels by Dirichlet(0.3) per client")
@dataclass(frozen=True)
class Mnist1d(TaskConfig):
    """`mnist1d_data`, for clients of int(lognormal(4, 1)) + 20 examples, at most 1000."""

    published: ClassVar[Mapping[str, Any]] = {"rounds": 1000, "client_lr": 0.1}
    model: ClassVar[str] = "one_hidden_layer"
    generates_data: ClassVar[bool] = True
    num_classes: ClassVar[int | None] = 10

    def build(self) -> FederatedData:
        rng = generator(self.data_seed, "MNIST-1D sizes")
        sizes = rng.lognormal(_LOG_MEAN, _LOG_DEVIATION, self.num_clients).astype(np.int64)
        return mnist1d_data(np.minimum(sizes + _FEWEST, _MOST), self.data_seed)


def _initial_weights(seed: int, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """He's normal kernels and biases of 0, `float32`."""
    rng = generator(seed, "initial weights")
    kernels = [rng.normal(0, np.sqrt(2 / shape[0]), shape) for shape in shapes]
    arrays = [array for kernel in kernels for array in (kernel, np.zeros(kernel.shape[1]))]
    return [array.astype(np.float32) for array in arrays]


def _logits(weights: Any, inputs: Any) -> Any:
    kernel, bias, last, last_bias = weights
    hidden = inputs @ kernel + bias
    return (hidden * (hidden > 0)) @ last + last_bias


@register("model", "one_hidden_layer", "One hidden layer", about="64 ReLUs between two layers")
@dataclass(frozen=True)
class OneHiddenLayer(ModelConfig):
    """A network of one hidden layer of ReLUs; the loss is not convex."""

    hidden_units: int = parameter(64, "units of the hidden layer", minimum=1)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> PureModel:
        """Flat inputs."""
        shapes = ((*input_shape, self.hidden_units), (self.hidden_units, num_classes))
        return PureModel(partial(_initial_weights, shapes=shapes), _logits, examples_at_once=8192)
