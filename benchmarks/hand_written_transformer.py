"""A federated round of the small decoder as a plain loop in JAX, for comparison.

Nothing here is the suite's but the order of the leaves: embedding, places' embedding, the leaves of
each block, the last norm, the head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

HEADS, BLOCK_LEAVES = 4, 12
RULES = ("full", "changes", "fedex", "flora")


class Adapted(NamedTuple):
    """A model with LoRA's factors, W = W_0 + (B A)^T.

    Attributes:
        base: Leaves of the decoder.
        a: A by place of the matrix among the leaves, `float32 [r, inputs]`.
        b: B likewise, `float32 [outputs, r]`.
    """

    base: list[Any]
    a: dict[int, Any]
    b: dict[int, Any]


def _norm(x: Any, gain: Any, shift: Any) -> Any:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * gain + shift


def _attention(q: Any, k: Any, v: Any) -> Any:
    n, length, width = q.shape
    q, k, v = (each.reshape(n, length, HEADS, -1) for each in (q, k, v))
    scores = jnp.einsum("nqhd,nkhd->nhqk", q, k) / (width // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    return jnp.einsum("nhqk,nkhd->nqhd", jax.nn.softmax(scores), v).reshape(n, length, width)


def logits(leaves: Sequence[Any], x: Any, times: Callable[[Any, int], Any]) -> Any:
    """Returns logits `[n, length, characters]` of ids `[n, length]`; `times(h, i)` is h W_i."""
    h = leaves[0][x] + leaves[1][: x.shape[1]]
    for at in range(2, len(leaves) - 4, BLOCK_LEAVES):
        read = _norm(h, leaves[at], leaves[at + 1])
        h += times(_attention(*(times(read, at + i) for i in (2, 3, 4))), at + 5)
        read = _norm(h, leaves[at + 6], leaves[at + 7])
        wide = jax.nn.gelu(times(read, at + 8) + leaves[at + 9])
        h += times(wide, at + 10) + leaves[at + 11]
    return times(_norm(h, *leaves[-4:-2]), len(leaves) - 2) + leaves[-1]


def _loss(found: Any, labels: Any) -> Any:
    """Mean cross-entropy of the labels that are not negative."""
    wanted = jax.nn.one_hot(labels, found.shape[-1])
    counts = jnp.sum(labels >= 0)
    return -jnp.sum(wanted * jax.nn.log_softmax(found)) / jnp.maximum(counts, 1)


def hand_written_round(
    rule: str, features: Any, labels: Any, rate: float
) -> Callable[[Adapted, Any, Any, Any], Adapted]:
    """Returns a jitted round: model, rows, weights, fresh A to the model after the round.

    Rows are `int32 [clients, steps, batch]`, weights `float32 [clients]` add up to 1. Fresh A is
    what FLoRA goes on with.

    Args:
        rule: One of `RULES`: training of all leaves, or how factors are averaged.
        features: Ids, `[examples, length]`.
        labels: Next ids, `[examples, length]`, negative where none counts.
        rate: Learning rate of the clients.
    """
    x, y = jnp.asarray(features, jnp.int32), jnp.asarray(labels, jnp.int32)
    tree = jax.tree_util.tree_map

    def of_full(leaves: list[Any], base: list[Any], rows: Any) -> Any:
        return _loss(logits(leaves, x[rows], lambda h, i: h @ leaves[i]), y[rows])

    def of_factors(factors: Any, base: list[Any], rows: Any) -> Any:
        a, b = factors
        found = logits(base, x[rows], lambda h, i: h @ base[i] + h @ a[i].T @ b[i].T)
        return _loss(found, y[rows])

    def local(loss: Callable[..., Any], start: Any, base: list[Any], rows: Any) -> Any:
        def step(now: Any, batch: Any) -> tuple[Any, None]:
            return tree(lambda w, g: w - rate * g, now, jax.grad(loss)(now, base, batch)), None

        return jax.lax.scan(step, start, rows)[0]

    def train(loss: Callable[..., Any], start: Any, base: list[Any], rows: Any) -> Any:
        """All clients, one after another, as suits a CPU."""
        return jax.lax.map(lambda own: local(loss, start, base, own), rows)

    @jax.jit
    def one_round(model: Adapted, rows: Any, weights: Any, fresh: Any) -> Adapted:
        def mean(stacked: Any) -> Any:
            return jnp.tensordot(weights, stacked, 1)

        if rule == "full":
            return model._replace(base=tree(mean, train(of_full, model.base, [], rows)))
        old = (model.a, model.b)
        all_a, all_b = train(of_factors, old, model.base, rows)
        a, b, base = tree(mean, all_a), tree(mean, all_b), list(model.base)
        for i in old[0] if rule in ("fedex", "flora") else ():
            exact = jnp.einsum("k,kor,kri->io", weights, all_b[i], all_a[i])
            base[i] += exact - (0 if rule == "flora" else (b[i] @ a[i]).T)
        if rule == "flora":
            a, b = fresh, tree(jnp.zeros_like, b)
        return Adapted(base, a, b)

    return one_round
