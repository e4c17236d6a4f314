"""A worker process of this machine: orders in on stdin, outcomes out on stdout, a line each.

Started by `f3ast_tff.campaigns.local_processes`; ends when its stdin does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.isolated_run import keep_compiled_programs, run_order


def main() -> int:
    """Runs what it is given until there is nothing more."""
    # Ctrl-C reaches all processes of a terminal: it is the campaign that ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A termination must unwind, so that engines end what they started.
    signal.signal(signal.SIGTERM, _terminate)
    campaign, provenance = Path(sys.argv[1]), json.loads(sys.argv[2])
    outcomes = os.fdopen(os.dup(1), "w")
    # Whatever a library prints goes to the log.
    os.dup2(2, 1)
    keep_compiled_programs(campaign, os.environ)
    for line in sys.stdin:
        outcome = run_order(json.loads(line), provenance, f"process {os.getpid()}")
        outcomes.write(json.dumps(asdict(outcome)) + "\n")
        outcomes.flush()
    return 0


def _terminate(signum: int, frame: Any) -> None:
    sys.exit(128 + signum)


if __name__ == "__main__":
    sys.exit(main())
