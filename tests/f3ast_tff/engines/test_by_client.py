"""Results by client, the same on each engine and over workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import engine_parts, tiny_data, with_nan_client
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines import RoundOutcome
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Sgd
from tests.f3ast_tff.engines.distributed.workers_here import WorkersHere

# Client 0 has less than one batch, and makes no step.
WORK = LocalTraining(8, epochs=2, drop_remainder=True, seed=3)
IDLE_CLIENT, NAN_CLIENT = 0, 2
DATA = with_nan_client(tiny_data(), NAN_CLIENT)
COHORTS = [
    Cohort(np.array(ids), np.linspace(0.1, 0.5, len(ids)))
    for ids in ([5, IDLE_CLIENT, NAN_CLIENT, 3, 5, 1], [4, 1, 5, 3, 4, 4, 1, 3], [], [3])
]


@pytest.fixture(scope="module")
def alone(make_engine: Callable[..., Any]) -> list[dict[int, float]]:
    """Loss of each client in each round, if it trains alone on that round's model."""
    engine = make_engine("fused", DATA, WORK, Sgd(1.0), WeightedSum())
    losses: list[dict[int, float]] = []
    for t, cohort in enumerate(COHORTS, start=1):
        start = engine.state()
        losses.append({})
        for k in set(cohort.ids.tolist()) - {IDLE_CLIENT, NAN_CLIENT}:
            (outcome,) = engine.run_rounds(t, [Cohort(np.array([k]), np.ones(1))])
            losses[-1][k] = outcome.train_loss
            engine.restore(start)
        engine.run_rounds(t, [cohort])
    return losses


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "split"),
    [
        *((name, False) for name in ("fused", "fused_lanes", "tff_in_process", "host")),
        ("fused", True),
        pytest.param("tff_in_process", True, marks=pytest.mark.slow),
        pytest.param("tff", False, marks=pytest.mark.slow),
    ],
)
def test_losses_are_those_of_each_client(
    name: str, split: bool, made: Callable[..., Any], alone: list[dict[int, float]]
) -> None:
    parts = (DATA, WORK, Sgd(1.0), WeightedSum())
    options = {"workers": WorkersHere.of(name, engine_parts(*parts), 3)} if split else {}
    engine = made(*parts, **options)
    outcomes = engine.run_rounds(1, COHORTS, by_client=True)
    for cohort, outcome, losses in zip(COHORTS, outcomes, alone):
        expected = [losses.get(k, np.nan) for k in cohort.ids.tolist()]
        np.testing.assert_allclose(outcome.client_losses, expected, rtol=1e-5)
        assert outcome.client_losses.dtype == np.float64
        np.testing.assert_array_equal(outcome.delivered, cohort.ids != NAN_CLIENT)
        assert outcome.delivered.dtype == bool
        if len(cohort):
            trained = np.isfinite(outcome.client_losses)
            examples = 8 * WORK.num_batches(DATA.train.sizes[cohort.ids])[trained]
            mean = np.average(outcome.client_losses[trained], weights=examples)
            assert outcome.train_loss == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        "fused",
        "host",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("tff", "tff_in_process")),
    ],
)
def test_round_is_the_same_without(name: str, made: Callable[..., Any]) -> None:
    asked = made(DATA, WORK, Sgd(1.0), WeightedMean())
    plain = made(DATA, WORK, Sgd(1.0), WeightedMean())
    for a, b in zip(asked.run_rounds(1, COHORTS, by_client=True), plain.run_rounds(1, COHORTS)):
        assert isinstance(b, RoundOutcome) and b.client_losses is None and b.delivered is None
        np.testing.assert_equal((a.train_loss, a.update_norm), (b.train_loss, b.update_norm))
    for a, b in zip(asked.weights(), plain.weights()):
        np.testing.assert_array_equal(a, b)


# `test_memories_alike.py` compares these with TFF's.
@pytest.mark.parametrize(
    "name", ["fused", "fused_lanes", "host", pytest.param("tff_in_process", marks=pytest.mark.slow)]
)
def test_with_a_memory(made: Callable[..., Any], alone: list[dict[int, float]]) -> None:
    """A dropped client keeps its place."""
    parts = (DATA, WORK, Sgd(1.0), Mifa())
    engine = made(*parts, p=np.full(6, 1 / 6), cohort_size=6)
    outcome, nobody = engine.run_rounds(1, [COHORTS[0], COHORTS[2]], by_client=True)
    losses = alone[0]
    expected = [losses.get(k, np.nan) for k in COHORTS[0].ids.tolist()]
    np.testing.assert_allclose(outcome.client_losses, expected, rtol=1e-5)
    np.testing.assert_array_equal(outcome.delivered, COHORTS[0].ids != NAN_CLIENT)
    assert outcome.num_dropped == 1
    assert len(nobody.client_losses) == len(nobody.delivered) == 0
