"""Seconds and peak memory of the report of 1000 runs.

python -m benchmarks.report_speed
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.synthetic_runs import LEVELS, write_run
from benchmarks.timing import machine, peak_mib, seconds_of
from f3ast_tff.analysis.report.published_tables import AVAILABILITIES
from f3ast_tff.settings import builtin_registry

LIMIT_S = 30.0
LIMIT_MIB = 1024.0
SEEDS = range(10)
_SWITCHES: tuple[dict[str, Any], ...] = (
    {"rate_init": "p"},
    {"divide_by_k": True},
    {"lognormal_spread": "sigma"},
    {"smartphones_grid": "endpoints"},
    {"ties": "lowest_id"},
    {"client_share": "batches"},
    {"availability_objective": "p_squared"},
    {"short_rounds": "fill_unavailable"},
    {"baseline_sampling": "with_replacement"},
    {"availability_draws": "by_round_only"},
)


def grid() -> Iterator[dict[str, Any]]:
    """Yields the settings of 1000 runs: Table III, Fig. 4, Table IX and the reading study."""
    for seed in SEEDS:
        for reading in ("paper", "released"):
            common: dict[str, Any] = {"seed": seed, "reading": reading}
            for availability in AVAILABILITIES:
                for algorithm in LEVELS:
                    yield {**common, "availability": availability, "algorithm": algorithm}
            for algorithm in ("fedavg", "f3ast"):
                smartphones = {**common, "availability": "smartphones", "algorithm": algorithm}
                for alpha in (0.0, 0.5):
                    yield {**smartphones, "synthetic_alpha": alpha, "synthetic_beta": alpha}
        for switch in _SWITCHES:
            for algorithm in _concerned(*switch):
                yield {
                    **{"seed": seed, "availability": "smartphones", "algorithm": algorithm},
                    **switch,
                }
        for k in (5, 20, 40, 50, 60, 70, 80, 90, 100):
            for algorithm in ("fedavg", "f3ast", "poc"):
                more = {"poc_candidates": 100} if algorithm == "poc" else {}
                yield {
                    **{"seed": seed, "availability": "home_devices", "algorithm": algorithm},
                    **{"clients_per_round": k, **more},
                }
        yield {"seed": seed, "task": "synthetic_linear"}


def _concerned(setting: str) -> list[str]:
    """The methods that a reading concerns, of FedAvg and F3AST."""
    takers = [taker.name for taker in builtin_registry().takers(setting)]
    return [name for name in ("fedavg", "f3ast") if name in takers] or ["fedavg", "f3ast"]


def main() -> int:
    """Prints seconds and peak memory; the exit code is 1 if either passes its limit."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        number = 0
        for number, settings in enumerate(grid(), start=1):
            write_run(runs / f"run{number:04d}", settings)
        report = ["-m", "f3ast_tff.cli.main", "report"]
        seconds = seconds_of(*report, "--runs", str(runs), "--out", f"{folder}/report")
        used, peak = resource.getrusage(resource.RUSAGE_CHILDREN), peak_mib()
        cpu = used.ru_utime + used.ru_stime
        size = (Path(folder) / "report/report.html").stat().st_size / 2**20
    print(
        f"report of {number} runs: {seconds:.1f} s (limit {LIMIT_S:.0f}; CPU {cpu:.1f} s), "
        f"peak memory {peak:.0f} MiB (limit {LIMIT_MIB:.0f}), page {size:.1f} MiB; {machine()}"
    )
    return int(seconds > LIMIT_S or peak > LIMIT_MIB)


if __name__ == "__main__":
    raise SystemExit(main())
