"""Inputs of models: the same pixels in both frameworks and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.preprocessing import AsStored, ImageCrops, Preprocessing, ScaledPixels

IMAGES = np.random.default_rng(1).integers(0, 256, (50, 32, 32, 3)).astype(np.uint8)


def by_hand(image: np.ndarray, top: int, left: int, mirrored: int, crop: int) -> np.ndarray:
    cut = image[top : top + crop, left : left + crop].astype(np.float64)
    cut = cut[:, ::-1] if mirrored else cut
    return (cut - cut.mean()) / max(cut.std(), 1 / np.sqrt(cut.size))


def in_a_graph(inputs: Preprocessing, features: np.ndarray, draws: np.ndarray | None) -> Any:
    """Runs as in TFF: in a graph outside functions, where Tensor.__eq__ is no operation."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        read = inputs.in_tf(tf.constant(features), None if draws is None else tf.constant(draws))
    with tf.compat.v1.Session(graph=graph) as session:
        return session.run(read)


@pytest.fixture(
    params=["jax", *(pytest.param(name, marks=pytest.mark.tff) for name in ("tf", "tf graph"))]
)
def read(request: pytest.FixtureRequest) -> Any:
    """Applies inputs in a framework: (inputs, features, draws) to an array."""
    if request.param == "jax":
        import jax.numpy as jnp

        return lambda inputs, x, draws: np.asarray(
            inputs.in_jax(jnp.asarray(x), None if draws is None else jnp.asarray(draws))
        )
    import tensorflow as tf

    if request.param == "tf graph":
        return in_a_graph
    return lambda inputs, x, draws: inputs.in_tf(
        tf.constant(x), None if draws is None else tf.constant(draws)
    ).numpy()


def test_random_crops_are_those_drawn(read: Any) -> None:
    inputs = ImageCrops(32, 24, seed=7)
    draws = inputs.draws(2, 3, (1, 50))[0]
    expected = [by_hand(image, *draw, 24) for image, draw in zip(IMAGES, draws)]
    np.testing.assert_allclose(read(inputs, IMAGES, draws), expected, atol=2e-5)


@pytest.mark.parametrize("augment", [True, False])
def test_crops_without_draws_are_central(read: Any, augment: bool) -> None:
    inputs = ImageCrops(32, 24, augment=augment)
    expected = [by_hand(image, 4, 4, 0, 24) for image in IMAGES]
    np.testing.assert_allclose(read(inputs, IMAGES, None), expected, atol=2e-5)


def test_image_of_one_colour_is_zero(read: Any) -> None:
    grey = np.full((2, 32, 32, 3), 77, np.uint8)
    np.testing.assert_array_equal(read(ImageCrops(32, 24), grey, None), 0)


def test_scaled_pixels(read: Any) -> None:
    got = read(ScaledPixels(), IMAGES, None)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, IMAGES / 255.0, rtol=1e-6)


def test_as_stored(read: Any) -> None:
    np.testing.assert_array_equal(read(AsStored(), IMAGES, None), IMAGES)


def test_draws_cover_all_places_and_both_sides() -> None:
    draws = ImageCrops(32, 24, seed=1).draws(1, 0, (20, 500)).reshape(-1, 3)
    for column, values in zip(draws.T, (9, 9, 2)):
        counts = np.bincount(column, minlength=values)
        assert len(counts) == values
        # Binomial: five standard deviations.
        expected = len(draws) / values
        assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))


def test_draws_are_a_function_of_seed_round_and_client() -> None:
    first = ImageCrops(32, 24, seed=1).draws(1, 0, (1, 100))
    np.testing.assert_array_equal(first, ImageCrops(32, 24, seed=1).draws(1, 0, (1, 100)))
    for other in (
        ImageCrops(32, 24, seed=2).draws(1, 0, (1, 100)),
        ImageCrops(32, 24, seed=1).draws(2, 0, (1, 100)),
        ImageCrops(32, 24, seed=1).draws(1, 1, (1, 100)),
    ):
        assert np.any(first != other)


@pytest.mark.parametrize("inputs", [AsStored(), ScaledPixels(), ImageCrops(8, 8, augment=False)])
def test_nothing_random_draws_nothing(inputs: Any) -> None:
    assert inputs.draws(1, 0, (2, 5)).shape == (2, 5, inputs.num_draws) == (2, 5, 0)
