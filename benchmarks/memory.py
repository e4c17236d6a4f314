"""Resident memory of Python and of TFF's worker over 300 rounds.

python -m benchmarks.memory
"""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path

import psutil

from benchmarks.timing import machine
from benchmarks.tiny import engine_parts
from f3ast_tff.availability import HomeDevicesConfig
from f3ast_tff.core.local_training import LocalTraining, client_share
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.datasets import Synthetic
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.optimizers import Sgd

LIMIT = 1.05
EARLY, LATE = 50, 300


def resident_mib(pid: int) -> float:
    """Returns the resident set size of a process, MiB."""
    return psutil.Process(pid).memory_info().rss / 2**20


def main() -> int:
    """Prints the memory after rounds 50, 100, ..; the exit code is 1 if it grew above the limit."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from f3ast_tff.engines.tff.engine import TffEngine

    data, work = Synthetic(num_clients=100).build(), LocalTraining(20)
    p = client_share(data.train.sizes, work, "examples")
    strategy = F3AST.tracking(p, ParticipationRates(p * 0 + 0.1, 0.001))
    availability = HomeDevicesConfig().build(p, seed=0)
    totals = {}
    print(f"F3AST on Synthetic(1,1), evaluated every 10 rounds; {machine()}")
    with tempfile.TemporaryDirectory() as folder:
        parts = engine_parts(data, work, client=Sgd(0.01), folder=Path(folder))
        engine = TffEngine(parts, runtime="worker")
        for t in range(1, LATE + 1):
            cohort = cohort_of(
                strategy, Round(t, availability.mask(t), RoundConstraint(10), engine.client_losses)
            )
            engine.run_rounds(t, [cohort])
            if t % 10 == 0:
                engine.evaluate()
            if t % 50 == 0:
                gc.collect()
                python, worker = resident_mib(os.getpid()), resident_mib(engine._runtime.pid)
                totals[t] = python + worker
                print(f"round {t}: Python {python:.0f} MiB, worker {worker:.0f} MiB", flush=True)
        engine.close()
    ratio = totals[LATE] / totals[EARLY]
    print(f"round {LATE} over round {EARLY}: {ratio:.3f} (limit {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
