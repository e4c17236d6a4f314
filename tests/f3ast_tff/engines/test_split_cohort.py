"""An engine with its cohort split over workers equals the whole engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import engine_parts, tiny_data, with_nan_client
from f3ast_tff.core.errors import EngineError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines import Engine
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Adam, Geometric, Sgd
from tests.f3ast_tff.engines.distributed.workers_here import WorkersHere

NAN_CLIENT = 2
DATA = with_nan_client(tiny_data(), NAN_CLIENT)
WORK = LocalTraining(4, epochs=2, seed=3)
CLIENT = Sgd(0.1, schedule=Geometric(0.9))
COHORTS = [
    Cohort(np.array([0, 3, 5]), np.array([0.5, 1.7, 0.2])),
    Cohort(np.array([1]), np.array([0.4])),
    Cohort(np.zeros(0, np.int64), np.zeros(0)),
    Cohort(np.array([0, 1, NAN_CLIENT, 3, 4, 5]), np.arange(1.0, 7.0) / 7),
    Cohort(np.array([4, 4, 1]), np.array([0.3, 0.3, 0.1])),
]
ADAM = Adam(0.05, epsilon=0.01)
SUM, MEAN = WeightedSum(), WeightedMean()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "aggregation", "num_workers"),
    [
        *(("fused", aggregation, m) for aggregation in (SUM, MEAN) for m in (1, 2, 4)),
        ("tff_in_process", SUM, 2),
        pytest.param("tff_in_process", MEAN, 3, marks=pytest.mark.slow),
    ],
)
def test_rounds_are_those_of_one_process(
    name: str, aggregation: Aggregation, num_workers: int, made: Callable[..., Any]
) -> None:
    """Up to 1e-6, since sums are added in another order; so are the losses of who would train."""
    parts = (DATA, WORK, ADAM, aggregation, CLIENT)
    workers = WorkersHere.of(name, engine_parts(*parts, cohort_size=6), num_workers)
    met = {"client_loss": "training_loss"}
    whole, split = made(*parts, **met), made(*parts, workers=workers, **met)
    expected, got = whole.run_rounds(1, COHORTS), split.run_rounds(1, COHORTS)
    for a, b in zip(got, expected):
        assert (a.num_dropped, a.rejected) == (b.num_dropped, b.rejected)
        assert a.train_loss == pytest.approx(b.train_loss, rel=1e-5, nan_ok=True)
        assert a.update_norm == pytest.approx(b.update_norm, rel=1e-5)
    assert expected[3].num_dropped == 1
    for a, b in zip(split.weights(), whole.weights()):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)
    assert split.statistics()["num_workers"] == num_workers
    ids = np.array([5, NAN_CLIENT, 0, 4])
    losses, of_whole = (engine.client_losses(ids, 6) for engine in (split, whole))
    np.testing.assert_allclose(losses, of_whole, rtol=1e-5)
    assert np.isinf(losses).tolist() == [False, True, False, False]


class Lost(WorkersHere):
    """Fails in the second round."""

    def train(self, broadcast: Any, round_number: int, *more: Any) -> Any:
        if round_number == 2:
            raise EngineError("round 2: worker 0 of 2 was lost")
        return super().train(broadcast, round_number, *more)


@pytest.mark.long
def test_lost_round_changes_nothing_and_can_be_repeated(make_engine: Callable[..., Any]) -> None:
    parts = (DATA, WORK, Sgd(1.0), SUM, CLIENT)

    def engine(kind: type[WorkersHere]) -> Engine:
        workers = kind.of("fused", engine_parts(*parts, cohort_size=6), 2)
        return make_engine("fused", *parts, workers=workers)

    lost, whole = engine(Lost), engine(WorkersHere)
    (first,) = lost.run_rounds(1, COHORTS[:1])
    before = lost.state()
    with pytest.raises(EngineError, match="round 2"):
        lost.run_rounds(2, COHORTS[1:2])
    for name, value in lost.state().items():
        np.testing.assert_array_equal(value, before[name])
    resumed = engine(WorkersHere)
    resumed.restore(before)
    resumed.run_rounds(2, COHORTS[1:])
    whole.run_rounds(1, COHORTS)
    for a, b in zip(resumed.weights(), whole.weights()):
        np.testing.assert_array_equal(a, b)
    assert not first.rejected
