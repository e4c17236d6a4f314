"""Grids of client and server rates: what lies beside a choice, and whether methods had one grid.

Methods had one grid if all ran the same pairs. They also had one if they began with the same full
grid, all pairs of some client and some server rates, and went on by the rule of `tuned_rates
--edges`: if a method's best pair lies on the edge of its pairs so far, the pairs beside it follow.
The first such step is asked of every method, further steps are not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

# A client rate and a server rate.
Pair = tuple[float, float]

# Rates that differ by a smaller factor count as equal: 0.0316 is 0.03.
_ABOUT = 1.1


class Edge(NamedTuple):
    """Position of a pair among the pairs that were run.

    Attributes:
        rates: The rates whose next step up or down was not run: `client`, `server`, `both` or `""`.
        beside: The pairs one step away in either rate or both that were not run; none without an
            edge.
    """

    rates: str
    beside: list[Pair]


def best_of(means: Mapping[Pair, float]) -> Pair:
    """Returns the pair of the highest mean; of equal means the smallest rates, the client's first.

    Args:
        means: Mean score of each pair.
    """
    return max(sorted(means), key=lambda pair: means[pair])


def edge_of(best: Pair, ran: Collection[Pair], tried: Collection[Pair] | None = None) -> Edge:
    """Returns the edge on which a pair lies.

    Args:
        best: A pair of `ran`.
        ran: The pairs that were run.
        tried: Pairs whose rates stand for near rates of the ladder 0.1, 0.3, 1, 3; by default
            `ran`.
    """
    client, server = best
    steps = []
    for place, rate in enumerate(best):
        # A rate that has one value only is not tuned.
        tuned = len({pair[place] for pair in ran}) > 1
        near = {pair[place] for pair in (ran if tried is None else tried)}
        steps.append(_steps(rate, near) if tuned else (rate,))
    at_edge = [
        name
        for name, pairs in (
            ("client", [(each, server) for each in steps[0]]),
            ("server", [(client, each) for each in steps[1]]),
        )
        if not {*pairs} <= {*ran}
    ]
    around = {*itertools.product(steps[0], steps[1])}
    beside = sorted(around - {*ran}) if at_edge else []
    return Edge("both" if len(at_edge) > 1 else "".join(at_edge), beside)


def unequal_grids(methods: Mapping[str, Mapping[Pair, float]]) -> str:
    """Says how the grids of methods are unequal; `""` if the methods had one grid.

    Args:
        methods: Mean score of each pair that a method ran, by the method's name.

    Returns:
        The methods by their number of pairs, and a pair that the rule does not explain.
    """
    common = set.intersection(*(set(means) for means in methods.values()))
    if all(means.keys() == common for means in methods.values()):
        return ""
    why = "no pair is common to all"
    starts = _full_grids(common)
    # The largest grid last, for the message.
    for start in reversed(starts):
        says = (_unexplained(name, means, start) for name, means in methods.items())
        why = next(filter(None, says), "")
        if not why:
            return ""
    names: dict[int, list[str]] = {}
    for name, means in methods.items():
        names.setdefault(len(means), []).append(name)
    counts = "; ".join(f"{number} pairs: {' | '.join(names[number])}" for number in sorted(names))
    return f"{counts} ({why})"


def _full_grids(pairs: Collection[Pair]) -> list[set[Pair]]:
    """The full grids of neighbouring rates among these pairs, the largest first."""
    clients, servers = (sorted({pair[place] for pair in pairs}) for place in (0, 1))
    grids = [
        {*itertools.product(some, others)}
        for some, others in itertools.product(_stretches(clients), _stretches(servers))
    ]
    found = [grid for grid in grids if grid <= {*pairs}]
    return sorted(found, key=lambda grid: (-len(grid), sorted(grid)))


def _stretches(rates: list[float]) -> list[list[float]]:
    ends = range(len(rates) + 1)
    return [rates[first:end] for first, end in itertools.combinations(ends, 2)]


def _unexplained(name: str, means: Mapping[Pair, float], start: Collection[Pair]) -> str:
    """A pair that a method lacks or has against the rule, in words; `""` without one."""
    so_far = {pair: means[pair] for pair in start}
    beside = edge_of(best_of(so_far), so_far, means).beside
    grid = f"the common grid of {len(start)}"
    missing = [pair for pair in beside if pair not in means]
    if missing:
        return f"{name} lacks {rates_said(missing[0])}, beside its best of {grid}"
    while added := [pair for pair in beside if pair in means]:
        so_far.update({pair: means[pair] for pair in added})
        beside = edge_of(best_of(so_far), so_far, means).beside
    odd = sorted(means.keys() - so_far.keys())
    return f"{name} has {rates_said(odd[0])}, not beside its best from {grid}" if odd else ""


def rates_said(pair: Pair) -> str:
    """Returns a pair in words, without a rate that is not known (infinite)."""
    rates = zip(("client_lr", "server_lr"), pair)
    return ", ".join(f"{name} {rate:g}" for name, rate in rates if rate != math.inf)


def _steps(rate: float, tried: Collection[float]) -> tuple[float, float, float]:
    """A rate with its neighbours in ..., 0.1, 0.3, 1, 3, 10, ..., or tried ones that are near."""
    power = int(f"{rate:e}".split("e")[1])
    ladder = [float(f"{step}e{power + up}") for up in (-1, 0, 1) for step in (1, 3)]
    # A ladder's rate that is about the given one is not its neighbour.
    below = max(each for each in ladder if each * _ABOUT < rate)
    above = min(each for each in ladder if each > rate * _ABOUT)
    near = [
        next((other for other in sorted(tried) if 1 / _ABOUT < other / each < _ABOUT), each)
        for each in (below, above)
    ]
    return near[0], rate, near[1]
