"""Properties of availability processes, constraints and deliveries: functions of seed and round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from f3ast_tff.availability.process import stationary_of
from f3ast_tff.availability.round_clients import available_clients
from f3ast_tff.conformance.case import Case, NotDecided
from f3ast_tff.conformance.strategies import alike, copied, other_choice
from f3ast_tff.run.selecting import constraint_of

_ROUNDS, _SEEDED = 12, 200
# Rounds and blocks for long-run shares, and the standard errors that a share may be off.
_MANY, _BLOCKS, _ERRORS, _LEAST = 2000, 20, 6.0, 0.02


def function_of_the_round(case: Case) -> str | None:
    """A round asked for alone has the result that it has after the rounds before."""
    in_order, alone = (_ask(case) for _ in range(2))
    found = {t: in_order(t) for t in range(1, _ROUNDS + 1)}
    for t in reversed(found):
        if not alike(found[t], alone(t)):
            return (
                f"round {t} asked for first is another than round {t} after rounds 1 to {t - 1}: "
                "it must be a function of seed and round alone, so that a run can be resumed"
            )
    if not alike(found[_ROUNDS], in_order(_ROUNDS)):
        return f"round {_ROUNDS} asked for twice has two results"
    return None


def masks_are_handed_over(case: Case) -> str | None:
    """What a caller does with a mask, and the next round, change no mask."""
    parts = case.experiment()
    process: Any = parts.availability
    before = process.mask(2).copy()
    for asked in (2, 3):
        kept = process.mask(2)
        process.mask(asked)
        if not np.array_equal(kept, before):
            return "the mask of round 2 changed when round 3 was asked for: return a new array"
        if kept.flags.writeable:
            kept[:] = ~kept
            if not np.array_equal(process.mask(2), before):
                return (
                    "a caller that writes into the mask of round 2 changes it: return a new array"
                )
    return None


def another_seed(case: Case) -> str | None:
    """Another seed gives other rounds; what draws nothing is the same for every seed."""
    if case.kind == "algorithm":
        return other_choice(case)
    asked, found = [], []
    for seed in (3, 4, 5):
        asked.append(_ask(case, seed=seed))
        found.append([asked[-1](t) for t in range(1, _SEEDED + 1)])
    one, other, third = found
    if not alike(one, [asked[0](t) for t in range(1, _SEEDED + 1)]):
        return "a new object of another seed changes the rounds of this one: they share something"
    if alike(one, other):
        raise NotDecided(
            f"{_SEEDED} rounds are the same for two seeds: right only if it draws nothing, and "
            "objects share nothing, such as a cache"
        )
    later = alike(one[1:], other[:-1]) and alike(other[1:], third[:-1])
    if later and not any(alike(one[gap:], one[:-gap]) for gap in range(1, _SEEDED // 2)):
        return (
            "round t of the next seed is round t + 1 of this one, as if seed and round were added: "
            "draws come from generator(seed, name, round)"
        )
    return None


def shares_are_stationary(case: Case) -> str | None:
    """Over 2000 rounds each client is there for the share that `stationary` says."""
    parts = case.experiment()
    process: Any = parts.availability
    said = stationary_of(process)
    if hasattr(process, "present"):
        raise NotDecided("its clients join and leave")
    n = parts.num_clients
    masks = np.array([available_clients(process, n, t + 1) for t in range(_MANY)])
    blocks = masks.reshape(_BLOCKS, -1, n).mean(axis=1)
    shares = blocks.mean(axis=0)
    if not shares.any():
        return f"nobody is available in any of {_MANY} rounds"
    if said is None:
        found = f"over {_MANY} rounds they are {shares.min():.3f} to {shares.max():.3f}"
        raise NotDecided(f"it does not say its long-run shares (stationary); {found}")
    error = blocks.std(axis=0, ddof=1) / np.sqrt(_BLOCKS)
    off = np.abs(shares - said)
    worst = int(np.argmax(off - _ERRORS * error))
    if off[worst] > max(_ERRORS * error[worst], _LEAST):
        return (
            f"client {worst} is there {shares[worst]:.3f} of {_MANY} rounds, "
            f"stationary says {said[worst]:.3f}"
        )
    return None


def limits_are_as_said(case: Case) -> str | None:
    """Over 2000 rounds K_t is at most `largest_k`, and `mean_k` in the mean."""
    constraint: Any = case.experiment().constraint
    limits = [constraint_of(constraint, t + 1) for t in range(_MANY)]
    if any(limit.cost is not None for limit in limits):
        raise NotDecided("a budget bounds the clients, not K_t alone")
    k = np.array([limit.k for limit in limits])
    if k.max() > constraint.largest_k:
        return f"K_{1 + k.argmax()} is {k.max()}, largest_k says {constraint.largest_k}"
    blocks = k.reshape(_BLOCKS, -1).mean(axis=1)
    error = blocks.std(ddof=1) / np.sqrt(_BLOCKS)
    if abs(k.mean() - constraint.mean_k) > max(_ERRORS * error, _LEAST * constraint.mean_k):
        found = f"K_t is {k.mean():.3f} in the mean of {_MANY} rounds"
        return f"{found}, mean_k says {constraint.mean_k:.3f}"
    return None


def order_of_the_asked(case: Case) -> str | None:
    """The same clients asked in another order deliver, after the same seconds; some do at all."""
    parts = case.experiment()
    ids = np.arange(0, parts.num_clients, 2)
    asked = (parts.delivery.arrivals(t, ids) for t in range(1, _SEEDED + 1))
    if not any(arrivals.delivered.any() for arrivals in asked):
        return f"no update is delivered in {_SEEDED} rounds"
    order, late = np.roll(ids, 1), case.configuration().configs["delivery"].is_late
    for t in range(1, _ROUNDS + 1):
        risen, turned = (case.experiment().delivery.arrivals(t, each) for each in (ids, order))
        for name in ("delivered", "seconds", "rounds"):
            one, two = (np.asarray(getattr(each, name)) for each in (risen, turned))
            if not alike(np.roll(one, 1), two):
                return (
                    f"clients asked in another order have other {name} in round {t}: draw for all "
                    "clients, and take those asked, draws[ids]"
                )
        if (risen.delivered & np.isinf(risen.seconds)).any():
            return f"an update is delivered in round {t} that never arrives: its seconds are inf"
        last = risen.seconds[risen.delivered].max(initial=0.0)
        if not late and last > risen.round_seconds:
            return (
                f"an update is delivered after {last:g} s in a round of {risen.round_seconds:g} s"
            )
    return None


def _ask(case: Case, **more: Any) -> Callable[[int], Any]:
    """Returns the function of the round of a new component; its results are copies."""
    parts = case.experiment(**more)
    n = parts.num_clients
    if case.kind == "availability":
        return lambda t: copied(available_clients(parts.availability, n, t))
    if case.kind == "constraint":
        return lambda t: copied(constraint_of(parts.constraint, t))
    return lambda t: copied(parts.delivery.arrivals(t, np.arange(0, n, 2)))
