"""The fused engine is the TFF engine: same selections, same model, every algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.methods.parts.strategy import Cohort, Round, cohort_of
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

pytestmark = pytest.mark.tff

ROUNDS = 50
SMALL = {
    "num_clients": 15,
    "clients_per_round": 4,
    "availability": "smartphones",
    "client_lr": 0.05,
    "seed": 3,
}
# Released readings add sampling with replacement, the divisor K, filled rounds and clipping.
CASES = [
    {"algorithm": "fedadam"},
    {"algorithm": "poc", "poc_candidates": 6, "reading": "released"},
    {"algorithm": "fedavg_then_fedlaavg", "switch_round": 20},
    {"algorithm": "sequential_sgd", "clients_per_round": None, "availability": None},
    {"algorithm": "f3ast", "reading": "released", "server_optimizer": "yogi", "local_steps": 3},
]
# Each differs from one above in what the engines do not see, or in what others test on both.
MORE_CASES = [
    {"algorithm": "fedavg"},
    {"algorithm": "f3ast"},
    {"algorithm": "f3ast_adam"},
    {"algorithm": "fedlaavg", "client_lr_decay": 0.99},
]


def _label(case: dict[str, Any]) -> str:
    return "-".join(map(str, case.values()))


def train(
    engine: str, case: dict[str, Any], folder: Path, rounds: int = ROUNDS
) -> tuple[list[np.ndarray], list[Cohort]]:
    """Returns the weights after every round and the cohorts."""
    folder.mkdir()
    parts = Builder(resolve({**SMALL, **case, "engine": engine}), folder).experiment()
    weights, cohorts = [], []
    try:
        for t in range(1, rounds + 1):
            mask = parts.availability.mask(t)
            cohort = cohort_of(
                parts.strategy,
                Round(t, mask, parts.constraint.limit(t), parts.engine.client_losses),
            )
            parts.engine.run_rounds(t, [cohort])
            weights.append(np.concatenate([w.ravel() for w in parts.engine.weights()]))
            cohorts.append(cohort)
    finally:
        parts.engine.close()
    return weights, cohorts


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, id=_label(case)) for case in CASES),
        *(pytest.param(case, id=_label(case), marks=pytest.mark.slow) for case in MORE_CASES),
    ],
)
def test_fifty_rounds_agree(case: dict[str, Any], tmp_path: Path) -> None:
    expected, expected_cohorts = train("tff", case, tmp_path / "tff")
    got, cohorts = train("fused", case, tmp_path / "fused")
    for a, b in zip(cohorts, expected_cohorts):
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_array_equal(a.weights, b.weights)
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert np.abs(expected[-1]).max() > 0.01


def test_the_largest_learning_rate_is_the_same_on_both(tmp_path: Path) -> None:
    """Far beyond, where weights overflow, the engines would differ in what is finite."""
    case = {"algorithm": "f3ast", "server_lr": 1e6}
    expected, _ = train("tff", case, tmp_path / "tff", rounds=5)
    got, _ = train("fused", case, tmp_path / "fused", rounds=5)
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a, b, atol=1e-4 * np.abs(b).max())
    assert np.abs(expected[-1]).max() > 1e5
