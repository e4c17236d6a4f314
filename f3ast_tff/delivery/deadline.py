"""Deadline: the server stops waiting at a time, and what is not there is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.components import parameter, register
from f3ast_tff.delivery.delivery import Arrivals, Delivery, DeliveryWorld
from f3ast_tff.delivery.device_times import DeviceTimes
from f3ast_tff.delivery.failed_rounds import LossyConfig


@dataclass(frozen=True)
class Deadline:
    """An update that arrives after `deadline` seconds is lost: it enters no later round either.

    P(client k is late) = Phi(log(s_k / D) / jitter), see `DeviceTimes`. The server goes on as soon
    as all are there, at the latest at the deadline.

    Attributes:
        times: How long clients take.
        deadline: D, seconds, above 0.
    """

    times: DeviceTimes
    deadline: float

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """See `Delivery.arrivals`."""
        seconds = self.times.seconds(round_number, ids)
        return Arrivals(
            seconds <= self.deadline, seconds, min(float(seconds.max(initial=0)), self.deadline)
        )


@register(
    "delivery",
    "deadline",
    "Deadline",
    about="an update later than the deadline is lost, by compute and transfer time of each client",
    order=4,
)
@dataclass(frozen=True)
class DeadlineConfig(LossyConfig):
    """Configuration of `Deadline`."""

    deadline_seconds: float | None = parameter(
        None, "deadline; by default deadline_quantile decides", above=0, units="seconds"
    )
    deadline_quantile: float = parameter(
        0.8, "the deadline is this quantile over clients of their typical time", above=0, maximum=1
    )

    def build(self, world: DeliveryWorld) -> Delivery:
        """See `DeliveryConfig.build`."""
        times, deadline = self.times(world), self.deadline_seconds
        if deadline is None:
            typical = times.typical(np.flatnonzero(world.examples > 0))
            deadline = float(np.quantile(typical, self.deadline_quantile))
        return self.failing(Deadline(times, deadline))
