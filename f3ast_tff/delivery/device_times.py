"""Times of clients: computation by number of examples, transfer by bytes of the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from f3ast_tff.availability.trace import assign_devices
from f3ast_tff.core.randomness import normals
from f3ast_tff.delivery.delivery import DeliveryConfig
from f3ast_tff.delivery.device_speeds import read_speeds
from f3ast_tff.settings import parameter

# A training step takes three times an inference, as in FedScale.
_TRAINING = 3.0


@dataclass(frozen=True)
class TimedConfig(DeliveryConfig):
    """Base of a delivery with a clock: seconds from asking a client to its update's arrival.

        s_k = examples_k / speed_k + bits / bandwidth_k,   s_{k,t} = s_k exp(jitter z_{k,t})

    with z standard normal, drawn for each client and round. Each client has the speeds of a device
    from a file, or log-normal speeds: median times exp(spread z'_k). Log-normal speeds are drawn
    when needed, so there is no state per client.
    """

    device_file: str | None = parameter(
        None,
        "file of device speeds, .json, .csv or .pkl, one device per client in random order; "
        "replaces the medians and spreads",
        is_input=True,
    )
    device_example_ms: float = parameter(
        10.0, "median over clients of the time of a training example", above=0, units="milliseconds"
    )
    device_example_spread: float = parameter(
        0.5, "standard deviation of its logarithm", minimum=0, maximum=10
    )
    device_kbps: float = parameter(
        5000.0, "median over clients of the bandwidth", above=0, units="kilobits a second"
    )
    device_kbps_spread: float = parameter(
        1.0, "standard deviation of its logarithm", minimum=0, maximum=10
    )
    device_jitter: float = parameter(
        0.25,
        "standard deviation over rounds of the logarithm of a client's time",
        minimum=0,
        maximum=10,
    )

    def prepare(self) -> None:
        """Reads the file of speeds."""
        self._devices  # noqa: B018 - read now, for its errors.

    @cached_property
    def _devices(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Milliseconds per example and kilobits per second of each client's device in the file."""
        if self.device_file is None:
            return None
        speeds = read_speeds(Path(self.device_file))
        number, world = len(speeds.computation), self.world
        # Independent of trace availability: a seldom available client need not be slow.
        device_of = assign_devices(
            world.num_clients,
            num_devices=number,
            seed=world.seed,
            assignment="balanced",
            stream="device speeds",
        )
        return _TRAINING * speeds.computation[device_of], speeds.communication[device_of]

    def typical(self, ids: np.ndarray) -> np.ndarray:
        """Returns s_k, the median over rounds, seconds, `float64 [m]` for ids `int [m]`."""
        if self._devices is not None:
            example_ms, kbps = (speeds[ids] for speeds in self._devices)
        else:
            example_ms = self._lognormal(
                "example time",
                ids=ids,
                median=self.device_example_ms,
                spread=self.device_example_spread,
            )
            kbps = self._lognormal(
                "bandwidth", ids=ids, median=self.device_kbps, spread=self.device_kbps_spread
            )
        kilobits = 8 * (self.world.bytes_down + self.world.bytes_up) / 1000
        return self.world.examples[ids] * example_ms / 1000 + kilobits / kbps

    def seconds(self, round_number: int, ids: np.ndarray) -> np.ndarray:
        """Returns s_{k,t} of a round, seconds, `float64 [m]` for ids `int [m]`."""
        typical = self.typical(ids)
        if not self.device_jitter:
            return typical
        z = normals(self.world.seed, "device jitter", ids, round_number)
        return typical * np.exp(self.device_jitter * z)

    def _lognormal(self, stream: str, ids: np.ndarray, median: float, spread: float) -> np.ndarray:
        return median * np.exp(spread * normals(self.world.seed, stream, ids))
