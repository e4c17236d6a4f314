"""Who is lost: nobody, by chance, after a deadline, or with a device that turns unavailable."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.draws import lean
from f3ast_tff.availability.process import stationary_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import uniforms
from f3ast_tff.delivery.delivery import (
    Arrivals,
    Delivery,
    DeliveryConfig,
    DeliveryWorld,
    RememberedMasks,
)
from f3ast_tff.delivery.device_times import DeviceTimes, TimedConfig
from f3ast_tff.settings import parameter, register

FOLLOWS = ("none", "size", "availability")
_MAX_SLOTS = 100


class Certain:
    """What the papers assume: whoever is asked answers in time. There is no clock."""

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """See `Delivery.arrivals`."""
        return Arrivals(np.ones(len(ids), bool), np.full(len(ids), math.nan), math.nan)


@register(
    "delivery", "certain", "Certain", about="every client asked is received; no clock", order=1
)
@dataclass(frozen=True)
class CertainConfig(DeliveryConfig):
    """Configuration of `Certain`."""

    def build(self, world: DeliveryWorld) -> Certain:
        """See `DeliveryConfig.build`."""
        return Certain()


@dataclass(frozen=True)
class FailBelow:
    """A delivery whose rounds fail where the share of updates that arrive is below a bound.

    FLASH's rule (Yang et al., WWW 2021; `update_frac` in its code): a round of m clients, each
    counted once, counts where received / m >= share. A round in which nobody is asked does not
    fail.

    Attributes:
        delivery: Says whose update arrives.
        share: Least share of the clients asked, in [0, 1].
    """

    delivery: Delivery
    share: float

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """See `Delivery.arrivals`."""
        found = self.delivery.arrivals(round_number, ids)
        asked, received = len(np.unique(ids)), len(np.unique(ids[found.received]))
        # Divided, so that 7 of 10 are not below 0.7: 0.7 * 10 is a little above 7.
        return replace(found, failed=asked > 0 and received / asked < self.share)


@dataclass(frozen=True)
class LossyConfig(TimedConfig):
    """Base of the `Config` of a delivery that loses updates, and with them whole rounds."""

    fail_below_arrivals: float = parameter(
        0.0,
        "a round fails if a smaller share of the clients asked is received: nobody's update then "
        "counts; FLASH's is 0.8, and with 0 no round fails",
        minimum=0,
        maximum=1,
        neutral=0,
    )

    def failing(self, delivery: Delivery) -> Delivery:
        """Returns the delivery with the rounds that fail."""
        if not self.fail_below_arrivals:
            return delivery
        return FailBelow(delivery, self.fail_below_arrivals)


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
            stationary = stationary_of(world.availability)
            if stationary is None:
                name = type(world.availability).__name__
                allowed = f"the long-run availability of {name} is not known"
                raise ParameterError("loss_follows", self.loss_follows, allowed)
            loss = lean(loss_by_rank(-np.asarray(stationary), self.loss_probability))
        return self.failing(Bernoulli(loss, self.times(world), world.seed))


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
        if longest > _MAX_SLOTS:
            least = seconds.max() / _MAX_SLOTS
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
