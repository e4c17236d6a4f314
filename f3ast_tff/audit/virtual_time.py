"""Time that passes only where a server sleeps, and randomness that begins from a seed."""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from f3ast_tff.audit.world import OutOfTime, World

# Real time that a server may wait, over the time that it may work.
_WAITS = 4.0


@contextmanager
def virtual_time(world: World, seconds: float, seed: int = 0) -> Iterator[None]:
    """Lets `time.sleep` move the world's clock, which `time.time` and `time.monotonic` show.

    Python's and NumPy's global generators begin from a seed, and are as before afterwards.

    Args:
        world: The clients.
        seconds: Time of work after which a server that neither sleeps nor ends is stopped.
        seed: Seed of the global generators.

    Raises:
        OutOfTime: After `seconds` of work, or `_WAITS` times as long (in the main thread).
    """
    real, begun = time.sleep, time.time()
    states = random.getstate(), np.random.get_state()
    with ExitStack() as stack:
        stack.callback(random.setstate, states[0])
        stack.callback(np.random.set_state, states[1])
        random.seed(seed)
        np.random.seed(seed)
        for place in _names_of(real):
            stack.enter_context(mock.patch.object(place, "sleep", world.sleep))
        stack.enter_context(mock.patch.object(time, "monotonic", lambda: world.seconds))
        stack.enter_context(mock.patch.object(time, "time", lambda: begun + world.seconds))
        # Flower collects all garbage in each round of some strategies.
        gc.freeze()
        stack.callback(gc.unfreeze)
        stack.enter_context(_at_most(seconds))
        yield


def _names_of(sleep: Callable[[float], None]) -> list[Any]:
    """The modules that hold `sleep` under this name; `from time import sleep` copies it."""
    return [
        m for m in list(sys.modules.values()) if getattr(m, "__dict__", {}).get("sleep") is sleep
    ]


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise OutOfTime(f"works for {seconds:g} s, or waits {_WAITS:g} times as long, in real time")

    # A busy machine slows a server down, so that its own work counts, and real time less.
    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, _WAITS * seconds),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
