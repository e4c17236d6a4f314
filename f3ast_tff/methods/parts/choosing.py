"""Choosing clients: draws by weight, the K of largest utility, and eq. (4) under any constraint."""

from __future__ import annotations

from typing import Callable

import numpy as np

from f3ast_tff.methods.parts.constraint import RoundConstraint

# Clients per pass: its arrays stay in the cache.
BLOCK = 2**16

# Utility of the clients of a slice, `float64`.
Utility = Callable[[slice], np.ndarray]


def draw_by_weight(
    candidates: np.ndarray,
    weights: np.ndarray,
    k: int,
    rng: np.random.Generator,
    *,
    replace: bool = False,
) -> np.ndarray:
    """Draws clients with probability proportional to their weight.

    Args:
        candidates: Client ids to draw from, `int [m]`.
        weights: Weight of every client, at least 0, `float [N]`; 0 is never drawn.
        k: Draws wanted, at least 1.
        rng: Source of randomness.
        replace: Whether a client can be drawn again. Without replacement, draws are successive
            (each proportional among those left) and at most `m` are made.

    Returns:
        Ids in order of the draws, `int64`; empty if there are no candidates.
    """
    candidates = candidates[weights[candidates] > 0]
    if len(candidates) == 0:
        return np.zeros(0, np.int64)
    chance = weights[candidates] / weights[candidates].sum()
    size = k if replace else min(k, len(candidates))
    return rng.choice(candidates, size=size, replace=replace, p=chance).astype(np.int64)


