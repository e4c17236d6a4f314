"""Shared by all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# What a background shell or nohup ignores, the programs that tests start would ignore too.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _signum in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_signum, signal.SIG_DFL)

# How long an example takes says nothing on a machine that others use too.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")
