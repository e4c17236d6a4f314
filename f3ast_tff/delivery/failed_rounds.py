"""Rounds that fail: too few of the clients asked are received, and the server drops them all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.components import parameter
from f3ast_tff.delivery.delivery import Arrivals, Delivery
from f3ast_tff.delivery.device_times import TimedConfig


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
