"""FedAsync (Xie, Koyejo and Gupta 2019): each arriving model is mixed into the server's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.core.lazy_names import renamed
from f3ast_tff.methods.fedbuff import OnArrival
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.algorithm import require
from f3ast_tff.methods.parts.method import method
from f3ast_tff.settings import parameter
from f3ast_tff.settings.configuration import Settings

# s(tau), by name.
WEIGHTS = ("constant", "polynomial", "hinge")


@method(
    "fedasync",
    "FedAsync",
    about="mixes each arriving model into the server's, by a share that falls with its staleness",
    order=36,
)
@dataclass(frozen=True)
class FedAsync(OnArrival, Aggregation):  # type: ignore[misc]  # Two builds, as of FedLaAvg.
    """w_{t+1} = (1 - a) w_t + a (w_{t - tau} + D_k) with a = alpha s(tau), on each arrival.

    Algorithm 1 of the paper; see `OnArrival` for tau and the clients. The step is along the sum of
    w_k (w_{t - tau_k} + D_k - w_t), so it mixes clients' models into w_t; an update that is not
    late enters as D_k.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    mixes_models: ClassVar[bool] = True
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

    def weight_of(self, staleness: np.ndarray) -> np.ndarray:
        """Returns alpha s(tau)."""
        alpha = self.fedasync_alpha
        if self.fedasync_weight == "hinge":
            late = np.maximum(staleness - self.fedasync_hinge_b, 0)
            return alpha / (self.fedasync_hinge_a * late + 1)
        power = self.fedasync_power if self.fedasync_weight == "polynomial" else 0.0
        return alpha * (1.0 + staleness) ** -power

    def check(self, settings: Settings) -> None:
        """Also refuses steps along several models: the shares of a mixture are of one."""
        super().check(settings)
        when = "with algorithm fedasync, which steps on every arrival"
        require("async_buffer", settings.async_buffer, 1, when)


__getattr__ = renamed(__name__, Mixing=FedAsync)
