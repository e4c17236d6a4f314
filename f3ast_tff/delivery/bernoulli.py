"""Bernoulli delivery: each update is lost independently, with a probability of its client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.draws import lean
from f3ast_tff.components import parameter, register
from f3ast_tff.delivery.delivery import Arrivals, Delivery, DeliveryWorld
from f3ast_tff.delivery.device_times import DeviceTimes
from f3ast_tff.delivery.failed_rounds import LossyConfig
from f3ast_tff.errors import ParameterError
from f3ast_tff.randomness import uniforms

FOLLOWS = ("none", "size", "availability")


def loss_by_rank(values: np.ndarray, mean: float) -> np.ndarray:
    """Returns loss probabilities that rise linearly with the rank of a value among the clients.

    l_k = 2 l u_k for a mean l up to 1/2, else 1 - 2 (1 - l) (1 - u_k), with
    u_k = (rank_k - 1/2) / N in (0, 1); equal values share their mean rank. The mean over clients is
    l whatever the values.

    Args:
        values: `float [N]`; the largest is lost most.
        mean: l, in [0, 1).

    Returns:
        `float64 [N]`, in [0, 1).
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    u = ((np.cumsum(count) - count / 2) / len(values))[place]
    return 2 * mean * u if mean <= 0.5 else 1 - 2 * (1 - mean) * (1 - u)


@dataclass(frozen=True)
class Bernoulli:
    """The update of client k is lost with probability l_k, anew in each round.

    A round lasts until the slowest update that arrives; where all are lost, until the slowest
    would have arrived.

    Attributes:
        loss: l_k of each client, `float [N]`, or the same for all; in [0, 1).
        times: How long clients take.
        seed: Seed of the draws.
    """

    loss: np.ndarray | float
    times: DeviceTimes
    seed: int

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """See `Delivery.arrivals`."""
        loss = self.loss[ids] if isinstance(self.loss, np.ndarray) else self.loss
        received = uniforms(self.seed, "delivery", ids, round_number) >= loss
        return until_slowest(received, self.times.seconds(round_number, ids))


def until_slowest(received: np.ndarray, seconds: np.ndarray) -> Arrivals:
    """Returns a round that lasts until the slowest received, or the slowest if there is none.

    Args:
        received: `bool [m]`.
        seconds: When each update would arrive, `float64 [m]`.
    """
    waited = seconds[received] if received.any() else seconds
    return Arrivals(received, np.where(received, seconds, np.inf), float(waited.max(initial=0)))


@register(
    "delivery",
    "bernoulli",
    "Bernoulli",
    about="each update is lost with a probability of its client, anew in each round",
    order=2,
)
@dataclass(frozen=True)
class BernoulliConfig(LossyConfig):
    """Configuration of `Bernoulli`."""

    loss_probability: float = parameter(
        0.1, "mean over clients of the probability that an update is lost", minimum=0, below=1
    )
    loss_follows: str = parameter(
        "none",
        "the probability is the same for all, or rises with a client's rank: by its number of "
        "examples, or by how rarely it is available",
        choices=FOLLOWS,
    )

    def build(self, world: DeliveryWorld) -> Delivery:
        """See `DeliveryConfig.build`."""
        loss: np.ndarray | float = self.loss_probability
        if self.loss_follows == "size":
            loss = lean(loss_by_rank(world.sizes, self.loss_probability))
        elif self.loss_follows == "availability":
            stationary = world.availability.stationary
            if stationary is None:
                name = type(world.availability).__name__
                allowed = f"the long-run availability of {name} is not known"
                raise ParameterError("loss_follows", self.loss_follows, allowed)
            loss = lean(loss_by_rank(-np.asarray(stationary), self.loss_probability))
        return self.failing(Bernoulli(loss, self.times(world), world.seed))
