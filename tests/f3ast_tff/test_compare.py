"""`compare`: seeds and data objects are draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import FederatedData, Simulation, compare, simulate
from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.core.randomness import generator
from f3ast_tff.methods.parts.strategy import BaseStrategy, Round

pytestmark = pytest.mark.usefixtures("host_by_default")

SMALL: dict[str, Any] = {"num_clients": 10, "clients_per_round": 3, "rounds": 6, "eval_every": 2}


def points(draw: int, num_clients: int = 8) -> FederatedData:
    """Two classes, 12 points for each client."""
    rng = generator(draw, "points")
    clients = np.repeat(np.arange(num_clients), 12)
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
    assert others.differences(baseline="base")["pairs"].tolist() == [0]


def test_lists_of_results_are_used_whole(tmp_path: Path) -> None:
    """Three data sets of other clients, in folders and not: three draws, whose mean counts."""
    few: dict[str, Any] = {"rounds": 2, "eval_every": 2, "constraint": 3, "client_lr": 0.5}
    sets = [points(draw, clients) for draw, clients in enumerate((8, 9, 10))]
    runs = {name: [simulate(each, name, **few) for each in sets] for name in ("fedavg", "f3ast")}
    runs["fedavg"][1] = simulate(sets[1], "fedavg", folder=tmp_path / "run", **few)
    found = compare({name: tuple(each) for name, each in runs.items()})
    (row,) = found.differences(baseline="fedavg", score="sample_loss").to_dict("records")
    last = {n: [r.metrics["test_sample_loss"].iloc[-1] for r in each] for n, each in runs.items()}
    assert (row["draws"], row["pairs"]) == (3, 3)
    assert row["difference"] == pytest.approx(np.mean(np.subtract(last["f3ast"], last["fedavg"])))
    # Equal data are one draw: a second run on them is a repetition.
    with pytest.raises(RunsError, match="are the same run"):
        compare({"fedavg": [runs["fedavg"][0], simulate(points(0), "fedavg", **few)]})


def test_what_runs_of_several_methods_warn_of_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody is ever available in the two runs of each of two methods."""
    scarce = {"availability": "scarce", "scarce_q": 1e-9, "num_clients": 20, "rounds": 2}
    compare({"a": "f3ast", "b": "fedavg"}, seeds=[0, 1], **scarce)
    lines = [record.getMessage() for record in caplog.records]
    first, *more = (line for line in lines if "no client available" in line)
    assert more == [f"in 4 runs, each: {first}"]
