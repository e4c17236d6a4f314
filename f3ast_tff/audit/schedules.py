"""Schedules of who is there, from always to nobody."""

from __future__ import annotations

import numpy as np

from f3ast_tff.audit.world import Schedule, everybody, presence_of
from f3ast_tff.availability.renewal import Renewal
from f3ast_tff.availability.spell_laws import Weibull
from f3ast_tff.core.randomness import generator

# Names with what each is, in the order of the report.
SCHEDULES = {
    "always": "all clients, always",
    "independent": "client k in each round with its own probability, from .1 to 1",
    "daily wave": "rounds of an hour; each client in its own half of the day, the rare ones less",
    "heavy tails": "spells of Weibull laws of shape .5, so that some absences are very long",
    "groups": "two halves that come and go together, one a third as often",
    "long absence": "the first client gone for half of the rounds, then back",
    "nobody": "every 25 rounds nobody for 5 rounds",
    "lost replies": "as independent, and half of the replies lost",
    "late replies": "as independent, and half of the replies one to three rounds late",
}
_DAY = 24


def schedules(
    rounds: int, num_clients: int, seed: int = 0, log: np.ndarray | None = None
) -> list[Schedule]:
    """Returns all schedules, with some rounds to spare for servers that wait.

    Args:
        rounds: Rounds of the server.
        num_clients: Number of clients, even.
        seed: Seed of the draws.
        log: Masks of the user, `bool [T, N]`, which repeat; `None` for none.
    """
    length, n, presence = 2 * rounds, num_clients, presence_of(num_clients)
    draw = generator(seed, "audit schedules").random((length, n))
    hours = np.arange(length)[:, None]
    phase = np.arange(n) * 5 % _DAY
    wave = np.clip(presence * (1 + np.sin(2 * np.pi * (hours - phase) / _DAY)), 0, 1)
    own = draw < presence
    halves = np.repeat(draw[:, :2] < [0.3, 0.9], n // 2, axis=1)
    away = np.ones((length, n), bool)
    away[rounds // 4 : 3 * rounds // 4, 0] = False
    nobody = own | (np.arange(n) == n - 1)
    nobody[np.arange(length) % 25 >= 20] = False
    masks = {
        "independent": own,
        "daily wave": draw < wave,
        "heavy tails": _spells(length, presence, seed),
        "groups": halves,
        "long absence": away,
        "nobody": nobody,
    }
    found = [everybody(length, n), *(Schedule(name, each) for name, each in masks.items())]
    found.append(Schedule("lost replies", own, lost=0.5))
    found.append(Schedule("late replies", own, late=0.5))
    if log is not None:
        found.append(Schedule("log", np.resize(log, (length, log.shape[1]))))
    return found


def _spells(length: int, presence: np.ndarray, seed: int) -> np.ndarray:
    """Client k is up for 4 rounds on average, and down so long that this is its share."""
    found = []
    for k, share in enumerate(presence):
        # The mean of a Weibull law of shape .5 is twice its scale.
        down = Weibull(0.5, max(2.0 * (1 / share - 1), 1e-3))
        process = Renewal(1, up=Weibull(0.5, 2.0), down=down, seed=seed * len(presence) + k)
        found.append([bool(process.mask(t)[0]) for t in range(1, length + 1)])
    return np.array(found).T
