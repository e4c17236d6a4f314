"""Plays a target in a schedule; an error or a hang ends the play, not the audit."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from f3ast_tff.audit.targets import FOREIGN, Server, Target
from f3ast_tff.audit.virtual_time import virtual_time
from f3ast_tff.audit.world import (
    WEIGHTS,
    Answer,
    Fixed,
    Model,
    OutOfTime,
    Schedule,
    Trace,
    World,
    everybody,
    optima,
    start_model,
)
from f3ast_tff.files.messages import one_line_of

# Seconds of work in one play.
_MOST_SECONDS = 15.0
# Rounds in which a server is seen to move its model in each second, third or fourth.
_PERIODS = 12


def played(
    target: Target,
    schedule: Schedule,
    answer: Answer,
    rounds: int,
    model: Model,
    *,
    seed: int = 0,
    order: int | None = None,
    server: Server | None = None,
) -> Trace:
    """Returns what a server did in a schedule; by default a new one.

    Args:
        target: Audited server.
        schedule: Presence of the clients.
        answer: Replies of the clients.
        rounds: Number of rounds.
        model: First model.
        seed: Seed of the global generators and of the replies.
        order: Seed of the order of the replies; `None` for the order of asking.
        server: A server that goes on.
    """
    first, later = target.calls
    # A server that goes on has its first round behind it.
    first = first if server is None else later
    world = World(schedule, answer, seed, order, (first, later))
    with _quiet(), virtual_time(world, _MOST_SECONDS, seed):
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
    n = len(examples)
    answer = Fixed(optima(n, 4 * n, 0, length), examples)
    return played(target, everybody(_PERIODS, n), answer, _PERIODS, start_model(4 * n))


def calls_of(target: Target, examples: np.ndarray) -> tuple[int, int]:
    """Returns how many rounds a server takes to move its model at first, and later each time.

    With all clients there. Both are 1 if the model moves irregularly, once, or never.
    """
    trace = probe(target, examples)
    models = trace.flat()
    if trace.errors or len(models) < _PERIODS:
        return 1, 1
    moves = np.flatnonzero(np.diff(models, axis=0, prepend=0.0).any(axis=1))
    gaps = set(np.diff(moves).tolist())
    return (int(moves[0]) + 1, int(gaps.pop())) if len(gaps) == 1 else (1, 1)


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
    n, size = updates.shape
    schedule = everybody(4, n)
    if there is not None:
        schedule = Schedule("some", np.tile(there, (4, 1)))
    answer, model = Fixed(updates, examples, same_loss=same_loss), start_model(size, start)
    trace = played(target, schedule, answer, 1, model, seed=seed, order=order)
    if not trace.models or trace.errors:
        raise NoStepError(trace.ended or next(iter(trace.errors.values()), "no round"))
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
