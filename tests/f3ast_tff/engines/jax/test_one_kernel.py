"""Local training of softmax regression is one kernel if XLA starts kernels one by one."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jaxlib
import numpy as np
import pytest

from benchmarks.tiny import engine_parts
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.engines.jax import one_kernel
from f3ast_tff.engines.jax.choosing import fused_engine
from f3ast_tff.engines.jax.engine import FusedEngine
from f3ast_tff.engines.jax.local_sgd import LocalSgd
from f3ast_tff.engines.jax.optimizers import JaxOptimizer
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.models import SmallCNN, SoftmaxRegression
from f3ast_tff.optimizers import Adam, Sgd
from tests.f3ast_tff.methods.every_memory import EVERY

SIZES = (5, 17, 8, 0, 3)
COHORT = Cohort(np.array([4, 3, 1, 2]), np.array([0.4, 0.1, 0.3, 0.2]))
TRIED = one_kernel.tried()


def engine(features: int, classes: int, batch_size: int, **parts: Any) -> FusedEngine:
    rng = np.random.default_rng(0)
    n = sum(SIZES)
    x, y = rng.normal(size=(n, features)), rng.integers(0, classes, n)
    split = ClientExamples(
        x.astype(np.float32), y.astype(np.int32), np.cumsum([0, *SIZES]).astype(np.int64)
    )
    data = FederatedData(split, split, classes)
    made = engine_parts(data, LocalTraining(batch_size, epochs=2), **parts)
    return fused_engine(made, device="cpu")


def program(fused: FusedEngine, by_client: bool) -> str:
    """Returns the text of the compiled round."""
    inputs = fused._clients.inputs(1, fused._clients.pack(1, COHORT))
    lowered = fused._programs.round.lower(
        fused._state, inputs, np.float32(len(COHORT)), tables={}, row=None, by_client=by_client
    )
    return str(lowered.compile().as_text())


@pytest.mark.skipif(not TRIED, reason="another version of XLA, or another processor")
@pytest.mark.parametrize(
    ("features", "classes", "batch_size", "client", "aggregation", "by_client"),
    [
        (1, 2, 4, Sgd(0.1), WeightedSum(), False),
        (1, 1, 1, Sgd(0.1, momentum=0.9), WeightedMean(), True),
        (60, 10, 20, Sgd(0.1, clip_norm=1.0), WeightedSum(), True),
        (128, 4, 128, Sgd(0.1), WeightedMean(), False),
    ],
)
def test_one_kernel_gives_the_results_of_many(
    features: int,
    classes: int,
    batch_size: int,
    client: Sgd,
    aggregation: Aggregation,
    by_client: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = []
    for marked in (True, False):
        if not marked:
            monkeypatch.setattr(one_kernel, "_TRIED", set())
        fused = engine(features, classes, batch_size, client=client, aggregation=aggregation)
        assert ('inlineable="false"' in program(fused, by_client)) == marked
        assert fused.statistics()["kernels"] == ("one per client" if marked else "many")
        (outcome,) = fused.run_rounds(1, [COHORT], by_client)
        runs.append((fused.weights(), outcome))
    (one, in_one), (many, in_many) = runs
    for w, v in zip(one, many):
        np.testing.assert_allclose(w, v, rtol=1e-5, atol=1e-6)
    assert in_one.train_loss == pytest.approx(in_many.train_loss, rel=1e-5)
    if by_client:
        np.testing.assert_allclose(in_one.client_losses, in_many.client_losses, rtol=1e-5)


@pytest.mark.skipif(not TRIED, reason="another version of XLA, or another processor")
@pytest.mark.parametrize("name", ["mifa", "scaffold", "fedawe", "late"])
def test_with_a_memory_or_late_updates_each_client_is_one_kernel(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, late = np.full(len(SIZES), 1 / len(SIZES)), name == "late"
    aggregation = WeightedSum() if late else EVERY[name]
    cohort = COHORT
    if late:
        cohort = LateCohort(
            COHORT.ids,
            COHORT.weights,
            asked=COHORT.ids,
            slots=np.arange(4),
            entering=np.arange(4),
            asked_in=np.ones(4, np.int64),
        )
    calls, alone = [], one_kernel.OneKernelSgd._alone

    def counted(sgd: LocalSgd, client: Any) -> Any:
        calls.append(client)
        return alone(sgd, client)

    monkeypatch.setattr(one_kernel.OneKernelSgd, "_alone", counted)
    runs = []
    for marked in (True, False):
        if not marked:
            monkeypatch.setattr(one_kernel, "_TRIED", set())
        fused = engine(6, 3, 4, aggregation=aggregation, p=p, cohort_size=4, late=late)
        for t in (1, 2):
            fused.run_rounds(t, [cohort])
        runs.append(fused.weights())
        # A loop over the clients is traced once.
        assert len(calls) == 1
    for w, v in zip(*runs):
        np.testing.assert_allclose(w, v, rtol=1e-5, atol=1e-6)


SOFTMAX, SGD = SoftmaxRegression(60, 10), Sgd(0.1)


@dataclasses.dataclass(frozen=True)
class Derived(SoftmaxRegression):
    """A plug-in's model."""


@pytest.mark.parametrize(
    ("model", "client", "batch_size", "expected"),
    [
        (SOFTMAX, SGD, 20, True),
        (SoftmaxRegression(1, 1), SGD, 1, True),
        (SoftmaxRegression(129, 2), SGD, 20, False),
        (SoftmaxRegression(60, 33), SGD, 20, False),
        (SOFTMAX, SGD, 129, False),
        (SoftmaxRegression(128, 32), SGD, 17, False),
        (Derived(60, 10), SGD, 20, False),
        (SmallCNN((2,), (), (8, 8, 3), 3), SGD, 20, False),
        (SOFTMAX, Adam(0.1), 20, False),
    ],
)
def test_which_suit(
    model: Any, client: Any, batch_size: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_kernel, "_TRIED", {jax.__version__, jaxlib.__version__})
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    sgd = LocalSgd(model, AsStored(), JaxOptimizer(client), equal_steps=True)
    fastest = one_kernel.fastest(sgd, batch_size, on_cpu=True)
    assert isinstance(fastest, one_kernel.OneKernelSgd) is expected and fastest.equal_steps
    assert one_kernel.fastest(sgd, batch_size, on_cpu=False) is sgd
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert one_kernel.fastest(sgd, batch_size, on_cpu=True) is sgd
