"""LoRA around a model: names, first factors, and what does not fit."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from f3ast_tff import Trained, TrainingFunction
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models import CharacterTransformer, PureModel, SoftmaxRegression, lora
from f3ast_tff.models.low_rank import Lora

SHAPES = {"out": {"bias": (3,), "kernel": (5, 3)}, "in": {"kernel": (4, 5), "scale": (2, 2, 2)}}


def _model() -> PureModel:
    def init(seed: int) -> Any:
        return {n: {m: jnp.ones(s) for m, s in part.items()} for n, part in SHAPES.items()}

    def apply(weights: Any, x: Any) -> Any:
        return jnp.tanh(x @ weights["in"]["kernel"]) @ weights["out"]["kernel"]

    return PureModel(init, apply)


def test_factors_stand_behind_the_base() -> None:
    model = lora(_model(), 2, "kernel", alpha=6.0)
    weights = model.initial_weights(seed=3)
    shapes = {name: w.shape for name, w in zip(model.leaf_names(), weights, strict=True)}
    assert shapes == {
        "in.kernel": (4, 5),
        "in.scale": (2, 2, 2),
        "out.bias": (3,),
        "out.kernel": (5, 3),
        "lora.A.in.kernel": (2, 4),
        "lora.B.in.kernel": (5, 2),
        "lora.A.out.kernel": (2, 5),
        "lora.B.out.kernel": (3, 2),
    }
    assert model.scale == 3 and not weights[5].any() and not weights[7].any()
    for a in (weights[4], weights[6]):
        assert 0 < np.abs(a).max() <= a.shape[1] ** -0.5
    again, other = model.initial_weights(3), model.initial_weights(4)
    np.testing.assert_array_equal(weights[4], again[4])
    assert not np.array_equal(weights[4], other[4])
    # B = 0: the model is its base.
    x = np.random.default_rng(0).normal(size=(7, 4))
    same = model.base.apply(weights[:4], x)
    np.testing.assert_allclose(model.apply(weights, x), same, rtol=1e-6)
    weights[7] = np.ones((3, 2), np.float32)
    kernel = weights[3] + 3 * (weights[7] @ weights[6]).T
    merged = model.base.apply([*weights[:3], kernel], x)
    np.testing.assert_allclose(model.apply(weights, x), merged, rtol=1e-6)


def _uses(weights: Any, x: Any) -> Any:
    """Matrices looked up, in a product and its transpose, in a loop, and behind `jit`."""
    table, square = weights["table"], weights["square"]
    rows = table[x] @ table.T
    looped, _ = jax.lax.scan(lambda h, _: (jnp.tanh(h @ square), None), rows, None, length=3)
    hidden = jax.jit(lambda h, w: jnp.sin(h @ w) + h @ w.T)(looped, square)
    return hidden @ square, jnp.einsum("bn,nm->bm", hidden, square), square.sum(axis=0)


@pytest.mark.long
@pytest.mark.parametrize("jitted", [False, True])
def test_every_use_of_a_matrix_has_its_factors(jitted: bool) -> None:
    """With values and gradients of the matrices added up."""
    random = np.random.default_rng(0)

    # Larger ones make cosines of hundreds, which rounding moves by more than the bound.
    def drawn(*shape: int) -> Any:
        return random.normal(scale=0.4, size=shape).astype(np.float32)

    def init(seed: int) -> Any:
        return {"square": drawn(6, 6), "table": drawn(6, 6)}

    model = lora(PureModel(init, _uses), 2, "square,table", alpha=3.0)
    weights = [drawn(*w.shape) for w in model.initial_weights(0)]
    x = np.array([3, 1, 5])

    def loss(weights: Any, apply: Any) -> Any:
        return sum(jnp.sum(jnp.cos(part)) for part in apply(weights))

    def own(weights: Any) -> Any:
        return model.apply(weights, x)

    def merged(weights: Any) -> Any:
        return model.base.apply(model.merged(weights), x)

    find = jax.value_and_grad(loss)
    find = jax.jit(find, static_argnums=1) if jitted else find
    got, wanted = (jax.tree_util.tree_leaves(find(weights, apply)) for apply in (own, merged))
    for each, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(each, other, rtol=2e-5, atol=2e-5)


def test_a_value_stays_a_value() -> None:
    """So programs are compiled once for runs that differ in data alone."""
    made = [lora(SoftmaxRegression(6, 4), 2, "head") for _ in range(2)]
    assert made[0] == made[1] and hash(made[0]) == hash(made[1]) and isinstance(made[0], Lora)


@pytest.mark.long
def test_a_model_of_sequences_stays_one() -> None:
    """So that data with a sequence per example fits."""
    base = CharacterTransformer(length=5, width=8, heads=2, blocks=1)
    model = lora(base, 2, "query,value")
    assert model.labels_sequences and not lora(_model(), 2, "in").labels_sequences
    weights, x = model.initial_weights(0), np.array([[3, 1, 4, 1, 5]])
    same = base.apply(weights[:-4], x)
    np.testing.assert_allclose(model.apply(weights, x), same, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((2, "body"), "^leaves = body: must be among in, kernel, scale, out, bias"),
        ((2, "bias,scale"), "^leaves = bias,scale: must name a matrix, of in.kernel, out.kernel$"),
        ((4, "kernel"), r"^rank = 4: must be from 1 to 3: out.kernel is \[5, 3\]$"),
        ((0, "in"), r"^rank = 0: must be from 1 to 4: in.kernel is \[4, 5\]$"),
        ((2, "in", 0.0), "^alpha = 0.0: must be above 0$"),
    ],
)
def test_what_does_not_fit_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        lora(_model(), *given)


def test_other_frameworks_bring_adapters_of_their_own() -> None:
    model = TrainingFunction(
        lambda seed: [np.zeros((3, 3))], lambda w, e, work: Trained(w, 0.0), lambda w, x: x @ w[0]
    )
    with pytest.raises(ParameterError, match=r"^model = .*: must be a model in JAX: .*\(peft\)$"):
        lora(model, 2, "0")
