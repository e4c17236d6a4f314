"""The server itself: whether rounds end, how many train, what grows, what a restart loses."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from f3ast_tff.audit.findings import NOTE, OPEN, RIGHT, WRONG, Finding
from f3ast_tff.audit.plays import played
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import Rule, Weights
from f3ast_tff.audit.world import DENSE, Clients, Schedule, everybody, fixed, optima

# Clients of which a tenth is a number of its own.
_MANY = 40


def check_liveness(
    target: Target, found: Sequence[Weights], examples: np.ndarray
) -> Iterator[Finding]:
    """Judges whether every schedule ends, and whether few clients suffice."""
    ended = {each.schedule: each.trace.ended for each in found if each.trace.ended}
    if ended:
        about = f"ends in {', '.join(ended)}: {next(iter(ended.values()))}"
        yield Finding("liveness", WRONG, about)
    errors = {w.schedule: next(iter(w.trace.errors.values())) for w in found if w.trace.errors}
    if errors:
        about = f"rounds fail in {', '.join(errors)}: {next(iter(errors.values()))}"
        yield Finding("liveness", NOTE, about, "The caller must keep the model in such a round.")
    masks = np.zeros((300, len(examples)), bool)
    masks[:, -1] = True
    trace = played(target, fixed(examples), 3, Schedule("one", masks))
    if "still waits" in trace.ended:
        about = f"waits without a limit while one client is there: {trace.waited_s:g} s and on"
        advice = "Lower its least numbers of clients, also those to evaluate, or stop it after a "
        advice += "time."
        yield Finding("liveness", WRONG, about, advice, trace.waited_s)
    elif trace.ended:
        yield Finding("liveness", WRONG, f"ends while one client is there: {trace.ended}")
    elif found and not ended:
        waited = max(max(each.trace.waited, default=0) for each in found)
        about = f"every schedule ends; the longest wait of a round is {waited:g} s"
        yield Finding("liveness", RIGHT, about, value=waited)


def check_fraction(target: Target, examples: np.ndarray) -> Iterator[Finding]:
    """Judges the share of the clients that train against the share that the target states."""
    stated = target.fraction
    if stated is None or stated <= 0:
        return
    advice = "Look at the least number of clients beside the fraction, and at who selects."
    # A share of few clients may round to nobody.
    for n, least in ((len(examples), max(target.least or 0, 2)), (_MANY, 0)):
        alone = replace(target, calls=(1, 1))
        trace = played(alone, fixed(np.full(n, 10.0)), 5, everybody(20, n))
        if not trace.models:
            yield Finding("liveness", OPEN, f"the share that trains is not seen: {trace.ended}")
            return
        asked = float(np.mean([len(set(each)) for each in trace.asked]))
        about = f"states {stated:.0%} of the clients; {asked / n:.0%} train"
        if abs(asked - max(stated * n, min(least, asked))) > 1.5:
            yield Finding("liveness", WRONG, f"{about}, of {n}", advice, asked / n)
            return
    yield Finding("liveness", RIGHT, about, value=asked / n)


def check_memory(target: Target, examples: np.ndarray) -> Iterator[Finding]:
    """Judges what grows while clients leave and return under new node ids."""
    n, half = len(examples), 40
    masks = np.random.default_rng(0).random((200, n)) < 0.6
    masks[:, -2:] = True
    server, sizes = target.make(), []
    for begin in (0, half, 2 * half):
        # At most as many absences as rounds: no node id comes again in a later part.
        schedule = Schedule("new ids", masks[begin:], new_ids=target.messages, ids_from=begin)
        trace = played(target, fixed(examples), half, schedule, server=server)
        if trace.ended:
            yield Finding("memory", OPEN, f"not seen: {trace.ended}")
            return
        sizes.append(len(_bytes(server.held)))
    grows = (sizes[2] - sizes[1]) / half
    about = f"the server's state is {sizes[2]} bytes, and grows by {max(grows, 0):.0f} a round"
    if grows >= 4 * DENSE * n:
        advice = "Keep arrays by client, not by node id, and forget clients that are gone."
        yield Finding("memory", WRONG, f"{about}: a model a round", advice, grows)
    else:
        yield Finding("memory", NOTE if grows > 8 else RIGHT, about, value=grows)


def check_forgets(target: Target, examples: np.ndarray) -> Iterator[Finding]:
    """Says what is kept by client until it is away for two rounds."""
    n, server, kept = len(examples), target.make(), []
    for there in (np.ones(n, bool), np.arange(n) > 0):
        schedule = Schedule("some", np.tile(there, (9, 1)))
        played(target, Clients(optima(n), examples), 2, schedule, server=server)
        fields = _fields(server.held).items()
        kept.append({name: {*each} for name, each in fields if isinstance(each, dict)})
    lost = [name for name, keys in kept[0].items() if keys - kept[1].get(name, keys)]
    if lost:
        found = f"of a client that is away for two rounds it forgets {', '.join(lost)}"
        yield Finding("memory", NOTE, f"{found}: what its replies left there is lost")


def check_restart(target: Target, examples: np.ndarray) -> Iterator[Finding]:
    """Says what a new server in the middle of a run changes."""
    answer, one = Clients(optima(len(examples)), examples), target.make()
    before = _state(one.held)
    first = played(target, answer, 15, server=one)
    if first.ended or not first.models:
        yield Finding("restart", OPEN, f"not seen: {first.ended}")
        return
    changed = [name for name, kept in _state(one.held).items() if before.get(name) != kept]
    goes_on = played(target, answer, 15, start=first.models[-1], server=one)
    anew = played(target, answer, 15, start=first.models[-1])
    if not goes_on.models or not anew.models:
        yield Finding("restart", OPEN, f"not seen: {goes_on.ended or anew.ended}")
        return
    a, b = (each.flat()[len(each.models) - 1] for each in (goes_on, anew))
    value = float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30))
    if value <= 1e-4:
        yield Finding("restart", RIGHT, "a new server goes on as the old one", value=value)
        return
    about = f"a new server from the last model strays by {value:.2f} of the model in 15 rounds"
    lost = f"; lost are {', '.join(sorted(changed))}" if changed else ""
    advice = "Save these with the model, and load them when the server starts."
    yield Finding("restart", NOTE, about + lost, advice if changed else "", value)


def check_determinism(
    target: Target, schedule: Schedule, examples: np.ndarray, rule: Rule
) -> Iterator[Finding]:
    """Judges whether the same seed gives the same bits."""
    answer = Clients(optima(len(examples)), examples)
    one, other = (played(target, answer, 20, schedule, seed=1) for _ in range(2))
    if one.asked != other.asked:
        about = "the same seed of Python's and NumPy's generators selects other clients"
        yield Finding("determinism", WRONG, about, "Give the server a seed of its own.")
    elif len(one.models) != len(other.models) or not np.array_equal(
        one.flat(), other.flat(), equal_nan=True
    ):
        about = "the same seed and the same replies give another model"
        advice = "" if rule.noise else "Give the server a seed of its own."
        yield Finding("determinism", NOTE if rule.noise else WRONG, about, advice)
    else:
        yield Finding("determinism", RIGHT, "the same seed gives the same bits")


def _state(held: Any) -> dict[str, bytes]:
    return {name: _bytes(each) for name, each in _fields(held).items()}


def _fields(held: Any) -> dict[str, Any]:
    """State of an object: its attributes; of a function or file its globals."""
    found = getattr(held, "__globals__", None) or getattr(held, "__dict__", {})
    return {
        name: each
        for name, each in found.items()
        if not name.startswith("__") and not callable(each) and not inspect.ismodule(each)
    }


def _bytes(held: Any, depth: int = 4) -> bytes:
    """An object as bytes; parts that have none count as nothing."""
    try:
        if not hasattr(held, "__globals__"):
            return pickle.dumps(held)
    except (TypeError, AttributeError, pickle.PicklingError, RecursionError):
        pass
    if not depth:
        return b""
    parts: Iterable[Any] = _fields(held).values()
    if isinstance(held, dict):
        parts = held.values()
    elif isinstance(held, (list, tuple, set)):
        parts = held
    return b"".join(_bytes(each, depth - 1) for each in parts)
