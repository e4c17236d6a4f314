"""A model has the same start, value and gradient in Keras and in JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.f3ast_tff.models.networks import NETWORKS, Network

# Keras 2.14 draws its seeds in a way that Python 3.11 deprecates and 3.12 refuses.
pytestmark = [
    pytest.mark.tff,
    pytest.mark.filterwarnings("ignore:non-integer arguments to randrange"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    "network",
    [
        # The other ResNet-18 differs in strides only.
        pytest.param(*case.values, id=case.id, marks=pytest.mark.slow)
        if case.id == "resnet18-released"
        else case
        for case in NETWORKS
    ],
)
def test_start_value_gradient_and_penalty(tf: Any, network: Network) -> None:
    tf.keras.utils.set_random_seed(0)
    keras_model = network.model.keras_model()
    for ours, keras in zip(network.model.initial_weights(0), keras_model.get_weights()):
        error = 8 * keras.std() / np.sqrt(keras.size)
        assert abs(ours.mean() - keras.mean()) <= error, f"mean of initial {ours.shape}"
        assert abs(ours.std() - keras.std()) <= error, f"deviation of initial {ours.shape}"

    weights = network.weights()
    assert [tuple(v.shape) for v in keras_model.trainable_weights] == [w.shape for w in weights]
    assert not keras_model.non_trainable_weights
    keras_model.set_weights(weights)

    with tf.GradientTape() as tape:
        logits = keras_model(tf.constant(network.inputs), training=True)
        cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        penalty = tf.add_n([tf.zeros(()), *keras_model.losses])
        loss = cross_entropy(network.labels, logits) + penalty
    gradient = [
        tf.convert_to_tensor(part).numpy()
        for part in tape.gradient(loss, keras_model.trainable_weights)
    ]

    jax_logits, jax_gradient = network.jax_logits_and_gradient(weights)
    np.testing.assert_allclose(jax_logits, logits.numpy(), atol=1e-4)
    for index, (in_jax, in_keras) in enumerate(zip(jax_gradient, gradient)):
        error = np.linalg.norm(in_jax - in_keras) / np.linalg.norm(in_keras)
        assert error < 1e-3, f"weight {index} {in_keras.shape}: relative error {error:.1e}"
    np.testing.assert_allclose(network.model.penalty(weights), penalty.numpy(), rtol=1e-5)


@pytest.mark.long
def test_pads_at_the_end_change_no_earlier_logit(tf: Any) -> None:
    """Pads need no mask: Keras with a mask gives the same logits before them."""
    from f3ast_tff.models import CharacterLSTM

    model = CharacterLSTM(vocabulary=20, units=16)
    masked = model.keras_model()
    masked.layers[0].mask_zero = True
    masked.layers[0].supports_masking = True
    weights = model.initial_weights(0)
    masked.set_weights(weights)
    ids = np.array([[5, 7, 9, 0, 0]])
    logits = masked(tf.constant(ids, tf.int32)).numpy()
    in_jax = np.asarray(model.apply([np.asarray(w) for w in weights], ids))
    np.testing.assert_allclose(in_jax[:, :3], logits[:, :3], atol=1e-5)
    assert np.abs(in_jax[:, 3:] - logits[:, 3:]).max() > 1e-4
