"""Features that only the TFF engine has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
import pytest

from benchmarks.tiny import engine_parts, tiny_data
from f3ast_tff.core.errors import EngineError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Adam, Sgd

pytestmark = pytest.mark.tff


@pytest.mark.long
def test_dead_worker_is_an_error_and_leaves_the_model(make_engine: Callable[..., Any]) -> None:
    engine = make_engine("tff", tiny_data(), LocalTraining(4), Adam(0.1), WeightedSum())
    cohort = Cohort(np.array([0, 3]), np.array([0.5, 0.2]))
    engine.run_rounds(1, [cohort])
    before = engine.state()
    psutil.Process(engine._runtime.pid).kill()
    with pytest.raises(EngineError, match="^round 2: TFF's worker on localhost:[0-9]+ ended"):
        engine.run_rounds(2, [cohort])
    for name, value in engine.state().items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.long
def test_hung_worker_is_named_and_ended(make_engine: Callable[..., Any]) -> None:
    parts = (tiny_data(), LocalTraining(4), Sgd(1.0), WeightedSum())
    engine = make_engine("tff", *parts, round_timeout_s=20.0)
    cohort = Cohort(np.array([0, 3]), np.array([0.5, 0.2]))
    engine.run_rounds(1, [cohort])
    before = engine.state()
    worker = psutil.Process(engine._runtime.pid)
    engine._runtime._timeout_s = 1.0
    worker.suspend()
    message = "^round 2: TFF's worker on localhost:[0-9]+ has not answered within 1 s"
    with pytest.raises(EngineError, match=message):
        engine.run_rounds(2, [cohort])
    assert not worker.is_running()
    for name, value in engine.state().items():
        np.testing.assert_array_equal(value, before[name])


class OwnSum(WeightedSum):
    """An aggregation without value semantics: its behaviour could change behind its identity."""

    def in_tf(self, delta: list[Any]) -> list[Any]:
        return [2 * leaf for leaf in delta]


class AnotherSum(WeightedSum):
    """An aggregation that TFF executes as a sum."""


def test_runs_of_one_composition_share_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another seed or name shares it too; other rates, batches or rules of a user do not."""
    from f3ast_tff.engines.tff import composition

    monkeypatch.setattr(composition, "build_process", lambda *parts: object())

    def process(seed: int, size: int, rate: float, aggregation: Aggregation) -> object:
        parts = engine_parts(tiny_data(), LocalTraining(size, seed=seed), Sgd(rate), aggregation)
        return composition.process_of(parts, composition.rules_of(parts), parts.data.train)

    composition.latest_process.cache_clear()
    try:
        first = process(1, 4, 1.0, WeightedSum())
        assert process(2, 4, 1.0, WeightedSum()) is first
        assert process(1, 4, 1.0, AnotherSum()) is first
        for size, rate, aggregation in (
            (5, 1.0, WeightedSum()),
            (4, 0.5, WeightedSum()),
            (4, 1.0, WeightedMean()),
        ):
            another = process(1, size, rate, aggregation)
            assert another is not first
            first = another
        own = OwnSum()
        assert process(1, 4, 1.0, own) is not process(1, 4, 1.0, own)
    finally:
        composition.latest_process.cache_clear()
