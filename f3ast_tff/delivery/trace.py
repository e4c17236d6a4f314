"""Trace delivery: a device that turns unavailable before it is done is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.components import parameter, register
from f3ast_tff.delivery.bernoulli import until_slowest
from f3ast_tff.delivery.delivery import Arrivals, Delivery, DeliveryWorld
from f3ast_tff.delivery.device_times import DeviceTimes
from f3ast_tff.delivery.failed_rounds import LossyConfig
from f3ast_tff.delivery.remembered_masks import RememberedMasks
from f3ast_tff.errors import ParameterError
from f3ast_tff.randomness import uniforms

_MOST_SLOTS = 100


@dataclass(frozen=True)
class TraceDelivery:
    """Reads in the availability of later rounds whether a device was there until it was done.

    A round of the availability process is a slot of L seconds. A client asked in round t that is
    found away first in round t + j left in the slot before, at a uniform time of it: (j - 1 + u) L
    seconds after it was asked. Its update is lost if that is before it was done. Without L the
    client must be there when the next round begins.

    Attributes:
        masks: Who is reachable when.
        times: How long clients take.
        seed: Seed of the times of leaving.
        slot_seconds: L; `None` for a client that must be there in the next round.
    """

    masks: RememberedMasks
    times: DeviceTimes
    seed: int
    slot_seconds: float | None = None

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """See `Delivery.arrivals`.

        Raises:
            ParameterError: If a client takes more than 100 slots.
        """
        self.masks.forget_before(round_number)
        seconds = self.times.seconds(round_number, ids)
        if self.slot_seconds is None:
            return until_slowest(self.masks.mask(round_number + 1)[ids], seconds)
        slots = seconds / self.slot_seconds
        longest = float(slots.max(initial=0))
        if longest > _MOST_SLOTS:
            least = seconds.max() / _MOST_SLOTS
            allowed = f"a client takes {seconds.max():.4g} s; must be at least {least:.4g}"
            raise ParameterError("slot_seconds", self.slot_seconds, allowed)
        part = uniforms(self.seed, "leaving", ids, round_number)
        received, there = np.ones(len(ids), bool), np.ones(len(ids), bool)
        for j in range(1, int(np.ceil(longest)) + 1):
            left = there & ~self.masks.mask(round_number + j)[ids]
            received[left] = (j - 1 + part[left]) >= slots[left]
            there &= ~left
        return until_slowest(received, seconds)


@register(
    "delivery",
    "trace",
    "Trace",
    about="a device that turns unavailable before it is done is lost, by the rounds that follow",
    order=3,
)
@dataclass(frozen=True)
class TraceDeliveryConfig(LossyConfig):
    """Configuration of `TraceDelivery`."""

    looks_ahead: ClassVar[bool] = True

    slot_seconds: float | None = parameter(
        None,
        "time that a round of the availability process stands for, as trace_round_seconds; by "
        "default a client is lost unless it is there when the next round begins",
        above=0,
        units="seconds",
    )

    def build(self, world: DeliveryWorld) -> Delivery:
        """See `DeliveryConfig.build`."""
        return self.failing(
            TraceDelivery(world.masks, self.times(world), world.seed, self.slot_seconds)
        )
