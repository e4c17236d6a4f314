"""What the rules of a memory return: one call of each with few weights, before a run starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    CohortSums,
    Memory,
    Ranges,
    RoundContext,
    Values,
    server_names,
)

_WEIGHTS = 2
# Fields of `ClientInit` that are numbers, not vectors.
NUMBERS = ("scale", "pull")


def start_of(memory: Memory) -> ClientInit:
    """Returns what `Memory.client` returns: arrays in the fields that it sets, `None` elsewhere.

    Args:
        memory: The rules; each is called once.

    Raises:
        ComponentError: If a name or a rule's result cannot be used; says which.
    """
    if not isinstance(memory, Memory):
        allowed = "aggregation: memory is {!r}: must be an object of a subclass of Memory"
        raise ComponentError(allowed.format(memory))
    name = type(memory).__name__
    _check_names(name, memory)
    ends = [end for ranges in memory.parts.values() for _, end in ranges]
    size = max([_WEIGHTS, memory.least_weights, *ends])
    vector, number = np.zeros(size, np.float32), np.float32(0)
    kept = {**dict.fromkeys(memory.vectors, vector), **dict.fromkeys(memory.numbers, number)}
    kept |= {n: np.zeros(length_of(each), np.float32) for n, each in memory.parts.items()}
    server = {
        each: number if each.startswith("total_") else vector for each in server_names(memory)
    } | {each: np.float32(start) for each, start in memory.server_numbers.items()}
    now = RoundContext(
        xp=np,
        round_number=np.int32(1),
        learning_rate=np.float32(1),
        server_rate=np.float32(1),
        model=vector,
        num_clients=np.int32(1),
    )
    of_server = now._replace(cohort=CohortSums(number, number))
    client = Client(kept, share=number, steps=np.int32(1))
    start = memory.client(client, server, now)
    if not isinstance(start, ClientInit):
        raise _wrong(name, "client", start, "must be a ClientInit")
    for field, value in start._asdict().items():
        if value is not None:
            shape = () if field in NUMBERS else (size,)
            _check_shape(name, f"client({field}=...)", value, shape)
    if memory.echo_clip is not None and start.shift is None:
        raise _wrong(name, "client(shift=...)", None, "must be a vector, as echo_clip is given")
    _check_values(name, "after_client", memory.after_client(client, vector, server, now), kept)
    # Not 0, by which a rule may divide.
    one = np.float32(1)
    sender, update = client._replace(weight=one, id=np.int32(0)), np.ones(size, np.float32)
    sending = now._replace(server=server)
    sent = memory.message(sender, update, ClientLosses(one, one), sending)
    if not (isinstance(sent, tuple) and len(sent) == 2):
        raise _wrong(name, "message", sent, "must be a vector and a factor of the weight")
    _check_shape(name, "message's vector", sent[0], (size,))
    _check_shape(name, "message's factor", sent[1], ())
    if memory.start_loss and not memory.has_messages:
        raise _wrong(name, "start_loss", True, "only applies with a rule message")
    if memory.echo_clip is not None and memory.has_messages:
        raise _wrong(name, "message", "given", "must not be given with echo_clip")
    now = of_server
    aggregated = memory.aggregated(vector, server, now)
    _check_shape(name, "aggregated", aggregated, (size,))
    correction = memory.correction(server, now)
    if correction is not None:
        _check_shape(name, "correction", correction, (size,))
    _check_shape(name, "mean", memory.mean(False, now), ())
    steps = memory.steps(server, now, np.bool_(True))
    if np.shape(steps) or np.asarray(steps).dtype != np.bool_:
        raise _wrong(name, "steps", steps, "must be one truth value")
    settled = memory.after_server_step(kept, vector, vector, now)
    _check_values(name, "after_server_step", settled, kept)
    ended = memory.end_round(server, vector, now)
    if not (isinstance(ended, tuple) and len(ended) == 2):
        raise _wrong(name, "end_round", ended, "must be the server's values and the model")
    _check_values(name, "end_round", ended[0], server)
    _check_shape(name, "end_round's model", ended[1], (size,))
    _check_shape(name, "evaluated", memory.evaluated(server, vector), (size,))
    own = memory.own_model(kept, server, vector, np)
    _check_shape(name, "own_model", own, (size,))
    return start


def length_of(ranges: Ranges) -> int:
    """Returns the number of coordinates in ranges (first, end)."""
    return sum(end - first for first, end in ranges)


def _check_names(name: str, memory: Memory) -> None:
    for field, starts in (("vectors", memory.vectors), ("server_vectors", memory.server_vectors)):
        for each, start in starts.items():
            if start not in ("zero", "model"):
                raise _wrong(name, f"{field}[{each!r}]", start, "must be 'zero' or 'model'")
    for field in ("vectors_down", "vectors_up"):
        number = getattr(memory, field)
        if not isinstance(number, int) or number < 1:
            raise _wrong(name, field, number, "must be an integer, at least 1")
    both = set(memory.vectors) & set(memory.numbers)
    if both:
        allowed = f"must not name {_listed(both)}, which vectors has"
        raise _wrong(name, "numbers", memory.numbers, allowed)
    both = set(memory.parts) & {*memory.vectors, *memory.numbers}
    if both:
        allowed = f"must not name {_listed(both)}, which vectors or numbers has"
        raise _wrong(name, "parts", _listed(memory.parts), allowed)
    for each, ranges in memory.parts.items():
        bounds = [bound for pair in ranges for bound in pair]
        if not bounds or bounds[0] < 0 or bounds != sorted(set(bounds)):
            allowed = "must be rising ranges (first, end) that do not touch"
            raise _wrong(name, f"parts[{each!r}]", ranges, allowed)
    for field, names, kind, known in (
        ("averages", memory.averages, "vectors", memory.vectors),
        ("settled_averages", memory.settled_averages, "vectors", memory.vectors),
        ("totals", memory.totals, "numbers", memory.numbers),
    ):
        if isinstance(names, str) or not set(names) <= set(known):
            allowed = f"must be a tuple of names in {kind}: {_listed(known) or 'none'}"
            raise _wrong(name, field, names, allowed)


def _check_values(name: str, what: str, values: Any, like: Values) -> None:
    keys = set(values) if isinstance(values, dict) else None
    if keys != set(like):
        raise _wrong(name, what, values, f"must be a dict with {_listed(like) or 'no name'}")
    for each, before in like.items():
        _check_shape(name, f"{what}[{each!r}]", values[each], np.shape(before))


def _check_shape(name: str, what: str, value: Any, shape: tuple[int, ...]) -> None:
    array = np.asarray(value)
    if array.shape != shape or array.dtype.kind not in "biuf":
        kind = "vector, [num_weights]" if shape else "number"
        found = f"an array of shape {list(array.shape)}" if array.shape else value
        raise _wrong(name, what, found, f"must be one {kind}")


def _wrong(name: str, what: str, value: Any, allowed: str) -> ComponentError:
    return ComponentError(f"memory {name}: {what} is {value}: {allowed}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
