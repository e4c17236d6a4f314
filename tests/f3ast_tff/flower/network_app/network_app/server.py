"""The server: F3AST, which notes who was there, was asked and has delivered in each round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

from f3ast_tff import F3AST
from f3ast_tff.flower import AvailabilityStrategy

N, K = 3, 2
app = ServerApp()


class Noted:
    """A method with a line per round in a file."""

    def __init__(self, method: Any, file: Path) -> None:
        self._method, self._file = method, file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def weigh(self, now: Any, ids: np.ndarray, delivered: np.ndarray) -> Any:
        """Notes what it gets."""
        line = {
            "t": now.number,
            "available": np.flatnonzero(now.available).tolist(),
            "asked": ids.tolist(),
            "delivered": ids[delivered].tolist(),
        }
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return self._method.weigh(now, ids, delivered)


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Writes `model.npy` at the end."""
    folder, timeout = Path(context.run_config["folder"]), float(context.run_config["timeout"])
    method = F3AST.start(np.full(N, 1 / N), K, seed=0, rate_beta=0.1)
    server = AvailabilityStrategy(
        Noted(method, folder / "rounds"),
        num_clients=N,
        clients_per_round=K,
        state_file=folder / "server.npz",
        evaluate_every=0,
        answer_seconds=20,
        wait_seconds=120,
    )
    start, rounds = ArrayRecord([np.zeros(N)]), int(context.run_config["rounds"])
    result = server.start(grid, start, rounds, timeout=timeout)
    np.save(folder / "model.npy", result.arrays.to_numpy_ndarrays()[0])
