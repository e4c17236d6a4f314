"""A schedule of faults by seed, on a Flower server with a state file.

The server is killed in a round, or before the file of its state is renamed; the disk is full; the
clock jumps a day back or ahead; replies are lost or bad. A server that starts again ends with the
model of one that was never stopped and lost the same replies.
"""

from __future__ import annotations

import errno
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord

from f3ast_tff import F3AST
from f3ast_tff.availability import Table
from f3ast_tff.flower import AvailabilityStrategy
from f3ast_tff.methods.fedau import FedAU
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid
from tests.f3ast_tff.flower.test_availability_strategy import Killed, app_of, drift, four

ROUNDS = 5
SEED = 20_261_127


class Faults:
    """The faults of one schedule.

    Attributes:
        lost: Clients without a usable reply, by round.
        left: Faults of the server that are still to come: kind, and round or number of the rename.
        jump: Seconds that the clock is ahead.
    """

    def __init__(self, rng: random.Random) -> None:
        self.lost = {
            (rng.randrange(4), rng.randint(1, ROUNDS)): rng.choice(["error", "nan", "shape"])
            for _ in range(rng.randint(0, 5))
        }
        kinds = ["in_round", "before_rename", "full", "behind", "ahead"]
        self.left = [(rng.choice(kinds), rng.randint(1, ROUNDS)) for _ in range(rng.randint(1, 3))]
        self._renames, self.jump = 0, 0

    def update(self, k: int, t: int) -> np.ndarray:
        """The reply of a client, or what is wrong with it."""
        if self.left and self.left[0] == ("in_round", t):
            self.left.pop(0)
            raise Killed
        how = self.lost.get((k, t))
        if how == "error":
            raise ValueError("no reply")
        if how == "nan":
            return np.full(4, np.nan)
        return np.zeros((4, 4)) if how == "shape" else drift(k, t)

    def at_rename(self) -> None:
        """Strikes before a file of the state takes its name."""
        self._renames += 1
        if not self.left or self.left[0][0] == "in_round" or self.left[0][1] > self._renames:
            return
        kind, _ = self.left.pop(0)
        self._renames = 0
        self.jump = {"behind": -86400, "ahead": 86400}.get(kind, self.jump)
        if kind == "before_rename":
            raise Killed
        if kind == "full":
            raise OSError(errno.ENOSPC, "No space left on device")


def model_after(server: AvailabilityStrategy, grid: InProcessGrid) -> np.ndarray:
    result = server.start(grid, ArrayRecord([np.zeros(4)]), ROUNDS)
    return result.arrays.to_numpy_ndarrays()[0]


def first_trained(grid: InProcessGrid) -> int:
    """The first round in which a client was asked to train; one after the last if none was."""
    return min((t for kind, _, t in grid.sent if kind == "train"), default=ROUNDS + 1)


def schedule(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Plays one schedule; returns how often the server was stopped."""
    rng = random.Random(f"{SEED} {number}")
    masks = np.random.default_rng(number).random((ROUNDS, 4)) < 0.8
    method = rng.choice([F3AST, FedAU])

    def server(file: Path | None) -> AvailabilityStrategy:
        made = method.start(np.arange(1, 5) / 10, 2)
        return four(made, clients_per_round=2, availability=Table(masks), state_file=file)

    faults = Faults(rng)
    undisturbed = Faults(random.Random(f"{SEED} {number}"))
    undisturbed.lost, undisturbed.left = faults.lost, []
    whole = InProcessGrid(app_of(undisturbed.update), 4, {})
    expected = model_after(server(None), whole)
    asked = {t for kind, _, t in whole.sent if kind == "train"}
    stops, saved, replace, clock = 0, 0, os.replace, time.time

    def counted(source: Any, target: Any) -> None:
        nonlocal saved
        if Path(target).parent == folder:
            before = len(faults.left)
            faults.at_rename()
            if len(faults.left) < before:
                monkeypatch.setattr(time, "time", lambda: clock() + faults.jump)
        replace(source, target)
        saved += Path(target).parent == folder

    monkeypatch.setattr(os, "replace", counted)
    while True:
        grid = InProcessGrid(app_of(faults.update), 4, {}, first_node=70 + 100 * stops)
        begun = saved
        try:
            found = model_after(server(folder / "server.npz"), grid)
            break
        except (Killed, OSError):
            stops += 1
            assert stops <= 3
        finally:
            # No round that was saved is trained again.
            assert first_trained(grid) == min((t for t in asked if t > begun), default=ROUNDS + 1)
    monkeypatch.undo()
    np.testing.assert_array_equal(found, expected, err_msg=f"schedule {number} of seed {SEED}")
    return stops


@pytest.mark.parametrize(
    "count", [40, pytest.param(1000, marks=pytest.mark.slow)], ids=["few", "a_thousand"]
)
def test_nothing_is_lost(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stops = 0
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        stops += schedule(number, folder, monkeypatch)
    assert stops > count / 2
