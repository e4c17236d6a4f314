"""Cost of an F3AST round with 10^3 to 10^7 clients: availability, greedy choice, rate update.

    taskset -c 0 python -m benchmarks.selection_scale [--deliveries]

K = min(1000, N / 10), and a fifth of the clients is available (scarce). Shares p_k are uneven
(log-normal), or all equal, so that nearly all clients tie. Wall-clock and processor time of a
round are printed, because other processes may use the core; the limit is on processor time. The
bytes per client are the state of the strategy and its rates between rounds.

`--deliveries` measures a round with each kind of delivery instead, at the largest N and in turns
with a round of certain delivery; the limit is on the ratio.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from benchmarks.timing import machine
from f3ast_tff import availability
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Delivery, DeliveryWorld
from f3ast_tff.delivery.delivery import RememberedMasks
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.run.delivering import Payload, deliver
from f3ast_tff.settings.registry import builtin_registry

LIMIT_SECONDS, LIMIT_BYTES = 0.15, 24
LIMIT_RATIO = 1.5
DELIVERIES = {
    "bernoulli": {},
    "bernoulli by size": {"loss_follows": "size"},
    "deadline": {"deadline_seconds": 10.0},
    "over_commit": {},
    "trace": {},
    "trace in slots": {"slot_seconds": 20.0},
}
BETA = 0.001


def state_bytes(strategy: F3AST) -> float:
    """Returns the bytes held per client between rounds: p, and all arrays of the rates."""
    held = [v for v in vars(strategy.rates).values() if isinstance(v, np.ndarray)]
    return (strategy.p.nbytes + sum(array.nbytes for array in held)) / len(strategy.p)


def measure(num_clients: int, shares: str, rounds: int) -> dict[str, float]:
    """Returns median seconds of a round and its parts, and bytes per client."""
    rng = np.random.default_rng(0)
    p = rng.lognormal(0, 1, num_clients) if shares == "uneven" else np.ones(num_clients)
    p /= p.sum()
    k = min(1000, num_clients // 10)
    strategy = F3AST.tracking(p, ParticipationRates(np.full(num_clients, k / num_clients), BETA))
    process = availability.ScarceConfig().build(p, seed=0)
    seconds = []
    for t in range(1, rounds + 3):
        times = [(time.process_time(), time.perf_counter())]
        mask = process.mask(t)
        times.append((time.process_time(), time.perf_counter()))
        cohort = cohort_of(strategy, Round(t, mask, RoundConstraint(k)))
        times.append((time.process_time(), time.perf_counter()))
        if len(cohort) != min(k, int(np.count_nonzero(mask))):
            raise RuntimeError(f"{len(cohort)} clients selected, K is {k}")
        seconds.append(np.diff(times, axis=0))
    # The first two rounds warm up.
    parts = np.array(seconds[2:])
    mask_cpu, select_cpu = np.median(parts[:, :, 0], axis=0)
    whole_cpu, whole_wall = np.median(parts.sum(axis=1), axis=0)
    return {
        "mask": mask_cpu,
        "select": select_cpu,
        "round": whole_cpu,
        "wall": whole_wall,
        "bytes": state_bytes(strategy),
    }


class Rounds:
    """Rounds of selection and delivery, timed one by one."""

    def __init__(self, name: str, p: np.ndarray, k: int) -> None:
        """Builds strategy and availability for the delivery of that name."""
        n = len(p)
        process = availability.ScarceConfig().build(np.ones(n), seed=0)
        config = builtin_registry().find("delivery", name.split()[0]).config
        made = config(**DELIVERIES.get(name, {}))
        masks, fixed = RememberedMasks(process), availability.FixedK(clients_per_round=k)
        sizes = np.random.default_rng(1).integers(1, 1000, n)
        world = DeliveryWorld(
            sizes,
            examples=sizes,
            bytes_down=10**6,
            bytes_up=10**6,
            availability=process,
            masks=masks,
            constraint=fixed,
            seed=0,
        )
        self.process = masks if made.looks_ahead else process
        self.delivery: Delivery = made.build(world)
        self.constraint = made.asking(fixed, n)
        self.strategy = F3AST.tracking(p, ParticipationRates(np.full(n, k / n), BETA))

    def seconds(self, t: int) -> float:
        """Returns the processor time of round t."""
        started = time.process_time()
        mask = self.process.mask(t)
        now = Round(t, mask, self.constraint.limit(t))
        ids = self.strategy.select(now)
        deliver(self.delivery, self.strategy, Payload(1, 1), now, ids)
        return time.process_time() - started


def compare_deliveries(num_clients: int, rounds: int) -> bool:
    """Prints the cost of a round with each delivery; returns whether one passes the limit."""
    p = np.random.default_rng(0).lognormal(0, 1, num_clients)
    p /= p.sum()
    k, passed = min(1000, num_clients // 10), False
    print("delivery                  N  certain ms   with ms  ratio")
    for name in DELIVERIES:
        both = [Rounds("certain", p, k), Rounds(name, p, k)]
        # The first two rounds warm up.
        times = [[each.seconds(t) for each in both] for t in range(1, rounds + 3)][2:]
        certain, found = np.median(times, axis=0)
        print(
            f"{name:17s} {num_clients:9d} {1e3 * certain:11.2f} {1e3 * found:9.2f} "
            f"{found / certain:6.2f}",
            flush=True,
        )
        passed |= found > LIMIT_RATIO * certain
    print(f"limit: {LIMIT_RATIO} times a round of certain delivery")
    return bool(passed)


def main() -> int:
    """Prints the table; the exit code is 1 if a limit is passed at the largest N."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--most", type=int, default=7, help="largest N, as a power of ten")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--deliveries", action="store_true", help="compare deliveries")
    values = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"median of {values.rounds} rounds, on {cores} core(s) of: {machine()}")
    if values.deliveries:
        return int(compare_deliveries(10**values.most, values.rounds))
    print("shares          N    mask ms  select ms   round ms    wall ms  ns/client  bytes/client")
    failed = False
    for shares in ("uneven", "equal"):
        for power in range(3, values.most + 1):
            n = 10**power
            found = measure(n, shares, values.rounds)
            columns = [1e3 * found[name] for name in ("mask", "select", "round", "wall")]
            print(
                f"{shares:7s} {n:9d} "
                + " ".join(f"{value:10.2f}" for value in columns)
                + f" {1e9 * found['round'] / n:10.1f} {found['bytes']:13.1f}",
                flush=True,
            )
            failed |= found["bytes"] > LIMIT_BYTES or found["round"] > LIMIT_SECONDS
    print(f"limits: {LIMIT_SECONDS} s a round, {LIMIT_BYTES} bytes a client")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
