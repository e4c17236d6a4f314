"""Choosing clients: draws by weight, the K of largest utility, and eq. (4) under any constraint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from f3ast_tff.core.round_constraint import RoundConstraint

# Clients per block, so that the arrays of a block stay in the cache.
BLOCK = 2**16

# Function from a slice of clients to their utilities, `float64`.
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
            (each proportional among the remaining clients), and there are at most `m`.

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
    """Returns the clients that take part: all candidates if the constraint admits them.

    Otherwise S_t is drawn uniformly from the candidates (CA-Fed, App. H2). If the constraint is a
    number, a sum over S_t times the factor has the sum over all candidates as its expectation. If
    the constraint admits some clients more likely than others, this does not hold.

    Args:
        candidates: Client ids, increasing, `int [m]`.
        constraint: The constraint; if it is more than a number, it admits clients in random order.
        rng: Source of randomness; not used if the constraint is a number K_t of at least m.

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
        constraint: The constraint. For a number or for groups the greedy choice is exact. For
            costs it reaches at least half of the optimum (see `knapsack`).
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
    """Admits available clients one by one, by falling priority; see `RoundConstraint.admit`.

    Args and result are as for `best_feasible`, except that priorities are only compared.
    """
    if constraint.counts_only:
        return top_k(priority, available, constraint.k, rng)
    return constraint.admit(ranked(np.flatnonzero(available), priority(slice(None)), rng))


def ranked(
    candidates: np.ndarray, utility: np.ndarray, rng: np.random.Generator | None
) -> np.ndarray:
    """Sorts clients by utility; the first K solve eq. (4) under |S| <= K, its sum being additive.

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

    The pass goes by blocks and makes no array of length N. Its time is linear in N, for any order
    of the utilities and any number of ties. For at most one block of clients the function uses
    `ranked`, which orders all candidates and draws a tie-break for each.

    Args:
        utility: Utility of a slice of clients, not NaN.
        available: Clients to pick from, `bool [N]`.
        k: Number of clients to pick, at least 1; fewer if fewer are available.
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
    """The k best of the clients seen: all above `least`, and some of utility `least`.

    Attributes:
        above, values: Ids and utilities of clients above `least`, in the order of ids.
        least: Least utility among the k best, `-inf` until k clients have been seen.
        tied: Ids of kept clients of utility `least`: a uniform sample of all seen, or, without a
            generator, the lowest ids.
        num_tied: Number of clients of utility `least` seen.
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
        """Merges new ties into the uniform sample; the number of new clients in it is random."""
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
    """Draws `number` of the `count` places where `where` holds, uniformly, `int64`."""
    if 4 * number > count:
        return rng.choice(np.flatnonzero(where), number, replace=False, shuffle=False)
    # Few of many: draw random places; drop repetitions and places where `where` does not hold.
    found = np.zeros(0, np.int64)
    while len(found) < number:
        tried = rng.integers(len(where), size=2 * number * len(where) // count + 1)
        found = np.concatenate([found, tried[where[tried]]])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return found[:number]


def knapsack(
    candidates: np.ndarray, utility: np.ndarray, cost: np.ndarray, budget: float, k: int
) -> np.ndarray:
    """Solves eq. (4) approximately under a budget: at most k clients, total cost at most `budget`.

    The problem is NP-hard. For a price x per unit of cost, take the k clients of largest
    `utility - x cost` above 0. Bisection finds the least price at which they fit the budget; if k
    does not bind, this is the greedy choice by utility per cost. The choice at that price is filled
    up with clients that still fit. A second choice is greedy by utility. The better of the two has
    at least half of the optimal utility. (Lagrangian bound: the first choice that overspends is
    worth at least the optimum, and without one of its clients it fits. No client is worth more
    than the first client of the choice by utility.)

    Args:
        candidates: Client ids, `int [m]`; the order decides ties.
        utility: Utility of each candidate, at least 0 and finite, `float [m]`.
        cost: Cost of each candidate, above 0, `float [m]`.
        budget: Largest total cost of the picks, above 0.
        k: Largest number of picks, at least 1.

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
    """Exchanges clients of `inside` for clients of `outside` one by one while the budget holds."""
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
    """Adds clients by falling merit; skips clients that do not fit."""
    left, taken = budget - cost[chosen].sum(), set(chosen.tolist())
    for place in np.argsort(-merit, kind="stable").tolist():
        if len(taken) >= k:
            break
        if place not in taken and cost[place] <= left:
            taken.add(place)
            left -= cost[place]
    return np.array(sorted(taken), np.int64)
