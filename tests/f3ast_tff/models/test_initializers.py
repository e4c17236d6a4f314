"""Initial weights have the distributions of Keras's initialisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from f3ast_tff.models import initializers

# Keras 2.14 draws its seeds in a way that Python 3.11 deprecates and 3.12 refuses.
pytestmark = [
    pytest.mark.filterwarnings("ignore:non-integer arguments to randrange"),
    pytest.mark.filterwarnings("ignore:np.find_common_type is deprecated"),  # SciPy
]


@pytest.mark.tff
@pytest.mark.parametrize(
    ("ours", "keras_name", "shape"),
    [
        (initializers.he_normal, "HeNormal", (3, 3, 64, 64)),
        (initializers.he_normal, "HeNormal", (256, 1024)),
        (initializers.glorot_uniform, "GlorotUniform", (256, 90)),
    ],
)
def test_draws_pass_for_keras_draws(
    tf: Any, ours: Callable[..., np.ndarray], keras_name: str, shape: tuple[int, ...]
) -> None:
    """Two-sample Kolmogorov-Smirnov test, and the largest value, which is set by a cut."""
    from scipy import stats

    drawn = ours(np.random.default_rng(0), shape)
    in_keras = getattr(tf.keras.initializers, keras_name)(seed=0)(shape).numpy()
    assert stats.ks_2samp(drawn.ravel(), in_keras.ravel()).pvalue > 0.01
    np.testing.assert_allclose(drawn.std(), in_keras.std(), rtol=0.02)
    np.testing.assert_allclose(np.abs(drawn).max(), np.abs(in_keras).max(), rtol=0.001)


def test_he_normal_has_the_variance_that_it_names() -> None:
    drawn = initializers.he_normal(np.random.default_rng(1), (5, 5, 8, 4000))
    np.testing.assert_allclose(drawn.var(), 2 / (5 * 5 * 8), rtol=0.01)


@pytest.mark.parametrize("shape", [(16, 64), (64, 16)])
def test_orthogonal(shape: tuple[int, int]) -> None:
    matrix = initializers.orthogonal(np.random.default_rng(0), shape)
    gram = matrix @ matrix.T if shape[0] < shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, np.eye(16), atol=1e-6)


def test_orthogonal_prefers_no_direction() -> None:
    """The first column's angle in two dimensions is uniform: mean cosine and sine are 0."""
    rng = np.random.default_rng(0)
    columns = np.array([initializers.orthogonal(rng, (2, 2))[:, 0] for _ in range(4000)])
    assert np.abs(columns.mean(axis=0)).max() < 0.05


def test_forget_gates_start_open() -> None:
    np.testing.assert_array_equal(initializers.lstm_bias(2), [0, 0, 1, 1, 0, 0, 0, 0])
