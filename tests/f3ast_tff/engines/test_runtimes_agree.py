"""TFF's runtimes give the same model: its worker, TensorFlow in this process, a split cohort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.engines.distributed import ray_connection, ray_workers
from tests.f3ast_tff.engines.distributed.workers_here import WorkersHere
from tests.f3ast_tff.engines.recorded_rounds import played

# `tff/test_in_process.py` has the worker's rounds, `test_split_cohort.py` a split cohort.
pytestmark = [pytest.mark.tff, pytest.mark.slow]

RUNTIMES: dict[str, dict[str, Any]] = {
    "worker": {"tff_runtime": "worker"},
    "tf": {"tff_runtime": "tf"},
    "split": {"num_workers": 3},
}


@pytest.mark.parametrize("algorithm", ["f3ast_adam", "fedavg", "f3ast"])
def test_twenty_rounds_agree(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cohort is split as over Ray, but without processes."""

    def workers_here(make: Any, examples: Any, num_workers: int, *more: Any, **named: Any) -> Any:
        return WorkersHere(make, examples, num_workers)

    monkeypatch.setattr(ray_connection, "connect", lambda *where: None)
    monkeypatch.setattr(ray_workers, "RayWorkers", workers_here)
    found = {
        name: played({"algorithm": algorithm, "rounds": 20}, engine="tff", **given)["models"][-1]
        for name, given in RUNTIMES.items()
    }
    assert np.abs(found["worker"]).max() > 0.01
    for name in ("tf", "split"):
        np.testing.assert_allclose(found[name], found["worker"], rtol=0, atol=1e-5)
