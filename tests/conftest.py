"""Shared by all tests."""

from __future__ import annotations

import signal

# What a background shell or nohup ignores, the programs that tests start would ignore too.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _signum in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_signum, signal.SIG_DFL)
