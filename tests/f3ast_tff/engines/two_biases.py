"""Two clients whose model is a number, for methods by hand.

Two clients have examples with features 0, so the model is two biases (a, -a), starting at a = 0.
There is one local step, with client rate 1/2 and server rate 1. Let s = s(2a),
s(x) = 1 / (1 + exp(-x)). Client 0 has one example of label 0 and moves a by D = (1 - s) / 2; client
1 has one of label 1 and moves a by D = -s / 2. p = (1/4, 3/4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.optimizers import Sgd

P2 = np.array([0.25, 0.75])


def s(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def labelled(*labels: list[int]) -> FederatedData:
    """Makes one client per list of labels; all features are 0."""
    flat = np.array([label for of_client in labels for label in of_client], np.int32)
    offsets = np.cumsum([0, *map(len, labels)])
    examples = ClientExamples(np.zeros((len(flat), 1), np.float32), flat, offsets)
    return FederatedData(examples, examples, 2)


Weighted = tuple[list[int], list[float]]


def biases(
    made: Callable[..., Any],
    aggregation: Aggregation,
    rounds: Sequence[Weighted],
    data: FederatedData | None = None,
    steps: int = 1,
    p: np.ndarray = P2,
    server_lr: float = 1.0,
) -> list[float]:
    """Returns a after each round with the cohort of these ids and weights."""
    work = LocalTraining(4, epochs=steps)
    parts = (data or labelled([0], [1]), work, Sgd(server_lr), aggregation)
    engine = made(*parts, client=Sgd(0.5), p=p, cohort_size=2)
    found = []
    for t, (ids, weights) in enumerate(rounds, start=1):
        (outcome,) = engine.run_rounds(t, [Cohort(np.array(ids, int), np.array(weights, float))])
        assert not outcome.rejected or not ids
        kernel, (first, second) = engine.weights()
        assert not kernel.any() and first == pytest.approx(-second, rel=1e-5, abs=1e-6)
        found.append(first)
    return found


# Compiling takes most of the time; recorded rounds and other tests show that the engines agree.
FUSED = pytest.param("fused", marks=pytest.mark.long)
ENGINES = pytest.mark.parametrize(
    "name", [pytest.param("tff_in_process", marks=pytest.mark.slow), FUSED, "host"]
)
ONE_ENGINE = pytest.mark.parametrize("name", [FUSED, "host"])
