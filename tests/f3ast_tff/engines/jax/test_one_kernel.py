"""The local steps of a small model are one kernel where XLA starts each by itself."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import AsStored
from f3ast_tff.engines.jax import one_kernel
from f3ast_tff.engines.jax.engine import FusedEngine
from f3ast_tff.engines.jax.local_sgd import LocalSgd
from f3ast_tff.engines.jax.optimizers import JaxOptimizer
from f3ast_tff.engines.jax.round import RoundInputs
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import SmallCNN, SoftmaxRegression
from f3ast_tff.optimizers import Adam, Sgd, Yogi
from tests.f3ast_tff.engines.tiny import engine_parts, tiny_data

COHORTS = [Cohort(np.array([4, 1, 2]), np.array([0.5, 0.3, 0.2])) for _ in range(3)]
KNOWN = one_kernel.is_known("cpu")


def engine(client: Any) -> FusedEngine:
    parts = engine_parts(tiny_data(), LocalTraining(8, epochs=2), client=client)
    return FusedEngine(parts, device="cpu")


def test_this_jax_is_known_or_has_the_runtime_before() -> None:
    assert KNOWN or jax.__version_info__ < (0, 4, 32)


@pytest.mark.skipif(not KNOWN, reason="a runtime that makes one kernel of all")
def test_a_round_holds_one_kernel_whose_results_are_those_of_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = {}
    for name in ("one", "many"):
        if name == "many":
            monkeypatch.setattr(one_kernel, "_VERSIONS", ())
        fused = engine(Adam(0.1, clip_norm=1.0))
        work = fused._pack(1, COHORTS[0]).work
        inputs = (fused._features, fused._labels, work, np.float32(0.1))
        marked = "xla_cpu_small_call" in lowered(fused, inputs)
        outcomes = fused.run_rounds(1, COHORTS)
        runs[name] = marked, fused.weights(), [outcome.train_loss for outcome in outcomes]
    assert runs["one"][0] and not runs["many"][0]
    for one, many in zip(runs["one"][1], runs["many"][1]):
        np.testing.assert_allclose(one, many, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(runs["one"][2], runs["many"][2], rtol=1e-6)


def lowered(fused: FusedEngine, inputs: tuple[Any, ...]) -> str:
    """Returns the compiled program of a round."""
    program = fused._programs.round.lower(
        fused._state, RoundInputs(*inputs), np.float32(3), by_client=False
    )
    return str(program.compile().as_text())


STEPS = {
    "product": (lambda x: jnp.tanh(x @ x.T).sum(), (8, 4), True),
    "large result": (lambda x: x @ x.T, (129, 4), False),
    "large product": (lambda x: x @ x[:32].T, (128, 100), False),
    "long sums": (lambda x: x @ x.T, (4, 129), False),
    "batch of products": (lambda x: jnp.einsum("bij,bkj->bik", x, x), (2, 3, 4), False),
    "scatter": (lambda x: x.at[jnp.array([0, 0])].add(1.0), (3, 2), False),
    "sort": (jnp.sort, (8,), False),
    "sort in a branch": (lambda x: jax.lax.cond(x[0] > 0, jnp.sort, jnp.exp, x), (8,), False),
    "inverse": (jnp.linalg.inv, (3, 3), False),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_fit(name: str) -> None:
    step, shape, expected = STEPS[name]
    assert one_kernel.fits(step, jax.ShapeDtypeStruct(shape, jnp.float32)) is expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (SoftmaxRegression(48, 3, ridge=0.1, input_shape=(4, 4, 3)), True),
        (SmallCNN((2,), (), (8, 8, 3), 3), False),
    ],
)
@pytest.mark.parametrize("client", [Sgd(0.1, momentum=0.9), Adam(0.1, clip_norm=1.0), Yogi(0.1)])
def test_networks_that_fit(
    model: Any, expected: bool, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_kernel, "_VERSIONS", (jax.__version_info__[:2],))
    side = 8 if isinstance(model, SmallCNN) else 4
    features, labels = np.zeros((6, side, side, 3), np.float32), np.zeros(6, np.int32)
    sgd = LocalSgd(model, AsStored(), JaxOptimizer(client))
    weights = model.initial_weights(0)
    assert sgd.fits_one_kernel("cpu", weights, features, labels, batch_size=2) is expected


def test_an_accelerator_has_none() -> None:
    assert not one_kernel.is_known("gpu")
