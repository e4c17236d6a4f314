"""Delivery: whose update arrives, of those asked, and how long a round takes."""

from f3ast_tff.delivery.bernoulli import Bernoulli
from f3ast_tff.delivery.certain import Certain
from f3ast_tff.delivery.deadline import Deadline
from f3ast_tff.delivery.delivery import Arrivals, Delivery, DeliveryConfig, DeliveryWorld
from f3ast_tff.delivery.device_times import DeviceTimes
from f3ast_tff.delivery.failed_rounds import FailBelow
from f3ast_tff.delivery.over_commit import OverCommit
from f3ast_tff.delivery.trace import TraceDelivery

__all__ = [
    "Arrivals",
    "Bernoulli",
    "Certain",
    "Deadline",
    "Delivery",
    "DeliveryConfig",
    "DeliveryWorld",
    "DeviceTimes",
    "FailBelow",
    "OverCommit",
    "TraceDelivery",
]
