"""Rounds without replies, and replies that are empty, broken or in another order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from f3ast_tff.audit.findings import NOTE, OPEN, RIGHT, WRONG, Finding
from f3ast_tff.audit.functions import NOT_FINITE
from f3ast_tff.audit.plays import played
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import LINEAR, Rule
from f3ast_tff.audit.world import (
    DENSE,
    VARIANCE,
    WEIGHTS,
    Clients,
    Fixed,
    Reply,
    Schedule,
    Trace,
    fixed,
    optima,
    start_model,
)
from f3ast_tff.core.randomness import generator

_CHECK = "replies"
_SAME = 1e-4
# Round of a broken reply, and the client of empty ones.
_AT, _OF = 4, 5
_GUARD = "Return the model as it is when no reply arrived."


def check_empty(target: Target, rule: Rule, examples: np.ndarray) -> Iterator[Finding]:
    """Judges rounds in which nobody is there, and rounds that lose all replies."""
    masks = np.ones((60, len(examples)), bool)
    masks[10:15] = False
    answer = fixed(examples, lambda t, reply: [] if t in (25, 26) else [reply], rule.length)
    trace = played(target, answer, 32, Schedule("nobody", masks), start=1.0)
    empty = [t for t, found in enumerate(trace.delivered) if not found]
    if trace.ended:
        yield Finding("scale", WRONG, f"rounds without replies end it: {trace.ended}", _GUARD)
        return
    if failed := [trace.errors[t + 1] for t in empty if t + 1 in trace.errors]:
        nan = NOT_FINITE in failed[0]
        said = f"rounds without replies fail: {failed[0]}"
        said += "" if nan else "; the caller keeps the model"
        yield Finding("scale", WRONG if nan else NOTE, said, _GUARD)
    if not empty or failed:
        return
    steps = np.abs(np.diff(trace.flat(), axis=0, prepend=1.0)).sum(axis=1)
    # Momentum rises at first: the step just before.
    first = [t for t in empty if t and t - 1 not in empty]
    usual = float(steps[first[0] - 1])
    if not usual:
        yield Finding("scale", OPEN, "rounds without replies: not seen, as the model stays before")
        return
    # A server that has stopped moves 0 of 0.
    moved = float(np.nanmax(steps[first] / steps[np.subtract(first, 1)]))
    moved = moved if np.isfinite(steps).all() else np.inf
    after = steps[[t + 1 for t in empty if t + 1 < len(steps) and t + 1 not in empty]]
    found = f"in rounds without replies the model moves {moved:.2f} of the step before, "
    found += f"in the round after {float(after.max() / usual):.2f}"
    if moved <= 0.01 or target.objective == "latest" and 0.999 <= moved <= 1.05:
        yield Finding("scale", RIGHT, found, value=moved)
    elif moved < 0.999:
        yield Finding("scale", NOTE, f"{found}: momentum goes on", value=moved)
    else:
        yield Finding("scale", WRONG, found, _GUARD, moved)


def check_broken(target: Target, rule: Rule, examples: np.ndarray) -> Iterator[Finding]:
    """Judges replies with 0 examples, NaN, and of another shape."""
    n = len(examples)
    yield _of_zero(played(target, fixed(0 * examples), 3))
    still = played(target, Fixed(np.zeros((n, DENSE * n)), examples, same_loss=True), 3)
    if why := still.failure:
        yield Finding(_CHECK, WRONG, f"replies equal to the model end it: {why}")
    trace = played(target, fixed(np.where(np.arange(n) == _OF, 0, examples)), 3)
    if why := trace.failure or "the model is not finite" * (not np.isfinite(trace.flat()).all()):
        yield Finding(_CHECK, WRONG, f"a reply with 0 examples beside others: {why}")
    yield _of_nan(target, examples)
    yield _of_shape(target, examples, 3, "a reply of another shape")
    if target.parts:
        yield _of_shape(target, examples, 0, "a reply with an array less")
    yield from _of_order(target, rule, examples)
    server = target.make()
    played(target, fixed(examples), 3, server=server)
    # Clients of a simulation keep their arrays.
    if getattr(server, "writes", False):
        advice = "Copy an update before it is changed: its client, or the caller, may keep it."
        yield Finding(_CHECK, WRONG, "it writes into the updates that it gets", advice)
    if target.messages:
        yield _of_error(target, examples)
        if not target.own_arrays:
            yield _of_buffers(target, examples)


def _of_shape(target: Target, examples: np.ndarray, size: int, name: str) -> Finding:
    """A reply whose array has another size; of a model of several arrays 0 leaves the array out."""
    other = _first_of_a_round(_with(lambda weights: np.ones(size, np.float32)))
    trace = played(target, fixed(examples, other), 6)
    if not trace.ended and _AT in trace.errors:
        return Finding(_CHECK, RIGHT, f"{name} is refused: {trace.errors[_AT]}")
    if trace.ended or not np.ptp(trace.flat()[-2:], axis=0).any():
        why = trace.ended or "the model has another shape, or stays, from then on"
        advice = "Compare names and shapes with the model's, and leave the reply out."
        return Finding(_CHECK, WRONG, f"{name} ends it: {why}", advice)
    return Finding(_CHECK, RIGHT, f"{name} does not end it")


def _of_zero(trace: Trace) -> Finding:
    name = "num-examples of 0 from all"
    advice = "Leave the model as it is when the examples sum to 0."
    if trace.ended:
        return Finding(_CHECK, WRONG, f"{name} ends it: {trace.ended}", advice)
    if trace.errors:
        return Finding(_CHECK, NOTE, f"{name} is an error: {trace.errors[1]}", advice)
    if not np.isfinite(trace.flat()).all():
        return Finding(_CHECK, WRONG, f"{name} makes the model NaN", advice)
    return Finding(_CHECK, RIGHT, f"{name} leaves a finite model")


def _of_nan(target: Target, examples: np.ndarray) -> Finding:
    """A reply of which the second half is NaN, then the same server from a good model."""
    server, half = target.make(), DENSE * len(examples) // 2

    def nan(weights: np.ndarray) -> np.ndarray:
        return np.where(np.arange(2 * half) < half, weights, np.nan).astype(weights.dtype)

    first = played(target, fixed(examples, _first_of_a_round(_with(nan))), 6, server=server)
    again = played(target, fixed(examples), 4, server=server)
    fresh = played(target, fixed(examples), 4)
    advice = "Leave replies out that are not finite."
    if first.ended:
        return Finding(_CHECK, WRONG, f"a reply of NaN ends it: {first.ended}", advice)
    whole = np.isfinite(first.flat()).all(axis=1)
    went_on = bool(again.models) and np.isfinite(again.flat()).all() and not again.ended
    # A server that refuses to begin again says nothing of its state.
    begins = bool(again.models) or not again.ended
    moves = went_on and all(
        np.linalg.norm(again.flat()[-1][part]) > 0.05 * np.linalg.norm(fresh.flat()[-1][part])
        for part in (slice(half), slice(half, None))
        if fresh.models
    )
    if begins and not moves or whole[_AT - 1] and not whole.all():
        how = "is NaN" if not went_on or not whole.all() else "stays"
        found = f"a reply of NaN stays in the server's state: from a good model on, the model {how}"
        advice = "Check replies before they reach momentum or caches."
        return Finding(_CHECK, WRONG, found, advice)
    if whole.all():
        return Finding(_CHECK, RIGHT, "a reply of NaN leaves a finite model")
    found = "a reply of NaN makes the model NaN"
    if target.messages:
        return Finding(_CHECK, WRONG, f"{found}, and the run is lost", advice)
    return Finding(_CHECK, NOTE, f"{found}; the server's state stays finite", advice)


def _of_order(target: Target, rule: Rule, examples: np.ndarray) -> Iterator[Finding]:
    answer = fixed(examples)
    if rule.kind != LINEAR:
        # Without the ties in which a rule that selects takes the first.
        dense = generator(0, "audit order of replies").standard_normal(answer.updates.shape)
        answer = Fixed(dense * rule.length / math.sqrt(dense.shape[1]), examples)
    one, other = (played(target, answer, 5, order=order) for order in (None, 1))
    if len(one.models) != 5 or len(other.models) != 5:
        return
    a, b = one.flat(), other.flat()
    value = float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30))
    found = f"the same replies in another order change the model by {value:.1e} of its size"
    # Of a buffer the order says which replies are used together.
    by_design = target.gathers or rule.noise and rule.kind != LINEAR
    verdict = RIGHT if value <= _SAME else NOTE if by_design else WRONG
    advice = "" if value <= _SAME else "Sort replies by client before they are combined."
    yield Finding("determinism", verdict, found, advice, value)


def _of_error(target: Target, examples: np.ndarray) -> Finding:
    """A client that fails: Flower delivers its error in place of a reply."""
    spoilt = _first_of_a_round(lambda reply: replace(reply, failed=True))
    trace = played(target, fixed(examples, spoilt), 6)
    found = "a client's error in place of its reply"
    if not trace.ended:
        return Finding(_CHECK, RIGHT, f"{found} does not end it")
    advice = "Leave out replies of which `has_error()` is true."
    return Finding(_CHECK, WRONG, f"{found} ends it: {trace.ended}", advice)


def _of_buffers(target: Target, examples: np.ndarray) -> Finding:
    """A running variance must stay between the clients', which are 1 to 1 + (N - 1) / 10."""
    n = len(examples)
    masks = np.random.default_rng(0).random((80, n)) < 0.7
    masks[:, -2:] = True
    answer, start = Clients(optima(n), examples), start_model(DENSE * n, buffers=True)
    trace = played(target, answer, 40, Schedule("buffers", masks), start=start)
    if not trace.models:
        return Finding(_CHECK, WRONG, f"a model with a running variance ends it: {trace.ended}")
    if any(VARIANCE not in each for each in trace.models):
        lost = f"of a model's arrays {VARIANCE} is not returned"
        if {word.strip(".") for word in target.words} & {VARIANCE, "running", *VARIANCE.split(".")}:
            return Finding(_CHECK, NOTE, f"{lost}: its code asks for names; clients must keep it")
        return Finding(_CHECK, WRONG, lost, "Return every array that the clients got.")
    kept = [float(each[VARIANCE][0]) for each in trace.models]
    low, high, most = min(kept), max(kept), 0.9 + n / 10
    found = f"a running variance, of clients 1 to {most:.1f}, goes from {low:.2f} to {high:.2f}"
    if low >= 1 - _SAME and high <= most + _SAME:
        return Finding(_CHECK, RIGHT, found, value=low)
    advice = "Take a mean of buffers; no momentum, rate of the server or sum of weights but 1."
    return Finding(_CHECK, WRONG, found, advice, low)


def _first_of_a_round(change: Callable[[Reply], Reply]) -> Callable[[int, Reply], list[Reply]]:
    """A function that changes the first reply of round `_AT`."""
    changed: list[int] = []

    def spoilt(t: int, reply: Reply) -> list[Reply]:
        if t != _AT or changed:
            return [reply]
        changed.append(reply.client)
        return [change(reply)]

    return spoilt


def _with(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Reply], Reply]:
    """A function that changes a reply's weights."""
    return lambda reply: replace(
        reply, model={**reply.model, WEIGHTS: change(reply.model[WEIGHTS])}
    )
