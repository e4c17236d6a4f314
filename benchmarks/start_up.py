"""Seconds from the command line to the first trained round, and peak memory, fused engine.

python -m benchmarks.start_up
"""

from __future__ import annotations

import tempfile

from benchmarks.timing import machine, peak_mib, seconds_of

LIMIT_S = 5.0
REPEATS = 5
# The parts of a command before its framework: a help topic imports every component, resolved
# settings those of the run.
_EVERYTHING = "from f3ast_tff.settings import builtin_registry\nbuiltin_registry().all()"
_OF_THE_RUN = """
from f3ast_tff.cli.flags import parse
from f3ast_tff.settings.resolve import resolve
parsed = parse(["--rounds=1"])
resolve(parsed.settings, parsed.registry)
"""


def main() -> int:
    """Prints medians; the exit code is 1 if a round passes the limit."""
    seconds = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            given = ["--engine=fused", "--device=cpu", "--rounds=1", f"--output_dir={folder}"]
            seconds.append(seconds_of("run_experiments.py", *given))
    median = _median(seconds)
    print(
        f"one round of F3AST on Synthetic(1,1), process start to end: {median:.1f} s "
        f"(limit {LIMIT_S:.0f}), peak memory {peak_mib():.0f} MiB; {machine()}"
    )
    of_all, of_run = [], []
    for _ in range(REPEATS):
        of_all.append(seconds_of("-c", _EVERYTHING))
        of_run.append(seconds_of("-c", _OF_THE_RUN))
    print(
        f"to the resolved settings of a run: {_median(of_run):.2f} s; with every component "
        f"imported: {_median(of_all):.2f} s"
    )
    return int(median > LIMIT_S)


def _median(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 2]


if __name__ == "__main__":
    raise SystemExit(main())
