"""Small runs whose clients are of four classes, for tests of their importance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.analysis.conftest import MakeRun

# Clients 0 to 3: more available and correlated, more available and weakly correlated, less
# available and correlated, less available and weakly correlated.
CHAINS = {
    "availability": "four_classes",
    "markov_g": 0.4,
    "markov_nu": 0.9,
    "markov_epsilon": 0.01,
    "markov_order": "blocks",
    "markov_classes": "four",
}
P = np.array([0.3, 0.2, 0.4, 0.1])


def make(make_run: MakeRun, name: str, scale: float = 1.0, **settings: Any) -> Path:
    """Makes a run of two rounds: clients 0 and 2 with weights 0.3 and 0.6, then 3 with 0.3."""
    run = make_run(name, **{**CHAINS, **settings})
    weights = scale * np.array([[0.3, 0.6], [0.3, 0]])
    selected = np.array([[0, 2], [3, -1]])
    np.savez(
        run / "selection.npz",
        selected=selected,
        weights=weights,
        weight_sum=weights.sum(axis=1),
        p=P,
    )
    return run
