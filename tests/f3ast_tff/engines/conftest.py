"""Shared by the tests of engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from f3ast_tff.engines import Engine
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.local_training import LocalWork
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizer import Optimizer

CLIENT = Optimizer("sgd", 0.1)


@pytest.fixture(scope="session")
def make_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Makes engines by name, with client SGD at 0.1, and closes them at the end."""
    engines: list[Engine] = []

    def make(
        name: str,
        data: FederatedData,
        work: LocalWork,
        server: Optimizer,
        aggregation: str,
        client: Optimizer = CLIENT,
        **kwargs: Any,
    ) -> Engine:
        model = SoftmaxRegression(data.train.features.shape[1], data.num_classes)
        parts = (data, model, work, client, server, aggregation)
        if name.startswith("tff"):
            from f3ast_tff.engines.tff.engine import TffEngine

            log = tmp_path_factory.mktemp("engine") / "worker.log"
            runtime = {"tff": "worker", "tff_in_process": "tf"}[name]
            engines.append(TffEngine(*parts, seed=0, worker_log=log, runtime=runtime, **kwargs))
        else:
            from f3ast_tff.engines.jax.engine import FusedEngine

            lanes = {"fused": 1, "fused_lanes": 2}[name]
            engines.append(FusedEngine(*parts, seed=0, num_lanes=lanes, device="cpu", **kwargs))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()
