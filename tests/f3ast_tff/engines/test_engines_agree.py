"""The fused and the host engine equal the TFF engine, and so do TFF's runtimes each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.engines.distributed import ray_connection, ray_workers
from tests.f3ast_tff.engines.distributed.workers_here import WorkersHere
from tests.f3ast_tff.engines.recorded_rounds import played

pytestmark = pytest.mark.tff

# The released reading adds sampling with replacement, the divisor K, filled rounds and clipping.
CASES = [
    {"algorithm": "f3ast", "reading": "released", "server_optimizer": "yogi", "local_steps": 3}
]
# `test_recorded_rounds.py` has TFF's results for their first rounds.
MORE_CASES = [
    {"algorithm": "fedadam"},
    {"algorithm": "poc", "poc_candidates": 6, "reading": "released"},
    {"algorithm": "fedavg_then_fedlaavg", "switch_round": 20},
    {"algorithm": "sequential_sgd", "clients_per_round": None, "availability": None},
    {"algorithm": "fedavg"},
    {"algorithm": "f3ast"},
    {"algorithm": "f3ast_adam"},
    {"algorithm": "fedlaavg", "client_lr_decay": 0.99},
]


def _label(case: dict[str, Any]) -> str:
    return "-".join(map(str, case.values()))


@pytest.mark.long
@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, id=_label(case)) for case in CASES),
        *(pytest.param(case, id=_label(case), marks=pytest.mark.slow) for case in MORE_CASES),
    ],
)
def test_fifty_rounds_agree(case: dict[str, Any]) -> None:
    expected = played({**case, "rounds": 50}, engine="tff")
    for engine in ("fused", "host"):
        got = played({**case, "rounds": 50}, engine=engine)
        for name in ("ids", "weights"):
            np.testing.assert_array_equal(got[name], expected[name])
        np.testing.assert_allclose(got["models"], expected["models"], atol=1e-5)
    assert np.abs(expected["models"][-1]).max() > 0.01


@pytest.mark.long
def test_the_largest_learning_rate_is_the_same_on_all() -> None:
    """At much larger rates weights overflow, and the engines differ in their finite values."""
    case = {"algorithm": "f3ast", "server_lr": 1e6, "rounds": 5}
    expected = played(case, engine="tff")["models"]
    for engine in ("fused", "host"):
        for a, b in zip(played(case, engine=engine)["models"], expected):
            np.testing.assert_allclose(a, b, atol=1e-4 * np.abs(b).max())
    assert np.abs(expected[-1]).max() > 1e5


RUNTIMES: dict[str, dict[str, Any]] = {
    "worker": {"tff_runtime": "worker"},
    "tf": {"tff_runtime": "tf"},
    "split": {"num_workers": 3},
}


# `tff/test_in_process.py` has the worker's rounds, `test_split_cohort.py` a split cohort.
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["f3ast_adam", "fedavg"])
def test_runtimes_agree(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum with Adam, a mean with SGD; the cohort is split as over Ray, without processes."""

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
