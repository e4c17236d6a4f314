"""The transformer of characters beside loops in NumPy, and what its outputs depend on."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.models import CharacterTransformer
from f3ast_tff.simulation import simulate

MODEL = CharacterTransformer(vocabulary=11, length=6, width=8, blocks=2, heads=2)
IDS = np.random.default_rng(0).integers(0, 11, (3, 6))


def drawn(model: CharacterTransformer) -> list[np.ndarray]:
    """Weights of size 1, so that no part is lost in rounding."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=w.shape).astype(np.float32) for w in model.initial_weights(0)]


def norm(x: np.ndarray, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / math.sqrt(x.var() + 1e-5) * scale + offset


def gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def logits_by_hand(model: CharacterTransformer, weights: list[np.ndarray], ids: Any) -> np.ndarray:
    """The logits of one sequence, place by place and head by head, in float64."""
    of = {n: w.astype(np.float64) for n, w in zip(model.leaf_names(), weights)}
    x = np.array([of["embedding"][i] + of["position.embedding"][t] for t, i in enumerate(ids)])
    size = model.width // model.heads
    for block in ("block1", "block2"):
        norms = [(of[f"{block}.norm{i}.scale"], of[f"{block}.norm{i}.offset"]) for i in (1, 2)]
        read = np.array([norm(row, *norms[0]) for row in x])
        q, k, v = (read @ of[f"{block}.{name}.kernel"] for name in ("query", "key", "value"))
        attended = np.zeros_like(x)
        for head in range(model.heads):
            own = slice(head * size, (head + 1) * size)
            for t in range(len(x)):
                scores = [q[t, own] @ k[s, own] / math.sqrt(size) for s in range(t + 1)]
                shares = np.exp(np.array(scores) - max(scores))
                attended[t, own] = shares / shares.sum() @ v[: t + 1, own]
        x = x + attended @ of[f"{block}.out.kernel"]
        wide = np.array([norm(row, *norms[1]) for row in x]) @ of[f"{block}.up.kernel"]
        wide = np.vectorize(gelu)(wide + of[f"{block}.up.bias"])
        x = x + wide @ of[f"{block}.down.kernel"] + of[f"{block}.down.bias"]
    last = np.array([norm(row, of["norm.scale"], of["norm.offset"]) for row in x])
    return last @ of["head.kernel"] + of["head.bias"]


@pytest.mark.long
def test_logits_are_those_of_loops() -> None:
    weights = drawn(MODEL)
    expected = [logits_by_hand(MODEL, weights, ids) for ids in IDS]
    np.testing.assert_allclose(MODEL.apply(weights, IDS), expected, rtol=0, atol=2e-4)


def test_no_output_depends_on_a_later_character() -> None:
    weights, changed = drawn(MODEL), IDS.copy()
    changed[:, 4] = (changed[:, 4] + 1) % 11
    before, after = (np.asarray(MODEL.apply(weights, ids)) for ids in (IDS, changed))
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert (before[:, 4:] != after[:, 4:]).any(axis=-1).all()


@pytest.mark.long
def test_it_starts_as_a_guess_and_its_gradient_is_finite() -> None:
    """Kernels of deviation .02 leave the loss near ln 11."""
    weights = MODEL.initial_weights(0)

    def loss(weights: Any) -> Any:
        logs = jax.nn.log_softmax(MODEL.apply(weights, IDS))
        return -logs[np.arange(3)[:, None], np.arange(6), IDS[:, ::-1]].mean()

    value, gradient = jax.value_and_grad(loss)(weights)
    assert value == pytest.approx(math.log(11), abs=0.02)
    assert all(np.isfinite(part).all() for part in gradient)


@pytest.mark.long
def test_it_learns_in_a_run() -> None:
    """Each client's text repeats its own two characters, so that the next one can be known."""
    texts = [np.tile([a, a + 1], 5) for a in (2, 4, 6, 8)]
    ids = np.array([text[:9] for text in texts for _ in range(4)]).astype(np.uint8)
    labels = np.array([text[1:10] for text in texts for _ in range(4)]).astype(np.int8)
    examples = ClientExamples(ids, labels, offsets=np.arange(0, 17, 4))
    result = simulate(
        task=FederatedData(examples, examples, 11),
        model="character_transformer",
        transformer_width=16,
        algorithm="f3ast",
        availability="always",
        rounds=30,
        clients_per_round=4,
        batch_size=4,
        client_lr=0.5,
    )
    assert result.metrics["test_sample_accuracy"].iloc[-1] > 0.9
