"""Delivery: which updates arrive, and how long a round takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.delivery.asynchronous import Asynchronous as Asynchronous
    from f3ast_tff.delivery.certain import Certain as Certain
    from f3ast_tff.delivery.delivery import Arrivals as Arrivals
    from f3ast_tff.delivery.delivery import Delivery as Delivery
    from f3ast_tff.delivery.delivery import DeliveryConfig as DeliveryConfig
    from f3ast_tff.delivery.delivery import DeliveryWorld as DeliveryWorld
    from f3ast_tff.delivery.late import Late as Late
    from f3ast_tff.delivery.losses import Bernoulli as Bernoulli
    from f3ast_tff.delivery.losses import Deadline as Deadline
    from f3ast_tff.delivery.losses import TraceDelivery as TraceDelivery
    from f3ast_tff.delivery.over_commit import OverCommit as OverCommit
    from f3ast_tff.delivery.quorum import Quorum as Quorum

__getattr__, __dir__ = lazy_names(__name__)
