"""F3AST, Algorithm 1: learn participation rates, pick where H falls most, weigh by p / r."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from f3ast_tff.core.choosing import Utility, best_feasible
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.lazy_names import renamed
from f3ast_tff.core.local_training import renewed_shares
from f3ast_tff.core.rates import ParticipationRates, best_if_all_available, bounded, root_numerators
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.parts.algorithm import (
    ObjectiveConfig,
    RateBetaConfig,
    TiesConfig,
    has_byte_budget,
    require,
)
from f3ast_tff.methods.parts.selecting_method import SelectingMethod, takes_old_arguments
from f3ast_tff.methods.parts.strategy import Cohort, Round, StrategyContext
from f3ast_tff.settings import Derived, Reading, parameter, register
from f3ast_tff.settings.configuration import Settings

if TYPE_CHECKING:
    from f3ast_tff.core.cluster_rates import ClusterRates

# Clients whose participation the rates track: see `F3AST`.
FOLLOWS = ("delivered", "selected", "both")


def _default_first_rates(known: Any) -> str:
    """The authors' p for convex models; on others its steps, longer than FedAvg's, end training."""
    convex = known.config_class("model").convex and known["lora"] is None
    return "p" if convex else "all_available"


@takes_old_arguments
@register(
    "algorithm",
    "f3ast",
    "F3AST",
    about="learns participation rates r_k, selects where H falls most, weighs by p / r",
    order=3,
)
@dataclass(frozen=True)
class F3AST(SelectingMethod, TiesConfig, ObjectiveConfig, RateBetaConfig):
    """Selection and weights of Algorithm 1.

    Each round `select` takes the feasible set of largest -dH/dr (line 4): if K is the only
    constraint, the K available clients of largest -dH/dr_k. Then `weigh` moves the rates (line 5)
    and weighs the updates by them, w_k = p_k / r_k(t) (line 9). The weights are meant for a SUM,
    never a normalised mean.

    A round costs one pass over the clients. The state is p and the rates, 16 bytes per client, and
    for H = sum p / r also the root of p. The order by utility needs rates only up to a common
    factor, so the decay is not applied to each rate.

    If updates are lost, the rates follow the delivered clients. For losses independent of the
    selection, E[1{k delivered} / r_k] = 1 at the true rates. Tracked rates leave a bias of about
    -beta (1 - r_k) / (2 r_k), which falls with beta. Rates of the selected clients would leave
    client k the weight p_k (1 - l_k), with l_k its probability of loss. With rates of both, r of
    the delivered clients weighs. Selection then goes by c_k / (r_k s_k), with s of the selected
    clients: the utility -dH/ds_k of asking a client, since r_k = (1 - l_k) s_k.

    With `rate_clusters` the clients of a block of ids share a rate; see `ClusterRates`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import F3AST
        >>> from f3ast_tff.methods import Round, RoundConstraint, cohort_of
        >>> strategy = F3AST.start(np.full(3, 1 / 3), k=1, rate_beta=0.01)
        >>> for t in range(1, 1001):  # Client 2 is there in every fifth round.
        ...     now = Round(t, np.array([True, True, t % 5 == 0]), RoundConstraint(1))
        ...     cohort = cohort_of(strategy, now)
        >>> cohort.ids.tolist(), cohort.weights.round(1).tolist()
        ([2], [1.6])
    """

    reaches_optimum: ClassVar[bool | None] = True
    step_scale: ClassVar[float | None] = 1

    rate_clusters: int | None = parameter(
        None,
        "track one rate for each of this many blocks of client ids, not one per client",
        minimum=1,
    )
    rate_init: str = parameter(
        Reading(
            "R1", Derived(_default_first_rates, "p with a convex model, else all_available"), "p"
        ),
        "r(0): the clients' shares p, K / N, 1 / N, or the best rates if all clients were always "
        "available; if clients join and leave, each starts at K / N_t with N_t present clients "
        "instead",
        choices=("p", "k_over_n", "one_over_n", "all_available"),
    )
    rate_step: str = parameter(
        "constant",
        "step of the rates in round t: rate_beta, or max(1 / t, rate_beta)",
        choices=("constant", "falling"),
    )
    weight_bound: float | None = parameter(
        None, "largest p / r of a selected client; biases the aggregate", above=0
    )
    rates_follow: str = parameter(
        "delivered",
        "clients that the rates track if updates are lost: delivered; selected, which biases the "
        "aggregate; or both, where delivered rates give the weights and both the selection",
        choices=FOLLOWS,
    )
    divide_by_k: bool = parameter(Reading("R2", False, True), "divide F3AST's sum by K_t")
    short_rounds: str = parameter(
        Reading("R17", "available_only", "fill_unavailable"),
        "clients that F3AST trains in a round with fewer than K available",
        choices=("available_only", "fill_unavailable"),
    )

    @classmethod
    def tracking(
        cls,
        p: Any,
        rates: ParticipationRates | ClusterRates,
        selected_rates: ParticipationRates | None = None,
        **given: Any,
    ) -> F3AST:
        """Returns a copy that plays with given rates on a server of one's own.

        Args:
            p: Client shares p_k, `float [N]`, of sum 1.
            rates: Rates of the weights, moved by every `weigh`.
            selected_rates: Rates s of the selected clients, beside r of the delivered.
            **given: Seed and parameters of `start`, except those of the rates.

        Raises:
            ValueError: If the rates are of another number of clients.
            ParameterError: If rates of the selected clients are missing, or have no use.
        """
        given |= {"rate_beta": rates.beta, "rate_step": "falling" if rates.falling else "constant"}
        if not isinstance(rates, ParticipationRates):
            given["rate_clusters"] = len(rates.of_clusters.unscaled)
        both = selected_rates is not None
        follows = given.setdefault("rates_follow", "both" if both else "delivered")
        if (follows == "both") != both:
            allowed = "must be both with selected_rates, and only with these"
            raise ParameterError("rates_follow", follows, allowed)
        playing = cls.start(p, len(p), rate_init="one_over_n", **given)
        if playing.p.shape != rates.values.shape:
            raise ValueError(f"p has shape {playing.p.shape}, rates {rates.values.shape}")
        playing.kept.update({"": rates, **({"selected_": selected_rates} if both else {})})
        return playing

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        """Returns the rates r(0), and with `rates_follow` both also s(0)."""
        p = world.p
        if self.rate_init in ("p", "all_available") and not (p > 0).all():
            first = int(np.argmin(p > 0))
            allowed = f"client {first} has no share p_k of the training work: r(0) would be 0"
            raise ParameterError("rate_init", self.rate_init, allowed)
        initial, scale = self._first_rates(p, world.constraint.mean_k)
        falling = self.rate_step == "falling"
        tracked = partial(ParticipationRates, beta=self.rate_beta, falling=falling, scale=scale)
        if self.rate_clusters is not None:
            from f3ast_tff.core.cluster_rates import ClusterRates

            self._check_clusters(world.num_clients)
            clusters = np.arange(world.num_clients) * self.rate_clusters // world.num_clients
            mean = np.bincount(clusters, initial) / np.bincount(clusters)
            return {"": ClusterRates(clusters, tracked(mean))}
        asked = {"selected_": tracked(initial)} if self.rates_follow == "both" else {}
        return {"": tracked(initial), **asked}

    @property
    def rates(self) -> ParticipationRates | ClusterRates:
        """The tracked rates of the weights, moved by every `weigh`."""
        rates: ParticipationRates | ClusterRates = self.kept[""]
        return rates

    @property
    def selected_rates(self) -> ParticipationRates | None:
        """Rates s of the selected clients, beside r of the delivered; `None` to track r only."""
        return self.kept.get("selected_")

    @property
    def may_select(self) -> frozenset[str]:
        return frozenset({"unavailable"} if self._fills else ())

    @property
    def _fills(self) -> bool:
        return self.short_rounds == "fill_unavailable"

    def select(self, now: Round) -> np.ndarray:
        """Line 4 of Algorithm 1."""
        rng = now.generator(self.seed) if self.ties == "random" else None
        ids = best_feasible(self._utility(now.constraint), now.available, now.constraint, rng)
        k = now.constraint.k
        if self._fills and now.constraint.counts_only and len(ids) < k:
            # Unavailable clients all have masked utility 0, so the lowest ids win the tie.
            ids = np.concatenate([ids, np.flatnonzero(~now.available)[: k - len(ids)]])
        return ids

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        """Lines 5 and 9 of Algorithm 1."""
        cohort_ids = ids[delivered]
        asked = now.asked_now(ids)
        self.rates.update(asked if self.rates_follow == "selected" else cohort_ids)
        if self.selected_rates is not None:
            self.selected_rates.update(asked)
        divisor = now.constraint.k if self.divide_by_k else 1
        weights = bounded(self.p[cohort_ids] / self.rates.at(cohort_ids), self.weight_bound)
        return Cohort(cohort_ids, weights / divisor)

    def _utility(self, constraint: RoundConstraint) -> Utility:
        """-dH/dr_k = c_k / r_k^2, or without costs its root, which gives the same order.

        At rates in proportion to sqrt(c_k), where H is least, the roots tie exactly. Rounding of
        c_k / r_k^2 would break these ties.
        """
        if not isinstance(self.rates, ParticipationRates):
            return self.rates.utility(self.p, self.availability_objective)
        rates, roots = self.rates.unscaled, self._roots
        if self.selected_rates is None and constraint.cost is None:
            return lambda part: roots[part] / rates[part]
        asked = rates if self.selected_rates is None else self.selected_rates.unscaled
        return lambda part: (roots[part] / rates[part]) * (roots[part] / asked[part])

    @cached_property
    def _roots(self) -> np.ndarray:
        return root_numerators(self.p, self.availability_objective)

    def renewed(self, p: np.ndarray, joined: np.ndarray, initial_rate: float) -> F3AST:
        """Clients that stay keep their rates."""
        kept = {name: rates.started(joined, initial_rate) for name, rates in self.kept.items()}
        world = replace(self.world, p=renewed_shares(p, len(self.p)))
        playing = self._playing(world, kept)
        vars(playing).pop("_roots", None)
        return playing

    def participation_rates(self) -> np.ndarray:
        return self.rates.values

    def _first_rates(self, p: np.ndarray, k: float) -> tuple[np.ndarray, float]:
        """r(0) / s and s."""
        if self.rate_init == "all_available":
            return best_if_all_available(p, k, self.availability_objective)
        n = len(p)
        rates = {"p": p, "k_over_n": np.full(n, k / n), "one_over_n": np.full(n, 1 / n)}
        return rates[self.rate_init], 1.0

    def check(self, settings: Settings) -> None:
        for applies, when in (
            (has_byte_budget(settings.constraint), "under a budget in bytes"),
            (settings.selection.selection_separation, "with selection_separation"),
            (settings.is_late, "with late updates"),
            (settings.selection.client_share_of == "present", "with client_share_of=present"),
            (self.rate_clusters is not None, "with rate_clusters"),
        ):
            if applies:
                require("short_rounds", self.short_rounds, "available_only", when)
        if self.rate_clusters is not None:
            self._check_clusters(settings.num_clients)
            require("divide_by_k", self.divide_by_k, False, "with rate_clusters")
            require("ties", self.ties, "random", "with rate_clusters")
            if settings.selection.client_share_of == "present":
                allowed = "must not be given with client_share_of=present"
                raise ParameterError("rate_clusters", self.rate_clusters, allowed)
            if self.rates_follow == "both":
                allowed = "must be delivered or selected with rate_clusters"
                raise ParameterError("rates_follow", self.rates_follow, allowed)

    def _check_clusters(self, num_clients: int | None) -> None:
        clusters = self.rate_clusters
        if clusters is not None and num_clients is not None and clusters > num_clients:
            allowed = f"must be at most num_clients, {num_clients}"
            raise ParameterError("rate_clusters", clusters, allowed)


@register(
    "algorithm", "f3ast_adam", "F3AST+Adam", about="F3AST, Adam as the server optimizer", order=4
)
@dataclass(frozen=True)
class F3ASTAdam(F3AST):
    """F3AST with Adam on the server."""

    reaches_optimum: ClassVar[bool | None] = None
    server_optimizer: ClassVar[str] = "adam"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "fedadam"})


__getattr__ = renamed(__name__, F3ASTConfig=F3AST, F3ASTAdamConfig=F3ASTAdam)
