"""Which updates are lost: by chance, after a deadline, or if the device leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.draws import lean
from f3ast_tff.availability.process import stationary_of
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.randomness import uniforms
from f3ast_tff.delivery.delivery import Arrivals
from f3ast_tff.delivery.device_times import TimedConfig
from f3ast_tff.settings import parameter, register

FOLLOWS = ("none", "size", "availability")
_MAX_SLOTS = 100
# Standard deviations above a client's typical time; 3e-7 of the times are longer.
_FARTHEST_JITTER = 5


@dataclass(frozen=True)
class LossyConfig(TimedConfig):
    """Base of a delivery that loses updates, and possibly whole rounds.

    A round fails if the share of delivered updates is below a bound. By FLASH's rule (Yang et al.,
    WWW 2021; `update_frac` in its code) a round of m clients, each counted once, succeeds if
    delivered / m >= share. A round without asked clients does not fail.
    """

    fail_below_arrivals: float = parameter(
        0.0,
        "a round fails, and no update counts, if a smaller share of the asked clients delivers; "
        "0.8 in FLASH; with 0 no round fails",
        minimum=0,
        maximum=1,
    )

    def sent(self, round_number: int, ids: np.ndarray) -> Arrivals:
        """Returns the arrivals before any round fails; see `Delivery.arrivals`."""
        raise ComponentError(f"{type(self).__name__} does not say whose update arrives")

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        found = self.sent(round_number, ids)
        if not self.fail_below_arrivals:
            return found
        asked, delivered = len(np.unique(ids)), len(np.unique(ids[found.delivered]))
        # A quotient, so that 7 of 10 is not below 0.7; the product 0.7 * 10 is a little above 7.
        return replace(found, failed=asked > 0 and delivered / asked < self.fail_below_arrivals)


def loss_by_rank(values: np.ndarray, mean: float) -> np.ndarray:
    """Returns loss probabilities that rise linearly with the rank of a value among the clients.

    l_k = 2 l u_k for a mean l up to 1/2, else 1 - 2 (1 - l) (1 - u_k), with
    u_k = (rank_k - 1/2) / N in (0, 1); equal values share their mean rank. The mean over clients is
    l for any values.

    Args:
        values: Values of the clients, `float [N]`; the client of largest value loses most.
        mean: l, in [0, 1).

    Returns:
        `float64 [N]`, in [0, 1).
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    u = ((np.cumsum(count) - count / 2) / len(values))[place]
    return 2 * mean * u if mean <= 0.5 else 1 - 2 * (1 - mean) * (1 - u)


def until_slowest(delivered: np.ndarray, seconds: np.ndarray) -> Arrivals:
    """Returns a round that lasts until the slowest delivered update; if none, until the slowest.

    Args:
        delivered: Whether each update is delivered, `bool [m]`.
        seconds: Time at which each update would arrive, `float64 [m]`.
    """
    waited = seconds[delivered] if delivered.any() else seconds
    return Arrivals(delivered, np.where(delivered, seconds, np.inf), float(waited.max(initial=0)))


@register(
    "delivery",
    "bernoulli",
    "Bernoulli",
    about="each update is lost with a probability of its client, anew in each round",
    order=2,
)
@dataclass(frozen=True)
class Bernoulli(LossyConfig):
    """The update of client k is lost with probability l_k, anew in each round.

    A round lasts until the slowest delivered update. If all updates are lost, it lasts until the
    slowest would have arrived.

    Examples:
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import Bernoulli
        >>> found = simulate(delivery=Bernoulli(loss_probability=0.4), rounds=5).selection
        >>> found["num_selected"].tolist(), found["num_delivered"].tolist()
        ([10, 10, 10, 10, 10], [8, 6, 8, 5, 5])
    """

    loss_probability: float = parameter(
        0.1, "mean over clients of the probability that an update is lost", minimum=0, below=1
    )
    loss_follows: str = parameter(
        "none",
        "the probability is the same for all, or rises with a client's rank: by its number of "
        "examples, or by how rarely it is available",
        choices=FOLLOWS,
    )

    def prepare(self) -> None:
        super().prepare()
        self.loss  # noqa: B018 - computed now, for its errors.

    @cached_property
    def loss(self) -> np.ndarray:
        """l_k, `float [N]` in [0, 1), or `float []` if it is the same for all.

        Raises:
            ParameterError: If l_k follows the long-run availability, which is not known.
        """
        if self.loss_follows == "none":
            return np.array(self.loss_probability)
        if self.loss_follows == "size":
            return lean(loss_by_rank(self.world.sizes, self.loss_probability))
        stationary = stationary_of(self.world.availability)
        if stationary is None:
            name = type(self.world.availability).__name__
            allowed = f"the long-run availability of {name} is not known"
            raise ParameterError("loss_follows", self.loss_follows, allowed)
        return lean(loss_by_rank(-np.asarray(stationary), self.loss_probability))

    def sent(self, round_number: int, ids: np.ndarray) -> Arrivals:
        loss = self.loss[ids] if self.loss.ndim else self.loss
        delivered = uniforms(self.world.seed, "delivery", ids, round_number) >= loss
        return until_slowest(delivered, self.seconds(round_number, ids))


