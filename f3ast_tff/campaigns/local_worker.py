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

from f3ast_tff.campaigns.isolated_run import keep_compiled_programs, run_order
from f3ast_tff.errors import Interrupted
from f3ast_tff.signals import Signals


def main() -> int:
    """Runs what it is given until there is nothing more."""
    # Ctrl-C reaches all processes of a terminal: it is the campaign that ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signals = Signals()
    signals.install()
    campaign, provenance = Path(sys.argv[1]), json.loads(sys.argv[2])
    outcomes = os.fdopen(os.dup(1), "w")
    # Whatever a library prints goes to the log.
    os.dup2(2, 1)
    keep_compiled_programs(campaign, os.environ)
    for line in sys.stdin:
        try:
            outcome = run_order(json.loads(line), provenance, f"process {os.getpid()}", signals)
        except Interrupted:
            return signals.exit_code
        outcomes.write(json.dumps(asdict(outcome)) + "\n")
        outcomes.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
