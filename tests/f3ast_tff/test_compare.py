"""`compare`: seeds and data objects are draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import FederatedData, Simulation, compare, simulate
from f3ast_tff.core.randomness import generator
from f3ast_tff.methods.parts.strategy import BaseStrategy, Round

pytestmark = pytest.mark.usefixtures("host_by_default")

SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 3, "rounds": 6, "eval_every": 2}


def points(draw: int) -> FederatedData:
    """Two classes, 12 points for each of 8 clients."""
    rng = generator(draw, "points")
    clients = np.repeat(np.arange(8), 12)
    labels = rng.integers(2, size=len(clients))
    features = rng.normal(labels[:, None], 0.3, (len(clients), 3)).astype(np.float32)
    return FederatedData.from_arrays(features, labels, clients, test=0.25)


def test_seeds_are_draws_and_methods_are_compared(tmp_path: Path) -> None:
    """Each seed equals a run with this seed alone; a strategy object starts anew per seed."""
    few: dict[str, Any] = {**SMALL, "rounds": 2, "eval_every": 1, "algorithm": "fedavg"}
    drawn = simulate(seeds=range(2), folder=tmp_path / "runs", **few)
    alone = simulate(seed=1, data_seed=1, **few)
    scores = drawn[drawn["seed"] == 1]["sample_accuracy"].tolist()
    assert scores == alone.metrics["test_sample_accuracy"].tolist()
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["0", "1"]

    class Last(BaseStrategy):
        """Selects the clients with the largest ids; `moved` counts the rounds."""

        def __init__(self) -> None:
            self.moved = 0

        def select(self, now: Round) -> np.ndarray:
            self.moved += 1
            assert self.moved == now.number
            return now.constraint.admit(np.flatnonzero(now.available)[::-1])

    mine = {"algorithm": Last(), "aggregation": "mean"}
    frame = compare({"base": drawn, "one": alone, "mine": mine}, seeds=range(2), **{**few, **mine})
    assert dict(frame.groupby("method").size()) == {"base": 4, "one": 2, "mine": 4}
    rows = frame.differences(baseline="base")
    assert dict(zip(rows["a"], rows["pairs"])) == {"one": 1, "mine": 2}
    assert len(frame.plot().axes) == 2


def test_data_objects_are_draws_if_methods_share_them() -> None:
    """The data of a draw are equal for both methods, or their runs are not paired."""

    def run(method: str, draw: int, of: int) -> Simulation:
        few: dict[str, Any] = {"rounds": 2, "eval_every": 2, "constraint": 3}
        return simulate(points(of), method, seed=draw, data_seed=draw, **few)

    base = [run("fedavg", draw, draw) for draw in range(3)]
    found = compare({"base": base, "mine": [run("f3ast", draw, draw) for draw in range(3)]})
    assert found.differences(baseline="base")["draws"].tolist() == [3]
    others = compare({"base": base, "mine": [run("f3ast", draw, draw + 1) for draw in range(3)]})
    assert others.differences(baseline="base")["pairs"].tolist() == [0, 0]