@register(
    "delivery",
    "deadline",
    "Deadline",
    about="an update later than the deadline is lost, by compute and transfer time of each client",
    order=4,
)
@dataclass(frozen=True)
class Deadline(LossyConfig):
    """An update that arrives after `deadline` seconds is lost, also for later rounds.

    P(client k is late) = Phi(log(s_k / D) / jitter), see `TimedConfig`. The round ends when all
    updates have arrived, at the latest at the deadline.

    Examples:
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import Deadline
        >>> found = simulate(delivery=Deadline(deadline_seconds=5), rounds=5).selection
        >>> found["num_delivered"].tolist(), found["round_seconds"].round(1).tolist()
        ([10, 9, 7, 10, 9], [2.2, 5.0, 5.0, 3.7, 5.0])
    """

    deadline_seconds: float | None = parameter(
        None, "deadline; by default deadline_quantile decides", above=0, units="seconds"
    )
    deadline_quantile: float = parameter(
        0.8, "the deadline is this quantile over clients of their typical time", above=0, maximum=1
    )

    @cached_property
    def deadline(self) -> float:
        """D, seconds."""
        if self.deadline_seconds is not None:
            return self.deadline_seconds
        typical = self.typical(np.flatnonzero(self.world.examples > 0))
        return float(np.quantile(typical, self.deadline_quantile))

    def sent(self, round_number: int, ids: np.ndarray) -> Arrivals:
        seconds = self.seconds(round_number, ids)
        round_seconds = min(float(seconds.max(initial=0)), self.deadline)
        return Arrivals(seconds <= self.deadline, seconds, round_seconds)


@register(
    "delivery",
    "trace",
    "Trace",
    about="an update is lost if the device becomes unavailable, in later rounds, before it is done",
    order=3,
)
@dataclass(frozen=True)
class TraceDelivery(LossyConfig):
    """Loses the update of a device that, by later availability, left before it was done.

    A round of the availability process is a slot of L seconds. Let t + j be the first round after t
    in which a client asked in round t is unavailable. The client left at a uniform time of the slot
    before, (j - 1 + u) L seconds after it was asked. Its update is lost if it was not done by then.
    Without L the client must be available when the next round begins.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.delivery import TraceDelivery
        >>> masks = np.ones((3, 100), bool)
        >>> masks[2, :50] = False  # Half of the clients leave after rounds 2, 5, 8 ...
        >>> result = simulate(availability=masks, delivery=TraceDelivery(), rounds=5)
        >>> result.selection["num_delivered"].tolist()
        [10, 4, 10, 10, 4]
    """

    looks_ahead: ClassVar[bool] = True

    slot_seconds: float | None = parameter(
        None,
        "time that a round of the availability process stands for, as trace_round_seconds; by "
        "default a client is lost if it is unavailable when the next round begins",
        above=0,
        units="seconds",
    )

    def prepare(self) -> None:
        """Refuses clients that may need more than 100 slots.

        Raises:
            ParameterError: If a client may need more than 100 slots.
        """
        super().prepare()
        if self.slot_seconds is None:
            return
        typical = self.typical(np.flatnonzero(self.world.examples > 0))
        longest = float(typical.max(initial=0)) * math.exp(_FARTHEST_JITTER * self.device_jitter)
        if longest > _MAX_SLOTS * self.slot_seconds:
            least = longest / _MAX_SLOTS
            allowed = f"a client may take {longest:.4g} s; must be at least {least:.4g}"
            raise ParameterError("slot_seconds", self.slot_seconds, allowed)

    def sent(self, round_number: int, ids: np.ndarray) -> Arrivals:
        masks = self.world.masks
        masks.forget_before(round_number)
        seconds = self.seconds(round_number, ids)
        if self.slot_seconds is None:
            return until_slowest(masks.mask(round_number + 1)[ids], seconds)
        slots = seconds / self.slot_seconds
        longest = float(slots.max(initial=0))
        part = uniforms(self.world.seed, "leaving", ids, round_number)
        delivered, there = np.ones(len(ids), bool), np.ones(len(ids), bool)
        for j in range(1, int(np.ceil(longest)) + 1):
            left = there & ~masks.mask(round_number + j)[ids]
            delivered[left] = (j - 1 + part[left]) >= slots[left]
            there &= ~left
        return until_slowest(delivered, seconds)
