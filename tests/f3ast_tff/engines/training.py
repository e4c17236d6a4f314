"""A few rounds of an experiment on an engine, one at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.methods.parts.strategy import Cohort, Round, cohort_of
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

SMALL = {
    "num_clients": 15,
    "clients_per_round": 4,
    "availability": "smartphones",
    "client_lr": 0.05,
    "seed": 3,
}


def train(
    given: dict[str, Any], folder: Path, rounds: int
) -> tuple[list[np.ndarray], list[Cohort]]:
    """Returns the weights after each round, and the cohorts; other settings are `SMALL`'s."""
    folder.mkdir()
    parts = Builder(resolve({**SMALL, **given}), folder).experiment()
    weights, cohorts = [], []
    try:
        for t in range(1, rounds + 1):
            mask, losses = parts.availability.mask(t), parts.engine.client_losses
            now = Round(t, mask, parts.constraint.limit(t), losses)
            cohorts.append(cohort_of(parts.strategy, now))
            parts.engine.run_rounds(t, cohorts[-1:])
            weights.append(np.concatenate([w.ravel() for w in parts.engine.weights()]))
    finally:
        parts.engine.close()
    return weights, cohorts
