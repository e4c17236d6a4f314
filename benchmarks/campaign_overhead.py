"""Share of a campaign's time outside its runs.

    python -m benchmarks.campaign_overhead [PROCESSES]

A campaign of 100 tiny runs (Synthetic(1,1), five methods, 50 rounds) as the command line starts it.
Time outside runs goes to starting Python, importing JAX, planning, handing out runs, waiting for
the last runs, the manifest and shutting down.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import machine, seconds_of

LIMIT = 0.05
GRID = """
[settings]
task = "synthetic"
device = "cpu"
rounds = 50

[grid]
algorithm = ["fedavg", "f3ast", "fedadam", "f3ast_adam", "poc"]
seed = "0-19"
"""


def main() -> int:
    """Prints the times inside and outside runs; the exit code is 1 if the overhead is too large."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder) / "tiny.toml"
        grid.write_text(GRID)
        wall = seconds_of(
            "run_experiments.py",
            f"--campaign={grid}",
            f"--output_dir={folder}",
            f"--processes={processes}",
        )
        manifest = json.loads((Path(folder) / "tiny/manifest.json").read_text())
    inside = [run["seconds"] for run in manifest["runs"]]
    overhead = 1 - sum(inside) / (wall * processes)
    print(
        f"{len(inside)} runs, {processes} processes: {sum(inside):.1f} s inside runs "
        f"({sum(inside) / len(inside):.2f} s each), {wall:.1f} s wall x {processes} = "
        f"{wall * processes:.1f} s; outside {100 * overhead:.1f}% (limit {100 * LIMIT:.0f}%); "
        f"{machine()}"
    )
    return int(overhead > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
