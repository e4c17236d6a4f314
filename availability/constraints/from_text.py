"""Communication constraints as one word on the command line."""

from __future__ import annotations

from typing import Callable

import numpy as np

from f3ast_tff.errors import SettingError

from .byte_budget import ByteBudget
from .constraint import CommunicationConstraint
from .fixed_k import FixedK
from .markov_k import MarkovK
from .random_k import PoissonK, UniformK
from .schedule import Schedule, Steps

FORMS = (
    "K, cycle:K,K,..., hold:K,K,..., steps:ROUND=K,ROUND=K,..., uniform:LEAST:MOST, poisson:MEAN, "
    "markov:K,K,...:MEMORY, bytes:BUDGET,..."
)


def constraint_from_text(
    text: str, num_clients: int, seed: int, update_sizes: np.ndarray | None = None
) -> CommunicationConstraint:
    """Returns the constraint that a text describes.

    Args:
        text: One of `FORMS`; for example `10`, `cycle:5,10,20` or `steps:1=10,100=50`.
        num_clients: Number of clients N; no K_t may exceed it.
        seed: Seed of random K_t.
        update_sizes: Bytes of each client's update, `int [N]`, for `bytes:`.

    Raises:
        SettingError: If the text has none of the forms, or a value is not allowed.
    """
    kind, _, rest = text.partition(":")
    makers: dict[str, Callable[[], CommunicationConstraint]] = {
        "cycle": lambda: Schedule(_integers(rest)),
        "hold": lambda: Schedule(_integers(rest), "hold"),
        "steps": lambda: _steps(rest),
        "uniform": lambda: _uniform(rest, seed),
        "poisson": lambda: PoissonK(float(rest), num_clients, seed),
        "markov": lambda: _markov(rest, seed),
        "bytes": lambda: _bytes(rest, update_sizes),
    }
    try:
        constraint = makers[kind]() if kind in makers else _fixed(text)
    except SettingError as error:
        raise SettingError("communication", text, error.allowed) from error
    except ValueError as error:
        raise SettingError("communication", text, f"must be one of: {FORMS}") from error
    if kind != "bytes" and constraint.largest_k > num_clients:
        allowed = f"K must be at most num_clients, {num_clients}"
        raise SettingError("communication", text, allowed)
    return constraint


def is_byte_budget(text: str) -> bool:
    """Returns whether a text describes a budget in bytes, for which sizes must be known."""
    return text.startswith("bytes:")


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(entry) for entry in text.split(","))


def _fixed(text: str) -> FixedK:
    (k,) = Schedule(_integers(text)).values
    return FixedK(k)


def _steps(text: str) -> Steps:
    pairs = [entry.split("=") for entry in text.split(",")]
    return Steps(tuple(int(t) for t, _ in pairs), tuple(int(k) for _, k in pairs))


def _uniform(text: str, seed: int) -> UniformK:
    least, most = text.split(":")
    return UniformK(int(least), int(most), seed)


def _markov(text: str, seed: int) -> MarkovK:
    levels, memory = text.split(":")
    return MarkovK(_integers(levels), float(memory), seed)


def _bytes(text: str, sizes: np.ndarray | None) -> ByteBudget:
    if sizes is None:
        raise SettingError("communication", text, "no sizes of updates are known here")
    return ByteBudget(tuple(int(float(entry)) for entry in text.split(",")), sizes)
