"""Clients for the tests of deliveries."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.availability import CommunicationConstraint, FixedK
from f3ast_tff.delivery import DeliveryWorld
from f3ast_tff.delivery.delivery import RememberedMasks

# Settings with which each example takes 10 ms on every client in every round.
ALIKE: dict[str, Any] = {"device_example_spread": 0.0, "device_jitter": 0.0}


def world(
    examples: np.ndarray,
    *,
    seed: int = 1,
    num_bytes: int = 0,
    process: Any = None,
    constraint: CommunicationConstraint | None = None,
) -> DeliveryWorld:
    """Clients that train `examples` each, and receive and send `num_bytes` in total."""
    return DeliveryWorld(
        sizes=examples,
        examples=examples,
        bytes_down=num_bytes,
        bytes_up=0,
        availability=process,
        masks=RememberedMasks(process),
        constraint=constraint or FixedK(clients_per_round=1),
        seed=seed,
    )
