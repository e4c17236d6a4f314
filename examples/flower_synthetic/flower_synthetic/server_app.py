"""The server: F3AST selects among the connected nodes and weighs their updates."""

from __future__ import annotations

from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

from f3ast_tff import F3AST
from f3ast_tff.availability import HomeDevicesConfig
from f3ast_tff.flower import AvailabilityStrategy
from flower_synthetic import softmax

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Trains with the app's settings and prints the test accuracy."""
    settings = context.run_config
    num_clients, seed = int(settings["num-clients"]), int(settings["seed"])
    k = int(settings["clients-per-round"])
    sizes = softmax.data(num_clients).train.sizes
    p = sizes / sizes.sum()
    strategy = AvailabilityStrategy(
        F3AST.start(p, k, seed=seed),
        num_clients=num_clients,
        clients_per_round=k,
        # Switches simulated nodes off. Without this argument every connected node is available.
        availability=HomeDevicesConfig().build(p, seed),
        state_file=settings["state-file"] or None,
    )
    result = strategy.start(
        grid,
        initial_arrays=ArrayRecord(softmax.initial_model()),
        num_rounds=int(settings["num-server-rounds"]),
        timeout=60,
    )
    test = softmax.data(num_clients).test
    score = softmax.accuracy(result.arrays.to_numpy_ndarrays(), test.features, test.labels)
    print(f"test accuracy {score:.4f}")