def uniform_part(
    candidates: np.ndarray, constraint: RoundConstraint, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Returns the clients that take part, all of them if the constraint lets them.

    CA-Fed's App. H2: S_t is drawn uniformly from the clients there are. A sum over S_t, times the
    factor, has the sum over all of them as its expectation where the constraint is a number;
    where some clients are likelier to be admitted than others it has not.

    Args:
        candidates: Client ids, increasing, `int [m]`.
        constraint: The constraint; one that does not only count lets clients in in random order.
        rng: Source of randomness, untouched if K_t is a number that is large enough.

    Returns:
        Ids, increasing, `int64`, and the factor m / |S_t| (1 if there are none).
    """
    if not constraint.counts_only:
        ids = np.sort(constraint.admit(rng.permutation(candidates)))
    elif constraint.k < len(candidates):
        ids = np.sort(rng.choice(candidates, constraint.k, replace=False))
    else:
        ids = candidates
    return ids.astype(np.int64), len(candidates) / len(ids) if len(ids) else 1.0


def best_feasible(
    utility: Utility,
    available: np.ndarray,
    constraint: RoundConstraint,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Returns argmax over S in C_t of the sum of utilities, eq. (4).

    Args:
        utility: Utility of a slice of clients, at least 0.
        available: Available clients, `bool [N]`.
        constraint: The constraint. With a number or with groups the greedy choice is exact; with
            costs it is worth at least half of the optimum (see `knapsack`).
        rng: Breaks ties uniformly; `None` lets the lowest id win.

    Returns:
        Ids, best first, `int64`.
    """
    if constraint.cost is None or constraint.budget is None:
        return admit_by_priority(utility, available, constraint, rng)
    everyone = utility(slice(None))
    ids = ranked(np.flatnonzero(available), everyone, rng)
    return knapsack(
        candidates=ids,
        utility=everyone[ids],
        cost=constraint.cost[ids],
        budget=constraint.budget,
        k=constraint.k,
    )


def admit_by_priority(
    priority: Utility,
    available: np.ndarray,
    constraint: RoundConstraint,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Lets available clients in one by one, by falling priority; see `RoundConstraint.admit`.

    Args and result are those of `best_feasible`, but priorities are compared, never summed.
    """
    if constraint.counts_only:
        return top_k(priority, available, constraint.k, rng)
    return constraint.admit(ranked(np.flatnonzero(available), priority(slice(None)), rng))


def ranked(
    candidates: np.ndarray, utility: np.ndarray, rng: np.random.Generator | None
) -> np.ndarray:
    """Sorts clients; the first K of them are exact for eq. (4), whose objective is additive.

    Args:
        candidates: Client ids, `int [m]`.
        utility: Utility of every client, `float [N]`.
        rng: Breaks ties uniformly; `None` lets the lowest id win.

    Returns:
        All candidates, best first, `int64`.
    """
    tie_break = candidates if rng is None else rng.permutation(len(candidates))
    best_first = np.lexsort((tie_break, -utility[candidates]))
    return np.asarray(candidates, np.int64)[best_first]


def top_k(
    utility: Utility, available: np.ndarray, k: int, rng: np.random.Generator | None
) -> np.ndarray:
    """Picks the available clients of largest utility; exact for eq. (4) under |S| <= K.

    One pass in blocks: no array as long as the clients is made, and time is linear in N, whatever
    the order of the utilities and however many tie. Up to one block of clients it is `ranked`,
    which orders all candidates and draws a tie-break for each.

    Args:
        utility: Utility of a slice of clients, not NaN.
        available: Clients to pick from, `bool [N]`.
        k: How many to pick, at least 1; fewer if fewer are available.
        rng: Breaks ties uniformly; `None` lets the lowest id win.

    Returns:
        Picked ids, best first, `int64`.
    """
    if len(available) <= BLOCK:
        return ranked(np.flatnonzero(available), utility(slice(None)), rng)[:k]
    best = _Best(k, rng)
    for start in range(0, len(available), BLOCK):
        block = slice(start, min(start + BLOCK, len(available)))
        best.add(start, utility(block), available[block])
    return best.ids()


class _Best:
    """The k best of the clients seen: all above `least`, and some of those that tie with it.

    Attributes:
        above, values: Ids and utilities of those above, in the order of ids.
        least: Utility of the others, `-inf` until k clients have been seen.
        tied: Ids of the others: a uniform sample of the clients seen of utility `least`, or, with
            no generator, the lowest ids.
        num_tied: How many such clients have been seen.
    """

    def __init__(self, k: int, rng: np.random.Generator | None) -> None:
        self.k = k
        self.rng = rng
        self.above = self.tied = np.zeros(0, np.int64)
        self.values = np.zeros(0)
        self.least = -np.inf
        self.num_tied = 0

    def add(self, start: int, values: np.ndarray, available: np.ndarray) -> None:
        enough = values >= self.least
        enough &= available
        if not enough.any():
            return
        above = values > self.least
        above &= enough
        if self.rng is not None and len(self.tied):
            enough ^= above
            self._add_ties(start, enough, self.rng)
        better = np.flatnonzero(above)
        if len(better):
            self.above = np.concatenate([self.above, better + start])
            self.values = np.concatenate([self.values, values[better]])
            if len(self.above) >= self.k:
                self._raise_least()
            else:
                self.tied = self._some(self.tied, self.k - len(self.above))

    def _add_ties(self, start: int, equal: np.ndarray, rng: np.random.Generator) -> None:
        """Merges two uniform samples into one of both; how many come from the new is random."""
        more, places = int(np.count_nonzero(equal)), len(self.tied)
        entering = int(rng.hypergeometric(more, self.num_tied, places)) if more else 0
        if entering:
            leaving = self._some(np.arange(places), entering)
            self.tied[leaving] = _random_places(equal, count=more, number=entering, rng=rng) + start
        self.num_tied += more

    def _raise_least(self) -> None:
        cut = len(self.values) - self.k
        self.least = float(np.partition(self.values, cut)[cut])
        above, tied = self.values > self.least, self.above[self.values == self.least]
        self.above, self.values = self.above[above], self.values[above]
        self.tied = self._some(tied, self.k - len(self.above))
        self.num_tied = len(tied)

    def _some(self, ids: np.ndarray, number: int) -> np.ndarray:
        if number >= len(ids):
            return ids
        if self.rng is None:
            return ids[:number]
        return self.rng.choice(ids, number, replace=False, shuffle=False)

    def ids(self) -> np.ndarray:
        best_first = np.lexsort((self.above, -self.values))
        return np.concatenate([self.above[best_first], np.sort(self.tied)])


def _random_places(
    where: np.ndarray, count: int, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Returns `number` of the `count` places where `where` holds, uniformly, `int64`."""
    if 4 * number > count:
        return rng.choice(np.flatnonzero(where), number, replace=False, shuffle=False)
    # Few of many: places at random, those where it does not hold and repetitions dropped.
    found = np.zeros(0, np.int64)
    while len(found) < number:
        tried = rng.integers(len(where), size=2 * number * len(where) // count + 1)
        found = np.concatenate([found, tried[where[tried]]])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return found[:number]


def knapsack(
    candidates: np.ndarray,
    utility: np.ndarray,
    cost: np.ndarray,
    budget: float,
    k: int,
) -> np.ndarray:
    """Eq. (4) under a budget: at most k clients, of total cost at most the budget.

    The problem is NP-hard. For a price x per unit of cost, the k clients of largest
    `utility - x cost` above 0 are chosen greedily; bisection finds the price where they come to
    fit the budget. With no k this is the greedy by utility per cost. The choice just inside the
    budget, filled up with what still fits, or the choice greedy by utility alone if that is worth
    more, is worth at least half of the best there is. (Lagrangian bound: the first choice that
    overspends is worth at least the optimum, and but for one client it does not overspend; no
    client is worth more than the first of the greedy by utility.)

    Args:
        candidates: Client ids, `int [m]`; the order decides ties.
        utility: Utility of each candidate, at least 0 and finite, `float [m]`.
        cost: Cost of each candidate, above 0, `float [m]`.
        budget: Most that the picks may cost, above 0.
        k: The most clients, at least 1.

    Returns:
        Picked ids, best utility first, `int64`.
    """
    fits = np.flatnonzero(cost <= budget)
    ids, worth, cost = np.asarray(candidates, np.int64)[fits], utility[fits], cost[fits]
    if len(ids) == 0:
        return ids
    worth = worth / max(float(worth.max()), np.finfo(float).tiny)
    by_price = _fill(
        chosen=_price_choice(worth, cost, budget, k),
        merit=worth / cost,
        cost=cost,
        budget=budget,
        k=k,
    )
    by_worth = _fill(chosen=np.zeros(0, np.int64), merit=worth, cost=cost, budget=budget, k=k)
    chosen = max(by_price, by_worth, key=lambda places: float(worth[places].sum()))
    return ids[chosen[np.argsort(-worth[chosen], kind="stable")]]


def _price_choice(worth: np.ndarray, cost: np.ndarray, budget: float, k: int) -> np.ndarray:
    def choice(price: float) -> np.ndarray:
        surplus = worth - price * cost
        best = np.argsort(-surplus, kind="stable")[:k]
        return best[surplus[best] > 0]

    low, high = 0.0, float(np.max(worth / cost)) * 2
    outside = choice(low)
    if cost[outside].sum() <= budget:
        return outside
    inside = choice(high)
    while low < (middle := (low + high) / 2) < high:
        chosen = choice(middle)
        if cost[chosen].sum() > budget:
            low, outside = middle, chosen
        else:
            high, inside = middle, chosen
    return _walk(inside, outside, cost, budget)


def _walk(inside: np.ndarray, outside: np.ndarray, cost: np.ndarray, budget: float) -> np.ndarray:
    """Exchanges clients one at a time towards `outside`, as long as the budget holds."""
    chosen = set(inside.tolist())
    leaving = [place for place in inside.tolist() if place not in set(outside.tolist())]
    for new in (place for place in outside.tolist() if place not in chosen):
        changed = (chosen - {leaving.pop()} if leaving else chosen) | {new}
        if cost[sorted(changed)].sum() > budget:
            break
        chosen = changed
    return np.array(sorted(chosen), np.int64)


def _fill(
    chosen: np.ndarray, merit: np.ndarray, cost: np.ndarray, budget: float, k: int
) -> np.ndarray:
    """Adds clients by falling merit, each that still fits."""
    left, taken = budget - cost[chosen].sum(), set(chosen.tolist())
    for place in np.argsort(-merit, kind="stable").tolist():
        if len(taken) >= k:
            break
        if place not in taken and cost[place] <= left:
            taken.add(place)
            left -= cost[place]
    return np.array(sorted(taken), np.int64)
