"""A head of the network that stays with each client (FedPer), on CIFAR-100 with a small CNN.

python private_head.py DATA_DIR

DATA_DIR holds CIFAR-100 as its distributors pack it (the folder cifar-100-python). Each of 500
clients keeps a fifth of its 100 images for testing: the task's own test images are of other
clients. A third of the model's numbers are the head's, and are not sent.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from f3ast_tff import Simulation, simulate

# Few rounds of a small network, to see the difference in minutes; neither has converged.
SETTINGS: Mapping[str, Any] = {
    "availability": "home_devices",
    "model": "small_cnn",
    "own_test": 0.2,
    "clients_per_round": 20,
    "local_epochs": 2,
    "client_lr": 0.1,
    "server_lr": 1.0,
}


def run(private: tuple[str, ...], algorithm: str = "fedavg", **more: Any) -> Simulation:
    """Returns a run whose clients keep the leaves of these names."""
    given = {"task": "cifar100", "rounds": 100, **SETTINGS, **more}
    return simulate(algorithm=algorithm, private=private, **given)


def main(**more: Any) -> dict[str, float]:
    """Prints and returns the accuracy per client, each on its own test images."""
    found = {}
    for private in ((), ("head",)):
        last = run(private, **more).metrics.iloc[-1]
        name = f"private {', '.join(private)}" if private else "all leaves shared"
        found[name] = float(last["test_user_accuracy"])
        sent = last["bytes_up"] / 2**20
        print(f"{name}: user accuracy {found[name]:.3f}, {sent:.0f} MiB sent by clients")
    return found


if __name__ == "__main__":
    main(data_dir=sys.argv[1])
