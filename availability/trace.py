"""Trace: clients follow traces of real devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from reprlib import repr
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.availability.draws import gather, smallest_integers
from f3ast_tff.availability.joint_availability import JointAvailability, measured_and_said
from f3ast_tff.availability.logs.device_traces import DAY, MAX_STATES, DeviceTraces
from f3ast_tff.availability.logs.mask_files import PackedMasks
from f3ast_tff.availability.logs.trace_files import ELIGIBLE, read_traces
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.files.data_files import file_state, read_json
from f3ast_tff.settings import REQUIRED, parameter, parameters_of, register
from f3ast_tff.settings.configuration import Settings

ASSIGNMENTS = ("balanced", "with_replacement", "in_order")
SHIFTS = ("none", "days")
WHEN = ("at_start", "throughout")
PRESENCE = ("always", "seen")
# Largest rounding error of sums of seconds, seconds.
_ROUNDING = 1e-6


def assign_devices(
    num_clients: int, num_devices: int, seed: int, assignment: str, stream: str = "trace devices"
) -> np.ndarray:
    """Returns the device that each client follows, `int64 [N]`.

    Args:
        num_clients: Number of clients N.
        num_devices: Number of devices D.
        seed: Seed of the assignment.
        assignment: `"balanced"`: a random order of the devices, repeated, so no device is used
            twice before every device is used once. `"with_replacement"`: a random device for each
            client. `"in_order"`: client k follows device k mod D.
        stream: Name of the stream of draws; one for each purpose.
    """
    rng = generator(seed, stream)
    if assignment == "with_replacement":
        return rng.integers(num_devices, size=num_clients)
    order = rng.permutation(num_devices) if assignment == "balanced" else np.arange(num_devices)
    return np.resize(order, num_clients)


class Trace:
    """Client k in round t takes row (t - 1 + shift_k) mod T of its device's states.

    Devices share day and night: positively correlated.

    Attributes:
        device_of: Device of each client, unsigned `int [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Trace
        >>> eligible = np.array([[True, False], [True, True], [False, True]])
        >>> seen, shifts = np.ones((1, 2), bool), np.array([0, 1])
        >>> device_of, shift_of = np.array([0, 1, 1]), np.array([0, 0, 1])
        >>> trace = Trace(eligible, seen, device_of, shift_of, shifts)
        >>> [trace.mask(t).astype(int).tolist() for t in (1, 2, 3)]  # 2 is a round ahead.
        [[1, 0, 1], [1, 1, 1], [0, 1, 0]]
    """

    positively_correlated = True
    periodic = True

    def __init__(
        self,
        eligible: np.ndarray,
        seen: np.ndarray,
        device_of: np.ndarray,
        shift_of: np.ndarray,
        shifts: np.ndarray,
    ) -> None:
        """Makes the process.

        Args:
            eligible: Whether each device is eligible, `bool [T, D]`.
            seen: Whether each device is present, `bool [T or 1, D]`.
            device_of: Device of each client, `int [N]`.
            shift_of: Index of each client's shift, `int [N]`.
            shifts: The shifts, rounds, `int [m]`.
        """
        self._eligible, self._seen, self._shifts = eligible, seen, shifts
        self.num_clients = len(device_of)
        self.device_of = smallest_integers(device_of)
        self._column = smallest_integers(device_of + eligible.shape[1] * shift_of)

    @property
    def rounds_per_cycle(self) -> int:
        """Rounds until the trace begins again."""
        return len(self._eligible)

    @property
    def stationary(self) -> np.ndarray:
        """Share of the cycle's rounds in which each client is available, `float64 [N]`."""
        return self._eligible.mean(axis=0)[self.device_of]

    def mask(self, round_number: int) -> np.ndarray:
        return self._row(self._eligible, round_number)

    def present(self, round_number: int) -> np.ndarray:
        return self._row(self._seen, round_number)

    def _row(self, table: np.ndarray, round_number: int) -> np.ndarray:
        rows = (round_number - 1 + self._shifts) % len(table)
        return gather(table[rows].reshape(-1), self._column)


def _named(traces: DeviceTraces, clients: Sequence[str], num_clients: int) -> np.ndarray:
    """Devices of the first N clients, by name, `int64 [N]`."""
    if len(clients) < num_clients:
        allowed = f"must name a device for each of {num_clients} clients"
        raise ParameterError("trace_clients", f"{len(clients)} names", allowed)
    place = {name: number for number, name in enumerate(traces.names)}
    for client, name in enumerate(clients[:num_clients]):
        if name not in place:
            allowed = f"of client {client}, is not in the trace, or never eligible"
            raise ParameterError("trace_clients", repr(name), allowed)
    return np.array([place[name] for name in clients[:num_clients]])


def read_clients(path: Path) -> list[str]:
    """Reads each client's device from a JSON list of names, as in FLHetBench's sampled cases.

    Raises:
        DataError: If the file is missing or holds anything else.
    """
    try:
        names = read_json(path)
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {error}") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{path}: must be a list of device names")
    return names


@register("availability", "trace", "Trace", about="clients follow traces of real devices", order=9)
@dataclass(frozen=True)
class TraceConfig(AvailabilityConfig):
    """Round t stands for the seconds [start + (t - 1) d, start + t d) of the trace's clock.

    A client is available if its device is eligible at the round's start (or throughout the round).
    After `trace_days` the trace begins again; rounds fit into it exactly, so a device keeps its
    time of day. With shifts each client starts on a random day of the trace. This also keeps its
    time of day, and two clients on one device differ.

    Examples:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from f3ast_tff.availability import TraceConfig
        >>> log = pd.DataFrame({"device": list("aabbb"), "time": [0, 6, 0, 12, 24]})
        >>> log["time"] *= 3600
        >>> log["state"] = ["on", "off", "off", "on", "off"]
        >>> log.to_csv("traces.csv", index=False)
        >>> config = TraceConfig(
        ...     trace_file="traces.csv", trace_eligible="on", trace_start=0, trace_days=1
        ... )
        >>> config.build(np.ones(2) / 2, seed=0).stationary.tolist()
        [0.5, 0.25]
    """

    positively_correlated: ClassVar[bool] = Trace.positively_correlated

    trace_file: str = parameter(REQUIRED, "device traces, .json, .csv or .pkl", is_input=True)
    trace_states: str = parameter("", "which list of states, where a device has several")
    trace_eligible: str = parameter(ELIGIBLE, "states to train in, as charging+wifi,idle")
    trace_round_seconds: int = parameter(3600, "length of a round", minimum=1, units="seconds")
    trace_start: float = parameter(300.0, "time of round 1", units="seconds")
    trace_days: float = parameter(
        5.0, "length of the part of the trace to repeat", above=0, units="days"
    )
    trace_assignment: str = parameter("balanced", "devices to clients", choices=ASSIGNMENTS)
    trace_shift: str = parameter("none", "start each client on its own day", choices=SHIFTS)
    trace_when: str = parameter(
        "at_start", "when in a round a device must be eligible", choices=WHEN
    )
    trace_presence: str = parameter(
        "always",
        "clients exist always, or from the first time their device was seen to the last",
        choices=PRESENCE,
    )
    trace_clients: str | None = parameter(
        None,
        "a JSON list of each client's device, as FLHetBench's sampled cases, in place of an "
        "assignment",
        is_input=True,
    )

    @classmethod
    def renews_shares(cls, known: Any) -> bool:
        """True if clients are present while seen."""
        return known["trace_presence"] == "seen"

    def build(self, p: np.ndarray, seed: int) -> Trace:
        return self.follow(self._traces(), len(p), seed)

    def _traces(self) -> DeviceTraces:
        path = Path(self.trace_file)
        return _read(path, self.trace_states, self.trace_eligible, *file_state(path))

    @classmethod
    def measured(cls, known: Any) -> JointAvailability | None:
        """Measures all devices, without shifts.

        Clients that share a device are measured themselves, as they come and go together.
        """
        path = Path(known["trace_file"])
        settings = {p.name: known[p.name] for p in parameters_of(cls)}
        clients = known.get("num_clients") if known["trace_shift"] == "none" else None
        try:
            config = cls(**settings)
            config.check(Settings.of(settings))
            if clients is None or not config.shares_devices(clients):
                clients = None
                settings.update(trace_clients=None, trace_assignment="in_order", trace_shift="none")
                config = cls(**settings)
            return _measured(config, clients, *file_state(path))
        except (DataError, ParameterError):
            # The run will report the error.
            return None

    def shares_devices(self, num_clients: int) -> bool:
        """Whether several of the clients have one device for sure."""
        if self.trace_clients is None:
            return num_clients > self._traces().num_devices
        names = read_clients(Path(self.trace_clients))[:num_clients]
        return len({*names}) < len(names)

    def masks(self, num_clients: int | None = None) -> PackedMasks:
        """Returns the masks of clients, by default one for each of the file's devices."""
        traces = self._traces()
        n = traces.num_devices if num_clients is None else num_clients
        trace = self.follow(traces, n, 0)
        masks = (trace.mask(t) for t in range(1, trace.rounds_per_cycle + 1))
        return PackedMasks.of(masks, (trace.rounds_per_cycle, n))

    def follow(self, traces: DeviceTraces, num_clients: int, seed: int) -> Trace:
        """Resamples traces to rounds.

        Raises:
            ParameterError: If the trace is shorter than the part to repeat, or has too many states.
            DataError: If a device's state is unknown at the start.
        """
        d, start, seen, end = self.trace_round_seconds, self.trace_start, traces.seen, traces.end
        if self.trace_presence == "seen":
            traces, end = traces.once(), float(seen.max())
        _check_length(end, start, self.trace_days)
        rounds = self._rounds()
        if rounds * traces.num_devices > MAX_STATES:
            allowed = (
                f"makes {rounds} rounds of {traces.num_devices} devices, over {MAX_STATES} states"
            )
            raise ParameterError("trace_round_seconds", d, allowed)
        edges = start + d * np.arange(rounds + 1.0)
        if self.trace_when == "at_start":
            eligible = traces.eligible_at(edges[:-1])
        else:
            eligible = traces.eligible_seconds(edges) >= d - _ROUNDING
        present = np.ones((1, traces.num_devices), bool)
        if self.trace_presence == "seen":
            present = (seen[:, 0] <= edges[:-1, None]) & (edges[:-1, None] <= seen[:, 1])
            eligible &= present
        if self.trace_clients is None:
            devices = assign_devices(num_clients, traces.num_devices, seed, self.trace_assignment)
        else:
            devices = _named(traces, read_clients(Path(self.trace_clients)), num_clients)
        num_shifts = int(self.trace_days) if self.trace_shift == "days" else 1
        shift_of = generator(seed, "trace shifts").integers(num_shifts, size=num_clients)
        return Trace(
            eligible,
            seen=present,
            device_of=devices,
            shift_of=shift_of,
            shifts=np.arange(num_shifts) * (DAY // d),
        )

    def check(self, settings: Settings) -> None:
        days, d, rounds = self.trace_days, self.trace_round_seconds, self._rounds()
        if abs(days * DAY / d - rounds) > 1e-6 or rounds < 1:
            allowed = f"must divide trace_days, {days:g} days of {DAY} s"
            raise ParameterError("trace_round_seconds", d, allowed)
        if self.trace_shift == "days" and (days != int(days) or DAY % d):
            allowed = (
                f"needs whole days and a day of whole rounds, not trace_days = {days:g} and "
                f"trace_round_seconds = {d}"
            )
            raise ParameterError("trace_shift", self.trace_shift, allowed)
        if self.trace_clients is not None and self.trace_assignment != "balanced":
            allowed = "does not apply with trace_clients"
            raise ParameterError("trace_assignment", self.trace_assignment, allowed)

    def _rounds(self) -> int:
        return round(self.trace_days * DAY / self.trace_round_seconds)


@lru_cache(maxsize=1)
def _read(path: Path, states: str, eligible: str, *_: int) -> DeviceTraces:
    """The traces in a file, read once for both settings and process."""
    return read_traces(path, states, eligible)


@lru_cache(maxsize=16)
def _measured(config: TraceConfig, num_clients: int | None, *_: int) -> JointAvailability:
    """The measure, logged once per file."""
    return measured_and_said(config.masks(num_clients), config.trace_file)


def _check_length(end: float, start: float, days: float) -> None:
    longest = (end - start) / DAY
    if days > longest:
        allowed = (
            f"the last entry being at {end:g} s and the start at {start:g} s, must be at "
            f"most {max(longest, 0):.4g}"
        )
        raise ParameterError("trace_days", days, allowed)
