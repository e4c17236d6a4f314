"""Delivery: which updates arrive, and how long a round takes."""

from f3ast_tff.delivery.delivery import Arrivals, Delivery, DeliveryConfig, DeliveryWorld
from f3ast_tff.delivery.late import Late
from f3ast_tff.delivery.losses import Bernoulli, Certain, Deadline, TraceDelivery
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
