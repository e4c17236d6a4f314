"""How long clients take: to compute by their examples, to transfer by the model's bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from f3ast_tff.availability.trace import assign_devices
from f3ast_tff.core.randomness import normals
from f3ast_tff.delivery.delivery import DeliveryConfig, DeliveryWorld
from f3ast_tff.delivery.device_speeds import DeviceSpeeds, read_speeds
from f3ast_tff.settings import parameter

# Of a step's time over that of inference, as in FedScale.
_TRAINING = 3.0


@dataclass(frozen=True)
class DeviceTimes:
    """Seconds from asking a client to its update's arrival.

        s_k = examples_k / speed_k + bits / bandwidth_k,   s_{k,t} = s_k exp(jitter z_{k,t})

    with z standard normal, drawn for each client and round. Speeds are those of devices from a
    file, each client being one of them, or log-normal: median times exp(spread z'_k). They are
    drawn when asked for, so that nothing is kept for a client.

    Attributes:
        examples: Examples that each client trains on in a round, `int64 [N]`.
        kilobits: What a client gets and sends in a round.
        seed: Seed of all draws.
        example_ms: Median time of an example, milliseconds.
        example_spread: Standard deviation of its logarithm over clients.
        kbps: Median bandwidth, kilobits a second.
        kbps_spread: Standard deviation of its logarithm.
        jitter: Standard deviation of the logarithm of a client's time over rounds.
        speeds: Speeds of devices, in place of medians and spreads.
        device_of: Device of each client, `int [N]`, with `speeds`.
    """

    examples: np.ndarray
    kilobits: float
    seed: int
    example_ms: float = 10.0
    example_spread: float = 0.5
    kbps: float = 5000.0
    kbps_spread: float = 1.0
    jitter: float = 0.25
    speeds: DeviceSpeeds | None = None
    device_of: np.ndarray | None = None

    def typical(self, ids: np.ndarray) -> np.ndarray:
        """Returns s_k, the median over rounds, seconds, `float64 [m]` for ids `int [m]`."""
        if self.speeds is not None and self.device_of is not None:
            devices = self.device_of[ids]
            example_ms = _TRAINING * self.speeds.computation[devices]
            kbps = self.speeds.communication[devices]
        else:
            example_ms = self._lognormal("example time", ids, self.example_ms, self.example_spread)
            kbps = self._lognormal("bandwidth", ids, self.kbps, self.kbps_spread)
        return self.examples[ids] * example_ms / 1000 + self.kilobits / kbps

    def seconds(self, round_number: int, ids: np.ndarray) -> np.ndarray:
        """Returns s_{k,t} of a round, seconds, `float64 [m]` for ids `int [m]`."""
        typical = self.typical(ids)
        if not self.jitter:
            return typical
        z = normals(self.seed, "device jitter", ids, round_number)
        return typical * np.exp(self.jitter * z)

    def _lognormal(self, stream: str, ids: np.ndarray, median: float, spread: float) -> np.ndarray:
        return median * np.exp(spread * normals(self.seed, stream, ids))


@dataclass(frozen=True)
class TimedConfig(DeliveryConfig):
    """Base of the `Config` of a delivery with a clock: the speeds of devices."""

    device_file: str | None = parameter(
        None,
        "speeds of devices, .json, .csv or .pkl, one for each client in random order; in place of "
        "the medians and spreads",
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

    def times(self, world: DeliveryWorld) -> DeviceTimes:
        """Returns how long clients take.

        Raises:
            DataError: If the file is missing or damaged.
        """
        speeds = device_of = None
        if self.device_file is not None:
            speeds = read_speeds(Path(self.device_file))
            number = len(speeds.computation)
            # Not the draws of trace availability: who is there seldom is not therefore slow.
            device_of = assign_devices(
                world.num_clients, number, world.seed, "balanced", "device speeds"
            )
        return DeviceTimes(
            world.examples,
            8 * (world.bytes_down + world.bytes_up) / 1000,
            world.seed,
            self.device_example_ms,
            self.device_example_spread,
            self.device_kbps,
            self.device_kbps_spread,
            self.device_jitter,
            speeds,
            device_of,
        )
