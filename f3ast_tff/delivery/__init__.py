"""Delivery: which updates arrive, and how long a round takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.delivery.certain import Certain
    from f3ast_tff.delivery.delivery import Arrivals, Delivery, DeliveryConfig, DeliveryWorld
    from f3ast_tff.delivery.late import Late
    from f3ast_tff.delivery.losses import Bernoulli, Deadline, TraceDelivery
    from f3ast_tff.delivery.over_commit import OverCommit

__all__ = [
    "Arrivals",
    "Bernoulli",
    "Certain",
    "Deadline",
    "Delivery",
    "DeliveryConfig",
    "DeliveryWorld",
    "Late",
    "OverCommit",
    "TraceDelivery",
]

__getattr__, __dir__ = lazy_names(__name__)
