"""The batches that TensorFlow cuts are those that `LocalWork` describes."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from f3ast_tff.local_work import LocalWork


@pytest.mark.parametrize("size", [0, 3, 4, 11, 12])
@pytest.mark.parametrize(
    "work",
    [
        LocalWork(4),
        LocalWork(4, epochs=3),
        LocalWork(4, epochs=2, drop_remainder=True),
        LocalWork(4, steps=5),
    ],
)
def test_batches_follow_the_order(work: LocalWork, size: int) -> None:
    import tensorflow as tf

    from f3ast_tff.processes.client_data import training_batches

    examples = OrderedDict(
        x=np.arange(2 * size, dtype=np.float32).reshape(size, 2), y=np.arange(size, dtype=np.int32)
    )
    spec = OrderedDict(x=tf.TensorSpec([None, 2], tf.float32), y=tf.TensorSpec([None], tf.int32))
    order = work.order(1, 0, size)
    element = OrderedDict(
        examples=tf.nest.map_structure(tf.constant, examples), orders=tf.constant(order)
    )
    got = [(b["x"].numpy(), b["y"].numpy()) for b in training_batches(element, work, spec)]
    rows = [segment[start : start + 4] for segment in order for start in range(0, len(segment), 4)]
    assert len(got) == len(rows) == work.num_batches(np.array([size]))[0]
    for (x, y), expected in zip(got, rows):
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(x, examples["x"][expected])
