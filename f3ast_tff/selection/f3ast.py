"""F3AST, Algorithm 1: learn participation rates, pick where H falls most, weigh by p / r."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from f3ast_tff.local_training import check_client_shares
from f3ast_tff.objective import ranking, root_numerators
from f3ast_tff.randomness import generator
from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection.choosing import BLOCK, Utility, best_feasible
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Round

# Whose participation the tracked rates are: see `F3AST`.
FOLLOWS = ("received", "selected", "both")
_SELECTED = "selected_"


def check_weight_bound(bound: float | None) -> None:
    """Checks a bound on p_k / r_k.

    Raises:
        ValueError: If it is not above 0.
    """
    if bound is not None and not bound > 0:
        raise ValueError(f"weight_bound {bound}: must be above 0")


def bounded(weights: np.ndarray, bound: float | None) -> np.ndarray:
    """Returns weights p_k / r_k, `float64 [m]`, none above the bound if there is one."""
    return weights if bound is None else np.minimum(weights, bound)


@dataclass
class F3AST(BaseStrategy):
    """Selection and weights of Algorithm 1.

    Each round: the feasible set of largest -dH/dr (line 4; the K available clients, if K is the
    constraint), then the rates move (line 5), then they weigh the updates, w_k = p_k / r_k(t)
    (line 9). The weights are meant for a SUM, never a normalised mean.

    A round costs one pass over the clients; p and the rates, 16 bytes a client, are all that is
    kept, and with H = sum p / r the root of p. The order by utility needs rates only up to a
    common factor, so no decay is carried out.

    Where updates are lost, the rates follow those received: for losses that are independent of the
    selection, E[1{k received} / r_k] = 1 at the rates themselves. Tracked ones leave a bias of
    about -beta (1 - r_k) / (2 r_k), which falls with beta. Rates of those selected would leave a
    client p_k (1 - l_k) of its weight, l_k its probability of loss. With rates of both, r of the
    received weighs, and selection goes by c_k / (r_k s_k), s of the selected: what asking a client
    is worth, -dH/ds_k, as r_k = (1 - l_k) s_k.

    Attributes:
        p: Client shares p_k, `float64 [N]`.
        rates: The tracked rates that weigh, moved by every `weigh`.
        objective: `"p_squared"` or `"p"`, the case of eq. (3) (reading R9).
        random_ties: Whether equal utilities are ordered at random; else the lowest id wins
            (reading R11).
        fill_unavailable: Whether a round with fewer than K available clients also trains
            unavailable ones, lowest ids first, as the released code does (reading R17).
        divide_by_k: Whether every weight is divided by K_t, as in the released code (reading R2).
        weight_bound: Largest p_k / r_k of a selected client, above 0; `None` for no bound. Where
            it takes effect the aggregate is biased: the client then counts for less than p_k.
        seed: Seed of the tie-breaks.
        follow: Whether `rates` are those of the `"received"` or the `"selected"`.
        selected_rates: Rates s of the selected beside r of the received; `None` for one kind alone.
    """

    p: np.ndarray
    rates: ParticipationRates
    objective: str = "p_squared"
    random_ties: bool = True
    fill_unavailable: bool = False
    divide_by_k: bool = False
    seed: int = 0
    weight_bound: float | None = None
    follow: str = "received"
    selected_rates: ParticipationRates | None = None

    def __post_init__(self) -> None:
        check_client_shares(self.p)
        check_weight_bound(self.weight_bound)
        if self.selected_rates is not None and self.follow != "received":
            raise ValueError("with rates of the selected beside them, rates follow the received")

    def select(self, now: Round) -> np.ndarray:
        """See `Strategy.select`; line 4."""
        rng = generator(self.seed, "selection", now.number) if self.random_ties else None
        ids = best_feasible(self._utility(now.feasible), now.available, now.feasible, rng)
        k = now.feasible.k
        if self.fill_unavailable and now.feasible.counts_only and len(ids) < k:
            # Masked utilities are 0 for all of these, so ties decide: the lowest ids.
            ids = np.concatenate([ids, np.flatnonzero(~now.available)[: k - len(ids)]])
        return ids

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """See `Strategy.weigh`; lines 5 and 9."""
        arrived = ids[delivered]
        self.rates.update(arrived if self.follow == "received" else ids)
        if self.selected_rates is not None:
            self.selected_rates.update(ids)
        divisor = now.feasible.k if self.divide_by_k else 1
        weights = bounded(self.p[arrived] / self.rates.at(arrived), self.weight_bound)
        return Cohort(arrived, weights / divisor)

    def _utility(self, feasible: Feasible) -> Utility:
        rates, roots = self.rates.unscaled, self._roots
        if self.selected_rates is not None:
            asked = self.selected_rates.unscaled
            return lambda part: (
                ranking(rates[part], roots[part]) * ranking(asked[part], roots[part])
            )
        if feasible.cost is not None:
            return lambda part: np.square(ranking(rates[part], roots[part]))
        # Without costs the order is all that counts. One buffer serves block after block.
        buffer = np.empty(min(len(rates), BLOCK))

        def in_order(part: slice) -> np.ndarray:
            here = rates[part]
            room = buffer[: len(here)] if len(here) <= len(buffer) else None
            return ranking(here, roots[part], out=room)

        return in_order

    @cached_property
    def _roots(self) -> np.ndarray:
        return root_numerators(self.p, self.objective)

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> F3AST:
        """See `Renewable.renewed`; clients that stay keep their rates."""
        asked = self.selected_rates
        return replace(
            self,
            p=p,
            rates=self.rates.started(joined, initial_rate),
            selected_rates=None if asked is None else asked.started(joined, initial_rate),
        )

    def participation_rates(self) -> np.ndarray:
        """See `BaseStrategy.participation_rates`."""
        return self.rates.values

    def state(self) -> dict[str, np.ndarray]:
        """Returns the rates, all that F3AST remembers."""
        asked = {} if self.selected_rates is None else self.selected_rates.state()
        return {**self.rates.state(), **{_SELECTED + name: v for name, v in asked.items()}}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back saved rates."""
        self.rates.restore(state)
        if self.selected_rates is not None:
            parts = {n: v for n, v in state.items() if n.startswith(_SELECTED)}
            self.selected_rates.restore({n[len(_SELECTED) :]: v for n, v in parts.items()})
