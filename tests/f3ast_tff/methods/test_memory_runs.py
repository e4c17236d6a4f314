"""Runs of methods with a memory of clients' updates: interrupted, and with F3AST's selection."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.engines import RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.records.metrics import Row
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.build import Builder
from f3ast_tff.run.round_loop import train
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.run.small_run import assert_same_results, selection

pytestmark = pytest.mark.usefixtures("host_by_default")

SMALL: dict[str, Any] = {
    "num_clients": 8,
    "clients_per_round": 3,
    "client_lr": 0.05,
    "client_lr_decay": 0.9,
    "availability": "four_classes",
    "rounds": 9,
    "eval_every": 3,
    "checkpoint_every": 2,
    "seed": 3,
}
METHODS: dict[str, dict[str, Any]] = {
    "mifa": {"algorithm": "mifa"},
    "mifa_waits": {
        "algorithm": "mifa",
        "mifa_start": "wait",
        "clients_per_round": 8,
        "availability": "scarce",
        "scarce_q": 0.4,
    },
    "fedvarp": {"algorithm": "fedvarp"},
    "fedstale": {"algorithm": "fedstale", "availability_knowledge": "estimated"},
    "mimic": {"algorithm": "mimic"},
    "focus": {"algorithm": "focus"},
    "fedawe": {"algorithm": "fedawe"},
    "f3ast": {"algorithm": "f3ast", "aggregation": "fedvarp"},
}


class Killed(Exception):
    """Stops a run."""


class StopsAfter:
    """Stops a run after a round."""

    def __init__(self, last: int) -> None:
        self.last = last

    def on_round(self, round_number: int, cohort: Cohort, outcome: RoundOutcome) -> None:
        if round_number == self.last:
            raise Killed

    def on_evaluation(self, row: Row, trained: Any) -> None:
        pass


def run(folder: Path, given: dict[str, Any], stop: int | None = None) -> list[np.ndarray]:
    """Runs with new parts, as in a new process; returns the model."""
    parts = Builder(resolve({**SMALL, **given})).experiment()
    try:
        with closing(RunFolder(folder, {"name": "test"})) as opened:
            callbacks = () if stop is None else (StopsAfter(stop),)
            train(parts, opened, None, callbacks)
        return parts.engine.weights()
    finally:
        parts.engine.close()


@pytest.mark.parametrize("name", METHODS)
def test_an_interrupted_run_ends_as_an_undisturbed_one(name: str, tmp_path: Path) -> None:
    """Stopped after round 5, with a checkpoint of round 4; equal to the last bit."""
    whole = run(tmp_path / "whole", METHODS[name])
    with pytest.raises(Killed):
        run(tmp_path / "broken", METHODS[name], stop=5)
    resumed = run(tmp_path / "broken", METHODS[name])
    assert_same_results(tmp_path / "broken", tmp_path / "whole")
    for a, b in zip(resumed, whole):
        np.testing.assert_array_equal(a, b)
    assert max(np.abs(w).max() for w in whole) > 0.01


def test_the_correction_changes_the_model_and_not_the_selection(tmp_path: Path) -> None:
    """F3AST with FedVARP's correction, sum_S p_k / r_k (D_k - y_k) + sum_j p_j y_j."""
    corrected = run(tmp_path / "corrected", METHODS["f3ast"])
    plain = run(tmp_path / "plain", {"algorithm": "f3ast"})
    found, expected = selection(tmp_path / "corrected"), selection(tmp_path / "plain")
    for part in ("selected", "weights"):
        np.testing.assert_array_equal(found[part], expected[part])
    assert max(np.abs(a - b).max() for a, b in zip(corrected, plain)) > 1e-3
