"""Seconds of one `mask(t)` and bytes held per client, for 10^3 to 10^7 clients.

    python -m benchmarks.availability_speed [largest power of ten, default 7]

Seconds are processor time of one core, so other work on the machine hardly changes them. Rounds
come in order, as in a run. `first` is the first call after resuming at round 1000, in which a
Markov process has to find its past state.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.timing import machine
from f3ast_tff.availability import (
    ArrivalDepartureConfig,
    AvailabilityProcess,
    DeviceTraces,
    HomeDevicesConfig,
    Mix,
    NonStationary,
    Product,
    ScarceConfig,
    Table,
    TraceConfig,
)
from f3ast_tff.availability.combined import draw_members
from f3ast_tff.availability.turns import cyclic
from f3ast_tff.settings import builtin_registry

# Processes that need neither data nor a file.
NAMES = [
    "scarce",
    "home_devices",
    "smartphones",
    "uneven",
    "alternating",
    "four_classes",
    "markov_clusters",
    "periodic_groups",
    "minimum_separation",
    "markov_transition",
]
# Limit of `mask`, seconds, for 10^7 independent clients.
LIMIT = 0.1
RESUMED_AT = 1000


def devices(num_devices: int = 300, days: int = 5) -> DeviceTraces:
    """Devices that change their state some twenty times a day."""
    rng = np.random.default_rng(0)
    per_device = 20 * days
    times = np.sort(rng.uniform(0, days * 86_400, (num_devices, per_device)), axis=1)
    times[:, 0], times[:, -1] = 0, days * 86_400
    return DeviceTraces(
        tuple(map(str, range(num_devices))),
        offsets=np.arange(0, num_devices * per_device + 1, per_device),
        times=times.ravel(),
        eligible=rng.random(num_devices * per_device) < 0.2,
    )


def shares(n: int) -> np.ndarray:
    """p_k of clients whose sizes differ."""
    return np.random.default_rng(0).uniform(1, 10, n) / n


def parts(n: int) -> list[AvailabilityProcess]:
    """Two processes to combine."""
    return [ScarceConfig().build(shares(n), 0), HomeDevicesConfig().build(shares(n), 1)]


MAKERS: dict[str, Callable[[int], AvailabilityProcess]] = {
    **{
        name: lambda n, name=name: (
            builtin_registry().find("availability", name).config().build(shares(n), 0)
        )
        for name in ("always", *NAMES)
    },
    "trace": lambda n: TraceConfig(trace_start=0.0, trace_shift="days").follow(devices(), n, 0),
    "table": lambda n: Table(np.random.default_rng(0).random((10, n)) < 0.5),
    "sine": lambda n: NonStationary(np.full(n, 0.3), 0, np.linspace(0.4, 1, 20)),
    "cyclic": lambda n: cyclic(np.full(n, 0.1), 0, 100),
    "arrival_departure": lambda n: ArrivalDepartureConfig(presence_rounds=2 * RESUMED_AT).build(
        shares(n), 0
    ),
    "product": lambda n: Product(parts(n)),
    "mix": lambda n: Mix(parts(n), draw_members([1, 1], n, 0)),
}
INDEPENDENT = ("always", "scarce", "home_devices", "smartphones", "uneven")


def measure(name: str, n: int) -> tuple[float, float, float]:
    """Returns seconds of a first call, median seconds of the next, and bytes held per client."""
    tracemalloc.start()
    process = MAKERS[name](n)
    held = tracemalloc.get_traced_memory()[0] / n
    tracemalloc.stop()
    seconds = []
    for t in range(RESUMED_AT, RESUMED_AT + (8 if n >= 10**6 else 30)):
        started = time.thread_time()
        process.mask(t)
        seconds.append(time.thread_time() - started)
    return seconds[0], float(np.median(seconds[1:])), held


def main(argv: list[str]) -> int:
    """Prints the tables; the exit code is 1 if an independent process passes the limit."""
    sizes = [10**power for power in range(3, int(argv[1] if len(argv) > 1 else 7) + 1)]
    print(f"milliseconds of one core for mask(t), rounds in order; {machine()}")
    print(" ".join([f"{'N':<16}", *(f"{n:>9.0e}" for n in sizes), "    first  bytes/client"]))
    slowest = 0.0
    for name in MAKERS:
        found = [measure(name, n) for n in sizes]
        first, median, held = found[-1]
        if name in INDEPENDENT:
            slowest = max(slowest, median)
        cells = [f"{1000 * seconds:>9.3f}" for _, seconds, _ in found]
        print(" ".join([f"{name:<16}", *cells, f"{1000 * first:>9.1f} {held:>13.1f}"]), flush=True)
    print(f"independent processes: at most {1000 * slowest:.1f} ms (limit {1000 * LIMIT:.0f} ms)")
    return int(slowest > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
