"""Times of clients: computation by number of examples, transfer by bytes of the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from f3ast_tff.availability.process import speeds_of
from f3ast_tff.availability.trace import assign_devices
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import normals
from f3ast_tff.delivery.delivery import DeliveryConfig
from f3ast_tff.delivery.device_speeds import read_speeds
from f3ast_tff.settings import parameter
from f3ast_tff.settings.configuration import Settings

# A training step takes three times an inference, as in FedScale.
_TRAINING = 3.0


@dataclass(frozen=True)
class TimedConfig(DeliveryConfig):
    """Base of a delivery with a clock: seconds from asking a client to its update's arrival.

        s_k = examples_k / speed_k + bits / bandwidth_k,   s_{k,t} = s_k exp(jitter z_{k,t})

    with z standard normal, drawn for each client and round. Each client has the speeds of a device
    from a file, those of its row in `availability=sites`, or log-normal speeds: median times
    exp(spread z'_k). Log-normal speeds are drawn
    when needed, so there is no state per client. A file of measured times has no bandwidths, which
    are then log-normal.
    """

    device_file: str | None = parameter(
        None,
        "file of device speeds, .json, .csv or .pkl, one device per client in random order; "
        "replaces the medians and spreads",
        is_input=True,
    )
    device_column: str | None = parameter(
        None,
        "column of measured training times, in milliseconds, in a device_file with a row per "
        "device; replaces device_example_ms and its spread",
    )
    device_column_examples: int = parameter(
        1, "examples that a time in device_column is for, such as those of a batch", minimum=1
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

    def of_clients(self) -> dict[str, np.ndarray]:
        """Returns `client_seconds`, s_k, and `client_device`, the device's place in the file."""
        found = {"client_seconds": self.typical(np.arange(self.world.num_clients))}
        return found if self._devices is None else {**found, "client_device": self._devices[2]}

    @cached_property
    def _devices(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray] | None:
        """Milliseconds per example and kilobits per second of each client's device in the file.

        The last array holds the device's place in the file, `int64 [N]`.
        """
        if self.device_file is None:
            seconds, kbps = speeds_of(self.world.availability)
            return None if seconds is None else (1000 * seconds, kbps, np.arange(len(seconds)))
        path, number = Path(self.device_file), self.world.num_clients
        if self.device_column is not None:
            from f3ast_tff.delivery.measured_times import read_times

            times = read_times(path, self.device_column) / self.device_column_examples
            # With a device for each client the rows are the clients.
            order = "in_order" if len(times) == number else "balanced"
            device_of = self._device_of(len(times), order)
            return times[device_of], None, device_of
        speeds = read_speeds(path)
        device_of = self._device_of(len(speeds.computation), "balanced")
        of_example = _TRAINING * speeds.computation[device_of]
        return of_example, speeds.communication[device_of], device_of

    def _device_of(self, num_devices: int, assignment: str) -> np.ndarray:
        """Device of each client, independent of trace availability.

        A seldom available client need not be slow.
        """
        return assign_devices(
            self.world.num_clients,
            num_devices=num_devices,
            seed=self.world.seed,
            assignment=assignment,
            stream="device speeds",
        )

    def check(self, settings: Settings) -> None:
        if self.device_file is None and self.device_column is not None:
            raise ParameterError("device_column", self.device_column, "needs a device_file")
        if self.device_column is None and self.device_column_examples != 1:
            given = self.device_column_examples
            raise ParameterError("device_column_examples", given, "needs a device_column")

    def typical(self, ids: np.ndarray) -> np.ndarray:
        """Returns s_k, the median over rounds, seconds, `float64 [m]` for ids `int [m]`."""
        of_example, of_bit, _ = self._devices or (None, None, None)
        if of_example is None:
            example_ms = self._lognormal(
                "example time",
                ids=ids,
                median=self.device_example_ms,
                spread=self.device_example_spread,
            )
        else:
            example_ms = of_example[ids]
        if of_bit is None:
            kbps = self._lognormal(
                "bandwidth", ids=ids, median=self.device_kbps, spread=self.device_kbps_spread
            )
        else:
            kbps = of_bit[ids]
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
