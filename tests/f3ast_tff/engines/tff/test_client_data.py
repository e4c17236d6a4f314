"""TensorFlow's batches are those of `LocalTraining`."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import ImageCrops

pytestmark = pytest.mark.tff


@pytest.mark.parametrize("size", [0, 3, 4, 11, 12])
@pytest.mark.parametrize(
    "work",
    [
        LocalTraining(4),
        LocalTraining(4, epochs=3),
        LocalTraining(4, epochs=2, drop_remainder=True),
        LocalTraining(4, steps=5),
    ],
)
def test_batches_follow_the_order(work: LocalTraining, size: int) -> None:
    import tensorflow as tf

    from f3ast_tff.engines.tff.client_work import ClientBatches

    examples = OrderedDict(
        x=np.arange(2 * size, dtype=np.float32).reshape(size, 2), y=np.arange(size, dtype=np.int32)
    )
    spec = OrderedDict(x=tf.TensorSpec([None, 2], tf.float32), y=tf.TensorSpec([None], tf.int32))
    order = work.order(1, 0, size)
    element = OrderedDict(
        examples=tf.nest.map_structure(tf.constant, examples),
        orders=tf.constant(order),
        draws=tf.zeros((*order.shape, 0), tf.int32),
    )
    batches = ClientBatches(spec, work).dataset(element)
    got = [(b["x"].numpy(), b["y"].numpy()) for b in batches]
    rows = [segment[start : start + 4] for segment in order for start in range(0, len(segment), 4)]
    assert len(got) == len(rows) == work.num_batches(np.array([size]))[0]
    for (x, y), expected in zip(got, rows):
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(x, examples["x"][expected])


def test_draws_follow_their_visits() -> None:
    """Pixels identify the example and the place: each crop is the drawn one."""
    import tensorflow as tf

    from f3ast_tff.engines.tff.client_work import ClientBatches

    inputs, work = ImageCrops(6, 4, seed=2), LocalTraining(4, epochs=2, seed=1)
    images = np.random.default_rng(0).integers(0, 256, (7, 6, 6, 3)).astype(np.uint8)
    labels = np.arange(7, dtype=np.int32)
    spec = OrderedDict(
        x=tf.TensorSpec([None, 6, 6, 3], tf.uint8), y=tf.TensorSpec([None], tf.int32)
    )
    order = work.order(3, 5, 7)
    draws = inputs.draws(3, 5, order.shape)
    element = OrderedDict(
        examples=OrderedDict(x=tf.constant(images), y=tf.constant(labels)),
        orders=tf.constant(order),
        draws=tf.constant(draws),
    )
    batches = list(ClientBatches(spec, work, inputs).dataset(element))
    assert [len(b["y"]) for b in batches] == [4, 3, 4, 3]
    got = np.concatenate([b["x"].numpy() for b in batches])
    expected = inputs.in_tf(tf.constant(images[order.ravel()]), tf.constant(draws.reshape(-1, 3)))
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.concatenate([b["y"] for b in batches]), order.ravel())
