"""Seconds from the command line to the first trained round, and peak memory, fused engine.

python -m benchmarks.start_up
"""

from __future__ import annotations

import tempfile

from benchmarks.timing import machine, peak_mib, seconds_of

LIMIT_S = 5.0
REPEATS = 5


def main() -> int:
    """Prints the median; the exit code is 1 if it passes the limit."""
    seconds = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            given = ["--engine=fused", "--device=cpu", "--rounds=1", f"--output_dir={folder}"]
            seconds.append(seconds_of("run_experiments.py", *given))
    median = sorted(seconds)[REPEATS // 2]
    print(
        f"one round of F3AST on Synthetic(1,1), process start to end: {median:.1f} s "
        f"(limit {LIMIT_S:.0f}), peak memory {peak_mib():.0f} MiB; {machine()}"
    )
    return int(median > LIMIT_S)


if __name__ == "__main__":
    raise SystemExit(main())
