"""F3AST, Algorithm 1, with a plain server step or with Adam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.algorithms.algorithm import World, has_byte_budget, require
from f3ast_tff.algorithms.shared import ObjectiveConfig, RateBetaConfig, TiesConfig
from f3ast_tff.components import Derived, Reading, parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.objective import best_if_all_available
from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection import F3AST, ClusterF3AST, Strategy
from f3ast_tff.selection.f3ast import FOLLOWS


def _default_first_rates(known: Any) -> str:
    """The authors' p, but where its steps, several times as long as FedAvg's, end training."""
    return "p" if known.config_class("model").convex else "all_available"


@register(
    "algorithm",
    "f3ast",
    "F3AST",
    about="learns participation rates r_k, selects where H falls most, weighs by p / r",
    order=3,
)
@dataclass(frozen=True)
class F3ASTConfig(TiesConfig, ObjectiveConfig, RateBetaConfig):
    """Configuration of `F3AST`, or `ClusterF3AST` where clients share rates."""

    rate_clusters: int | None = parameter(
        None,
        "track one rate for each of this many blocks of client ids, not one a client",
        minimum=1,
    )
    rate_init: str = parameter(
        Reading(
            "R1", Derived(_default_first_rates, "p with a convex model, else all_available"), "p"
        ),
        "r(0): the clients' shares p, K / N, 1 / N, or the best rates if all were always "
        "available; where clients join and leave each starts at K / N_t, N_t those present, "
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
        "received",
        "where updates are lost, the rates are of those received; of those selected, which biases "
        "the aggregate; or of both, the received weighing and both deciding whom to ask",
        choices=FOLLOWS,
        neutral="received",
    )
    aggregate: str = parameter(
        Reading("R2", "sum", "sum_over_k"),
        "F3AST's sum, as it is or over K",
        choices=("sum", "sum_over_k"),
    )
    short_rounds: str = parameter(
        Reading("R17", "available_only", "fill_unavailable"),
        "F3AST with fewer than K available trains",
        choices=("available_only", "fill_unavailable"),
    )

    def build(self, world: World) -> Strategy:
        """See `AlgorithmConfig.build`."""
        p, n = world.p, world.num_clients
        if self.rate_init in ("p", "all_available") and not (p > 0).all():
            first = int(np.argmin(p > 0))
            allowed = f"client {first} has no share p_k of the training work: r(0) would be 0"
            raise ParameterError("rate_init", self.rate_init, allowed)
        initial, scale = self._first_rates(p, world.constraint.mean_k)
        falling, both = self.rate_step == "falling", self.rates_follow == "both"
        tracked = partial(ParticipationRates, beta=self.rate_beta, falling=falling, scale=scale)
        objective = self.availability_objective
        if self.rate_clusters is not None:
            self._check_clusters(n)
            clusters = np.arange(n) * self.rate_clusters // n
            mean = np.bincount(clusters, initial) / np.bincount(clusters)
            return ClusterF3AST(
                *(p, clusters, tracked(mean), objective),
                *(world.seed, self.weight_bound, self.rates_follow),
            )
        asked = tracked(initial) if both else None
        return F3AST(
            p,
            tracked(initial),
            objective,
            random_ties=self.ties == "random",
            fill_unavailable=self.short_rounds == "fill_unavailable",
            divide_by_k=self.aggregate == "sum_over_k",
            seed=world.seed,
            weight_bound=self.weight_bound,
            follow="received" if both else self.rates_follow,
            selected_rates=asked,
        )

    def _first_rates(self, p: np.ndarray, k: float) -> tuple[np.ndarray, float]:
        """r(0) / s and s."""
        if self.rate_init == "all_available":
            return best_if_all_available(p, k, self.availability_objective)
        n = len(p)
        rates = {"p": p, "k_over_n": np.full(n, k / n), "one_over_n": np.full(n, 1 / n)}
        return rates[self.rate_init], 1.0

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        if has_byte_budget(settings):
            require(settings, "short_rounds", "available_only", "under a budget in bytes")
        if settings.get("selection_separation"):
            require(settings, "short_rounds", "available_only", "with selection_separation")
        if settings.get("client_share_of") == "present":
            when = "with client_share_of=present"
            require(settings, "short_rounds", "available_only", when)
        if self.rate_clusters is not None:
            self._check_clusters(settings.get("num_clients"))
            require(settings, "aggregate", "sum", "with rate_clusters")
            require(settings, "ties", "random", "with rate_clusters")
            if self.rates_follow == "both":
                allowed = "must be received or selected with rate_clusters"
                raise ParameterError("rates_follow", self.rates_follow, allowed)
            require(settings, "short_rounds", "available_only", "with rate_clusters")

    def _check_clusters(self, num_clients: int | None) -> None:
        clusters = self.rate_clusters
        if clusters is not None and num_clients is not None and clusters > num_clients:
            allowed = f"must be at most num_clients, {num_clients}"
            raise ParameterError("rate_clusters", clusters, allowed)


@register(
    "algorithm", "f3ast_adam", "F3AST+Adam", about="F3AST, Adam as the server optimizer", order=4
)
@dataclass(frozen=True)
class F3ASTAdamConfig(F3ASTConfig):
    """Configuration of F3AST with Adam on the server."""

    server_optimizer: ClassVar[str] = "adam"
    corrects: ClassVar[Mapping[str, str]] = MappingProxyType({"algorithm": "fedadam"})
