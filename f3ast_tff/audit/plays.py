"""Plays a target in a schedule; an error or a hang ends the play, not the audit.

Time passes only where a server sleeps, and randomness begins from a seed.
"""

from __future__ import annotations

import gc
import logging
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from f3ast_tff.audit.targets import FOREIGN, Server, Target
from f3ast_tff.audit.world import (
    DENSE,
    WEIGHTS,
    Answer,
    Fixed,
    Model,
    OutOfTime,
    Schedule,
    Trace,
    World,
    everybody,
    fixed,
    start_model,
)
from f3ast_tff.files.messages import one_line_of

# Seconds of work in one play.
_MOST_SECONDS = 15.0
# Real time that a server may wait, over the time that it may work.
_WAITS = 4.0
# Rounds in which a server is seen to move its model in each second, third or fourth.
_PERIODS, _SAME = 12, 1e-4


def played(
    target: Target,
    answer: Answer,
    rounds: int,
    schedule: Schedule | None = None,
    *,
    start: Model | float = 0.0,
    seed: int = 0,
    order: int | None = None,
    server: Server | None = None,
) -> Trace:
    """Returns what a server did in a schedule; by default a new one.

    Args:
        target: Audited server.
        answer: Replies of the clients.
        rounds: Number of rounds.
        schedule: Presence of the clients; all by default.
        start: First model, or each number of it.
        seed: Seed of the global generators and of the replies.
        order: Seed of the order of the replies; `None` for the order of asking.
        server: A server that goes on.
    """
    n = len(answer.examples)
    schedule = everybody(2 * rounds + 3, n) if schedule is None else schedule
    model = start if isinstance(start, dict) else start_model(DENSE * n, start)
    first, later = target.calls
    # A server that goes on has its first round behind it.
    first = first if server is None else later
    world = World(schedule, answer, seed, order, (first, later))
    with _quiet(), _virtual_time(world, seed):
        try:
            one = target.make() if server is None else server
            one.play(world, first + (rounds - 1) * later, model)
        except OutOfTime as error:
            world.trace.ended = str(error)
        except FOREIGN as error:
            world.trace.ended = one_line_of(error)
    return world.trace


def probe(target: Target, examples: np.ndarray, length: float = 1.0) -> Trace:
    """Returns what a new server does in twelve rounds with all clients there, in each alike."""
    schedule = everybody(_PERIODS, len(examples))
    return played(target, fixed(examples, length=length), _PERIODS, schedule)


def calls_of(target: Target, examples: np.ndarray) -> tuple[int, int]:
    """Returns how many rounds a server takes to move its model at first, and later each time.

    With all clients there. A server with a buffer moves in each round, but not by all of its
    replies: equally far in each two or more rounds. Both are 1 if the model moves irregularly,
    once, or never.
    """
    trace = probe(target, examples)
    if trace.errors or len(trace.models) < _PERIODS:
        return 1, 1
    steps = np.diff(trace.flat(), axis=0, prepend=0.0)
    moves = np.flatnonzero(steps.any(axis=1))
    gaps = set(np.diff(moves).tolist())
    if len(gaps) == 1 and gaps != {1}:
        return int(moves[0]) + 1, int(gaps.pop())
    asks_all = all(len({*each}) == len(examples) for each in trace.asked)
    for period in range(1, _PERIODS // 2 + 1) if asks_all and len(moves) else ():
        part = steps[: _PERIODS // period * period].reshape(-1, period, steps.shape[1]).sum(axis=1)
        if np.allclose(part, part[0], rtol=0, atol=_SAME * np.abs(part).max()):
            return period, period
    return 1, 1


def step(
    target: Target,
    updates: np.ndarray,
    examples: np.ndarray,
    there: np.ndarray | None = None,
    *,
    start: float = 0.0,
    seed: int = 0,
    order: int | None = None,
    same_loss: bool = False,
) -> np.ndarray:
    """Returns the move of a new server's model in its first round, `float64 [d]`.

    Args:
        target: Audited server.
        updates: Update of each client, `float [N, d]`.
        examples: `num-examples` of each, `float [N]`.
        there: Clients that are there, `bool [N]`; all by default.
        start: Every number of the first model.
        seed: Seed of the global generators.
        order: Seed of the order of the replies; `None` for the order of asking.
        same_loss: Whether all clients reply a loss of 1.

    Raises:
        NoStepError: If the round did not end, or raised an error.
    """
    there = np.ones(len(updates), bool) if there is None else there
    schedule = Schedule("some", np.tile(there, (4, 1)))
    answer = Fixed(updates, examples, same_loss=same_loss)
    trace = played(target, answer, 1, schedule, start=start, seed=seed, order=order)
    if not trace.models or trace.errors:
        raise NoStepError(trace.failure or "no round")
    return np.array(trace.models[0][WEIGHTS], float) - start


class NoStepError(RuntimeError):
    """A round did not end; the message says why."""


@contextmanager
def _quiet() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _virtual_time(world: World, seed: int) -> Iterator[None]:
    """Lets `time.sleep` move the world's clock, which `time.time` and `time.monotonic` show.

    Python's and NumPy's global generators begin from a seed, and are as before afterwards.
    """
    real, begun = time.sleep, time.time()
    states = random.getstate(), np.random.get_state()
    with ExitStack() as stack:
        stack.callback(random.setstate, states[0])
        stack.callback(np.random.set_state, states[1])
        random.seed(seed)
        np.random.seed(seed)
        # `from time import sleep` copies it.
        held = [(each, getattr(each, "__dict__", {})) for each in [*sys.modules.values()]]
        for place in [each for each, names in held if names.get("sleep") is real]:
            stack.enter_context(mock.patch.object(place, "sleep", world.sleep))
        stack.enter_context(mock.patch.object(time, "monotonic", lambda: world.seconds))
        stack.enter_context(mock.patch.object(time, "time", lambda: begun + world.seconds))
        # Flower collects all garbage in each round of some strategies.
        gc.freeze()
        stack.callback(gc.unfreeze)
        stack.enter_context(_at_most(_MOST_SECONDS))
        yield


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
