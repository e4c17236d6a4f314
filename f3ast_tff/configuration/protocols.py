"""What an object of each kind must have, whoever made it."""

from __future__ import annotations

from typing import Any

from f3ast_tff.errors import ComponentError
from f3ast_tff.federated_data import FederatedData

_MEMBERS: dict[str, tuple[str, ...]] = {
    "task": ("train", "test", "num_classes"),
    "model": ("initial_weights", "apply", "penalty"),
    "algorithm": ("select", "observe", "state", "restore", "needs_losses", "needs_outcome"),
    "aggregation": ("normalise", "in_jax", "memory"),
    "availability": ("num_clients", "mask"),
    "communication": ("largest_k", "mean_k", "limit"),
    "delivery": ("arrivals",),
    "client_optimizer": ("learning_rate", "in_jax"),
    "server_optimizer": ("learning_rate", "in_jax"),
}


def check_object(kind: str, value: Any) -> None:
    """Checks that an object can stand for a kind of component.

    Raises:
        ComponentError: If it cannot; names what it lacks.
    """
    if kind == "task" and not isinstance(value, FederatedData):
        raise ComponentError(f"task {value!r}: must be a name, a TaskConfig or FederatedData")
    missing = [name for name in _MEMBERS[kind] if not hasattr(value, name)]
    if missing:
        raise ComponentError(f"{kind} {type(value).__name__}: has no {', '.join(missing)}")
