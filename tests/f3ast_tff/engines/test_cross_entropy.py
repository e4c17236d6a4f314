"""The loss of sequences: pads do not count, in either framework."""

from __future__ import annotations

import numpy as np
import pytest

LOGITS = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
LABELS = np.array([[1, 2, 0, 4], [3, -1, -1, -1], [-1, -1, -1, -1]], np.int8)


def by_hand() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    log_p = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
    counts = LABELS >= 0
    loss = -np.take_along_axis(log_p, np.maximum(LABELS, 0)[..., None].astype(int), -1)[..., 0]
    right = LOGITS.argmax(-1) == LABELS
    return (loss * counts).sum(1), (right * counts).sum(1), counts.sum(1)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_label_sums_in_jax(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bfloat16 has 8 bits: its logits are rounded, their losses are not."""
    import jax.numpy as jnp

    from f3ast_tff.engines.jax.local_sgd import label_sums

    logits = jnp.asarray(LOGITS).astype(kind)
    monkeypatch.setitem(globals(), "LOGITS", np.asarray(logits.astype("float32")))
    for got, expected in zip(label_sums(logits, jnp.asarray(LABELS)), by_hand()):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_a_label_is_right_where_the_first_of_the_largest_logits_is_its_own() -> None:
    """This agrees with `argmax`, also for ties, infinities and NaN."""
    import jax.numpy as jnp

    from f3ast_tff.engines.jax.local_sgd import label_sums

    inf, nan = np.inf, np.nan
    logits = np.array(
        [[2, 2, 1], [0, 3, 3], [1, 1, 1], [-inf, -inf, -inf], [0, inf, 1], [1, nan, 9], [nan] * 3],
        np.float32,
    )
    first = np.array([0, 1, 0, 0, 1, 1, 0])
    np.testing.assert_array_equal(jnp.argmax(jnp.asarray(logits), -1), first)
    for label in range(-1, 3):
        labels = np.full(len(logits), label)
        right = label_sums(jnp.asarray(logits), jnp.asarray(labels)).correct
        np.testing.assert_array_equal(right, first == label)


@pytest.mark.tff
def test_label_losses_in_tensorflow() -> None:
    from f3ast_tff.engines.tff.composition import MeanCrossEntropy, label_losses

    loss, counts = label_losses(LOGITS, LABELS)
    expected, _, expected_counts = by_hand()
    np.testing.assert_allclose(loss.numpy().sum(1), expected, rtol=1e-5)
    np.testing.assert_array_equal(counts.numpy().sum(1), expected_counts)
    mean = MeanCrossEntropy()(LABELS, LOGITS)
    assert float(mean) == pytest.approx(expected.sum() / expected_counts.sum(), rel=1e-5)


@pytest.mark.tff
def test_what_does_not_count_may_be_nan() -> None:
    """A pad's label and logits are ignored."""
    import tensorflow as tf

    from f3ast_tff.engines.tff.composition import label_losses

    logits = tf.where((LABELS >= 0)[..., None], LOGITS, np.float32(np.nan))
    assert np.all(np.isfinite(label_losses(logits, LABELS)[0]))


def test_a_logit_that_a_program_computes_twice_is_one() -> None:
    """Without optimisations XLA rounds x w + b of one feature in two ways."""
    import jax
    import jax.numpy as jnp

    from f3ast_tff.engines.jax.local_sgd import label_sums

    x = np.random.default_rng(0).normal(size=(200, 1)).astype(np.float32)
    labels = jnp.asarray((x[:, 0] > 0.02).astype(np.int32))
    weights, bias = np.array([[-4.09, 4.07]], np.float32), np.array([0.075, -0.0754], np.float32)
    correct = jax.jit(lambda x: label_sums(x @ weights + bias, labels).correct)(jnp.asarray(x))
    wanted = (x @ weights + bias).argmax(axis=1) == np.asarray(labels)
    np.testing.assert_array_equal(correct, wanted)
