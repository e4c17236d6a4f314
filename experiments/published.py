"""Published values of each task."""

from __future__ import annotations

from typing import Any

# App. C: batches of 20, client learning rate 0.01 on Synthetic. The paper gives no number of
# rounds for Synthetic (1000 is 1 / beta), no server learning rate, and no FedAdam constants: the
# server steps by the aggregate itself, and Adam's constants were chosen here (README).
TASKS: dict[str, dict[str, Any]] = {
    "synthetic": {
        "num_clients": 100,
        "rounds": 1000,
        "batch_size": 20,
        "client_lr": 0.01,
        "server_lr": {"sgd": 1.0, "adam": 0.03, "yogi": 0.03, "adagrad": 0.03},
        "epsilon": 0.001,
    },
}


def published(task: str, name: str, server_optimizer: str) -> Any:
    """Returns a task's value of a setting, for a server optimizer where that matters."""
    value = TASKS[task][name]
    return value[server_optimizer] if isinstance(value, dict) else value
