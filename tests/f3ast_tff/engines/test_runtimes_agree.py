"""TFF's runtimes give the same model: its worker, TensorFlow in this process, a split cohort."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.engines import components
from f3ast_tff.engines.distributed import ray_workers
from f3ast_tff.methods.parts.strategy import Round, cohort_of
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.engines.distributed.workers_here import WorkersHere

pytestmark = pytest.mark.tff

ROUNDS = 20
SMALL = {
    "engine": "tff",
    "num_clients": 15,
    "clients_per_round": 4,
    "availability": "smartphones",
    "client_lr": 0.05,
    "seed": 3,
}
RUNTIMES: dict[str, dict[str, Any]] = {
    "worker": {"tff_runtime": "worker"},
    "tf": {"tff_runtime": "tf"},
    "split": {"num_workers": 3},
}


def weights_after(given: dict[str, Any], folder: Path) -> np.ndarray:
    folder.mkdir()
    parts = Builder(resolve({**SMALL, **given}), folder).experiment()
    try:
        for t in range(1, ROUNDS + 1):
            mask = parts.availability.mask(t)
            cohort = cohort_of(
                parts.strategy,
                Round(t, mask, parts.constraint.limit(t), parts.engine.client_losses),
            )
            parts.engine.run_rounds(t, [cohort])
        return np.concatenate([w.ravel() for w in parts.engine.weights()])
    finally:
        parts.engine.close()


# Weighted sums and a server's state; the others differ from it in less.
@pytest.mark.parametrize(
    "algorithm",
    ["f3ast_adam", *(pytest.param(name, marks=pytest.mark.slow) for name in ("fedavg", "f3ast"))],
)
def test_twenty_rounds_agree(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The split is that over Ray, without its processes."""

    def workers_here(make: Any, examples: Any, num_workers: int, *more: Any, **named: Any) -> Any:
        return WorkersHere(make, examples, num_workers)

    monkeypatch.setattr(components, "connect", lambda *where: None)
    monkeypatch.setattr(ray_workers, "RayWorkers", workers_here)
    found = {
        name: weights_after({"algorithm": algorithm, **given}, tmp_path / name)
        for name, given in RUNTIMES.items()
    }
    assert np.abs(found["worker"]).max() > 0.01
    for name in ("tf", "split"):
        np.testing.assert_allclose(found[name], found["worker"], rtol=0, atol=1e-5)
