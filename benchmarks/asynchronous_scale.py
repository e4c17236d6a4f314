"""An asynchronous run of 10^5 clients on the host engine: time and memory by number of events.

    /usr/bin/time -v python -m benchmarks.asynchronous_scale [--updates 500000]

Every update is two events, a start and an arrival. FedBuff with 500 clients at work and M = 100;
each client has 2 examples of 5 features and takes one step. The run writes no files.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from benchmarks.timing import machine
from f3ast_tff import simulate
from f3ast_tff.core.federated_data import ClientExamples, FederatedData

N, AT_WORK, BUFFER = 100_000, 500, 100
EXAMPLES, FEATURES = 2, 5


def clients(number: int) -> FederatedData:
    """Returns clients whose label is the sign of their first feature."""
    features = np.random.default_rng(0).normal(size=(number * EXAMPLES, FEATURES))
    labels = (features[:, 0] > 0).astype(np.int32)
    offsets = np.arange(0, number * EXAMPLES + 1, EXAMPLES)
    train = ClientExamples(features.astype(np.float32), labels, offsets)
    test = ClientExamples(train.features[:EXAMPLES], labels[:EXAMPLES], offsets[:2])
    return FederatedData(train, test, 2)


def main() -> None:
    """Prints seconds, microseconds of processor time per update, and the peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=500_000)
    rounds = parser.parse_args().updates // BUFFER
    began, worked = time.perf_counter(), time.process_time()
    found = simulate(
        task=clients(N),
        algorithm="fedbuff",
        delivery="asynchronous",
        availability="smartphones",
        engine="host",
        clients_per_round=AT_WORK,
        buffer_size=BUFFER,
        rounds=rounds,
        eval_every=rounds,
        local_steps=1,
        seed=1,
    )
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    started = int((found.selection["selected"] >= 0).sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(machine())
    print(
        f"{N} clients, {started} starts, {rounds * BUFFER} arrivals: {seconds:.1f} s, "
        f"{1e6 * cpu / started:.0f} us of processor per update, at most {peak:.0f} MiB"
    )


if __name__ == "__main__":
    main()
