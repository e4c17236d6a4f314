"""FedAsync (Xie, Koyejo and Gupta 2019): each arriving model is mixed into the server's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.methods.fedbuff import FedBuff, StalenessConfig
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.algorithm import StrategyContext, require
from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings

# s(tau), by name.
WEIGHTS = ("constant", "polynomial", "hinge")


class FedAsync(FedBuff):
    """w_{t+1} = (1 - a) w_t + a (w_{t - tau} + D_k) with a = alpha s(tau), on each arrival.

    Algorithm 1 of the paper. tau counts the server's steps since client k was sent its model.
    Clients are drawn uniformly among the available idle clients.
    """

    method: ClassVar[str] = "fedasync"
    aggregation: ClassVar[str] = "fedasync"

    def __init__(
        self,
        num_clients: int,
        alpha: float = 0.6,
        weight: str = "polynomial",
        power: float = 0.5,
        hinge: tuple[float, float] = (10.0, 6.0),
        seed: int = 0,
        candidates: np.ndarray | None = None,
    ) -> None:
        """Starts before the server's first step.

        Args:
            num_clients: N.
            alpha: Share of a fresh model in the mixture, in (0, 1].
            weight: s, one of `WEIGHTS`: 1; (1 + tau)^-power; or 1 up to tau = b, then
                1 / (a (tau - b) + 1).
            power: Power of `polynomial`, at least 0.
            hinge: a above 0 and b at least 0 of `hinge`.
            seed: Seed of the draws.
            candidates: See `Uniform`.
        """
        super().__init__(num_clients, buffer=1, seed=seed, candidates=candidates)
        self.alpha, self.kind, self.power, self.hinge = alpha, weight, power, hinge

    def weight_of(self, staleness: np.ndarray) -> np.ndarray:
        """Returns alpha s(tau)."""
        if self.kind == "hinge":
            slope, start = self.hinge
            return self.alpha / (slope * np.maximum(staleness - start, 0) + 1)
        power = self.power if self.kind == "polynomial" else 0.0
        return self.alpha * (1.0 + staleness) ** -power


@register(
    "aggregation",
    "fedasync",
    "FedAsync",
    about="sum of w_k times the client's trained model less the server's present model",
    order=36,
)
@dataclass(frozen=True)
class Mixing(Aggregation):
    """Delta = sum_k w_k (w_{t - tau_k} + D_k - w_t): a step mixes clients' models into w_t.

    An update that is not late enters as D_k.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    mixes_models: ClassVar[bool] = True


@register(
    "algorithm",
    "fedasync",
    "FedAsync",
    about="mixes each arriving model into the server's, by a share that falls with its staleness",
    order=36,
)
@dataclass(frozen=True)
class FedAsyncConfig(StalenessConfig):
    """Configuration of `FedAsync`."""

    aggregation: ClassVar[str] = "fedasync"
    deliveries: ClassVar[tuple[str, ...]] = ("asynchronous",)

    fedasync_alpha: float = parameter(
        0.6, "alpha, share of a fresh model in the mixture", above=0, maximum=1
    )
    fedasync_weight: str = parameter(
        "polynomial",
        "s(tau), factor of alpha for a model that is tau steps old: 1, (1 + tau)^-power, or 1 up "
        "to tau = b and then 1 / (a (tau - b) + 1)",
        choices=WEIGHTS,
    )
    fedasync_power: float = parameter(0.5, "power of s=polynomial", minimum=0)
    fedasync_hinge_a: float = parameter(10.0, "a of s=hinge", above=0)
    fedasync_hinge_b: float = parameter(6.0, "b of s=hinge", minimum=0, units="steps")

    def build(self, world: StrategyContext) -> Strategy:
        return FedAsync(
            world.num_clients,
            alpha=self.fedasync_alpha,
            weight=self.fedasync_weight,
            power=self.fedasync_power,
            hinge=(self.fedasync_hinge_a, self.fedasync_hinge_b),
            seed=world.seed,
            candidates=world.p > 0,
        )

    def check(self, settings: Settings) -> None:
        """Also refuses steps along several models: the shares of a mixture are of one."""
        super().check(settings)
        when = "with algorithm fedasync, which steps on every arrival"
        require("async_buffer", settings.async_buffer, 1, when)
