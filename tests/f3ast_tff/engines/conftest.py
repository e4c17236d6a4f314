"""Shared by the tests that execute rounds on TFF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from f3ast_tff.federated_data import FederatedData
from f3ast_tff.local_work import LocalWork
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizer import Optimizer
from tests.f3ast_tff.engines.tiny import NUM_CLASSES, NUM_FEATURES


@pytest.fixture(scope="session")
def make_tff_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Makes TFF engines on tiny data and closes them at the end."""
    from f3ast_tff.engines.tff_engine import TffEngine

    engines = []

    def make(
        data: FederatedData, work: LocalWork, server: Optimizer, aggregation: str, **kwargs: Any
    ) -> TffEngine:
        engine = TffEngine(
            data,
            SoftmaxRegression(NUM_FEATURES, NUM_CLASSES),
            work,
            Optimizer("sgd", 0.1),
            server,
            aggregation,
            seed=0,
            worker_log=tmp_path_factory.mktemp("engine") / "worker.log",
            **kwargs,
        )
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.close()
