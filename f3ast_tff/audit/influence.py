"""Rules without linear weights: who is selected, and whose reply moves the step by how much.

Unit vectors say nothing of medians, trimmed means, Krum and Bulyan: a median of three or more of
them is 0, Krum meets ties. Here all clients share an optimum. Each strays from it in dense random
directions, client k by its own length, and replies arrive in random order. Client k's reply is then
moved by a little, h s with random signs s:

    influence of k on coordinate i = (step_i(updates + h s e_k) - step_i(updates)) / (h s_i)

A plain mean has 1 / N in each coordinate, a median 1 for the client in the middle, else 0. The gain
is the step's move if all replies move by 1. Where a small move selects other clients the step
jumps: quotients above twice the gain are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from f3ast_tff.audit.plays import NoStepError, step
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.world import DENSE, presence_of
from f3ast_tff.core.randomness import generator

_DRAWS, _FEWEST = 30, 10
_STEP, _SAME, _JUMP = 1e-2, 1e-3, 2.0
# Lengths by which clients stray: no order of presence.
_NOISE = 0.2 * (1 + 5 * np.arange(8) % 8)


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of the clients on a step.

    Attributes:
        presence: Share of the draws in which each client is there, `float64 [N]`.
        noise: Length by which each strays from the optimum, per coordinate, `float64 [N]`.
        mean: Influence, the mean over coordinates and draws; 0 where a client is away.
        errors: Standard errors of `mean`.
        selected: Share of the coordinates and draws with the client there that its reply moves.
        own: Share of the draws in which the step is the client's own update.
        gain: Move of the step if all replies move by 1, the mean over the draws that move at all.
        still: Share of the draws in which the model stays.
    """

    presence: np.ndarray
    noise: np.ndarray
    mean: np.ndarray
    errors: np.ndarray
    selected: np.ndarray
    own: np.ndarray
    gain: float
    still: float

    @property
    def shares(self) -> np.ndarray:
        """Influence over that of an equal mean of all clients, `float64 [N]`."""
        return self.mean * len(self.mean)


def influence_of_all(target: Target, examples: np.ndarray) -> Influence:
    """Returns the influence with all clients there; `NoStepError` if too few rounds end."""
    return _drawn(target, examples, lambda random: np.ones(len(examples), bool))


def influence_by_presence(target: Target, examples: np.ndarray) -> Influence:
    """Returns the influence with client k there by its own share of the rounds."""
    n = len(examples)
    fewest, presence = min(max(2, target.least or 0), n), presence_of(n)

    def mask(random: np.random.Generator) -> np.ndarray:
        while True:
            there = np.asarray(random.random(n) < presence)
            if there.sum() >= fewest:
                return there

    return _drawn(target, examples, mask)


def _drawn(
    target: Target, examples: np.ndarray, mask: Callable[[np.random.Generator], np.ndarray]
) -> Influence:
    n, why, found = len(examples), "", []
    noise = np.resize(_NOISE, n)
    for draw in range(_DRAWS):
        random = generator(draw, "audit influence")
        there = mask(random)
        updates = 1.0 + noise[:, None] * random.standard_normal((n, DENSE * n))
        signs = random.choice([-_STEP, _STEP], updates.shape)
        try:
            found.append(_of_step(target, examples, there, updates, signs, draw))
        except NoStepError as error:
            why = str(error)
    if len(found) < _FEWEST:
        raise NoStepError(why)
    masks, means, moved, own, gains = (np.array(each, float) for each in zip(*found))
    presence, still = masks.mean(axis=0), ~own.any(axis=1) & ~moved.any(axis=1)
    with np.errstate(invalid="ignore"):
        selected = moved.mean(axis=0) / presence
    return Influence(
        presence,
        noise,
        mean=means.mean(axis=0),
        errors=means.std(axis=0, ddof=1) / math.sqrt(len(means)),
        selected=selected,
        own=own.mean(axis=0),
        gain=float(gains[~still].mean()) if not still.all() else 0.0,
        still=float(still.mean()),
    )


def _of_step(
    target: Target,
    examples: np.ndarray,
    there: np.ndarray,
    updates: np.ndarray,
    signs: np.ndarray,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Who is there; influence; share of moved coordinates; whose own reply it is; and the gain."""

    def stepped(moves: np.ndarray | float) -> np.ndarray:
        return step(target, updates + moves, examples, there, seed=seed, order=seed)

    base, changes = stepped(0.0), np.zeros_like(updates)
    gain = float((stepped(1.0) - base).mean())
    clients = np.arange(len(examples))
    for k in clients[there] if base.any() else ():
        changes[k] = (stepped((clients == k)[:, None] * signs) - base) / signs[k]
    smooth = np.abs(changes) <= _JUMP * abs(gain)
    influence = np.where(smooth, changes, 0.0).sum(axis=1) / np.maximum(smooth.sum(axis=1), 1)
    moved = (np.abs(changes) > _SAME).mean(axis=1)
    own = there & (np.abs(updates - base).max(axis=1) < _SAME)
    return there, influence, moved, own, gain


def influences_of(target: Target, examples: np.ndarray) -> tuple[list[Influence], str]:
    """Returns the influence with all there and by presence, and why there is none."""
    try:
        return [influence_of_all(target, examples), influence_by_presence(target, examples)], ""
    except NoStepError as error:
        return [], str(error)
