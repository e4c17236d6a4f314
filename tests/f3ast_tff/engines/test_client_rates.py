"""The client learning rate of a round, as both engines apply it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedSum
from f3ast_tff.optimizers import Geometric, Inverse, InverseSqrt, Schedule, Sgd
from tests.f3ast_tff.engines import reference
from tests.f3ast_tff.engines.tiny import tiny_data

WORK = LocalTraining(4, epochs=2, seed=3)
COHORT = Cohort(np.array([0, 3]), np.array([0.3, 0.7]))
CASES = [
    *[("fused", schedule) for schedule in (Geometric(0.5), Inverse(), InverseSqrt(1))],
    # `test_memories_alike.py` has a decreasing rate on both engines.
    pytest.param("tff_in_process", InverseSqrt(1), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "schedule"), CASES, ids=str)
def test_a_round_trains_at_its_rate(
    name: str, schedule: Schedule, make_engine: Callable[..., Any]
) -> None:
    """Delta of rounds 1, 2 and 9, compared with the same local steps in NumPy."""
    data, client = tiny_data(), Sgd(0.1, schedule=schedule)
    engine = make_engine(name, data, WORK, Sgd(1.0), WeightedSum(), client=client)
    for t in (1, 2, 9):
        before = engine.weights()
        engine.run_rounds(t, [COHORT])
        rate = 0.1 * schedule.factor(t)
        delta = reference.delta(before, data.train, WORK, t, COHORT.ids, COHORT.weights, rate)
        for new, old, step in zip(engine.weights(), before, delta):
            np.testing.assert_allclose(new - old, step, atol=2e-6)
