"""A round of one PyTorch module in `simulate` and in Flower's simulation (Ray), in turns.

    python -m benchmarks.flower_simulation

In an environment with `f3ast-tff[torch]` and `flwr[simulation]`. Ten clients of 200 examples train
in every round, batches of 20, 5 epochs; Flower has an actor per core, `simulate` one process.
Seconds per round are medians, without start-up and scoring.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import nn

from benchmarks.timing import machine
from benchmarks.torch_client import BATCH, EPOCHS, NETWORKS, NUM_EXAMPLES, RATE
from f3ast_tff import FederatedData, simulate
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.randomness import generator
from f3ast_tff.torch import TorchModel

CLIENTS, ROUNDS, TURNS = 10, 12, 2
# Ray's own address of the machine may not be reachable.
_LOCAL: Any = {"init_args": {"_node_ip_address": "127.0.0.1"}}
Make = Callable[[], nn.Module]


def data_of(shape: tuple[int, ...]) -> FederatedData:
    """Returns noise, `NUM_EXAMPLES` of each client."""
    rng, many = generator(0, "flower simulation"), CLIENTS * NUM_EXAMPLES
    features = rng.normal(size=(many, *shape)).astype(np.float32)
    offsets = np.arange(0, many + 1, NUM_EXAMPLES)
    split = ClientExamples(features, rng.integers(0, 10, many), offsets)
    return FederatedData(split, split, 10)


def ours(make: Make, data: FederatedData) -> float:
    """Returns the median seconds per round of `simulate`."""
    torch.set_num_threads(1)
    result = simulate(
        data,
        "fedavg",
        "always",
        model=TorchModel(make),
        clients_per_round=CLIENTS,
        baseline_sampling="without_replacement",
        rounds=ROUNDS,
        eval_every=ROUNDS,
        batch_size=BATCH,
        local_epochs=EPOCHS,
        client_lr=RATE,
    )
    return float(result.summary["seconds_per_round"])


def flowers(make: Make, data: FederatedData) -> float:
    """Returns the median seconds per round of Flower's simulation, after the first."""
    client, server = ClientApp(), ServerApp()
    ends: list[float] = []

    @client.train()
    def train(message: Message, context: Context) -> Message:
        torch.set_num_threads(1)
        module = make()
        module.load_state_dict(message.content["arrays"].to_torch_state_dict())
        x, y = data.train.client(int(context.node_config["partition-id"]))
        features, labels = torch.tensor(x), torch.tensor(y)
        step = torch.optim.SGD(module.parameters(), RATE)
        for _ in range(EPOCHS):
            order = torch.randperm(len(labels))
            for first in range(0, len(labels), BATCH):
                batch = order[first : first + BATCH]
                loss = nn.functional.cross_entropy(module(features[batch]), labels[batch])
                step.zero_grad()
                loss.backward()
                step.step()
        metrics = MetricRecord({"num-examples": len(labels)})
        arrays = ArrayRecord(module.state_dict())
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    class Timed(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            found = super().aggregate_train(server_round, replies)
            ends.append(time.perf_counter())
            return found

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        strategy = Timed(fraction_evaluate=0.0, min_available_nodes=CLIENTS)
        strategy.start(grid, ArrayRecord(make().state_dict()), num_rounds=ROUNDS)

    run_simulation(server, client, num_supernodes=CLIENTS, backend_config=_LOCAL)
    return float(np.median(np.diff(ends)))


def main() -> None:
    """Prints a line per network and turn."""
    print(machine(), "PyTorch", torch.__version__)
    for name, (make, shape) in NETWORKS.items():
        data = data_of(shape)
        for _ in range(TURNS):
            own, other = 1e3 * ours(make, data), 1e3 * flowers(make, data)
            print(f"{name}: simulate {own:.1f} ms, Flower {other:.1f} ms, ratio {other / own:.2f}")


if __name__ == "__main__":
    main()
