"""Random crop, random flip and standardisation of images, as on CIFAR-100 (reading R12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.randomness import generator


@dataclass(frozen=True)
class ImageCrops:
    """Square crops of square images, each standardised by its own mean and deviation.

    In training a crop is at a random place and mirrored with probability 1/2; in evaluation it is
    central and not mirrored. A standardised image is (x - mean) / max(std, 1 / sqrt(size)), over
    all of its pixels and channels, as in `tf.image.per_image_standardization`.

    Attributes:
        image: Side of a stored image, pixels.
        crop: Side of a crop, pixels, at most `image`.
        augment: Whether crops in training are random; if not they are central there too.
        seed: Seed of the draws.
    """

    image: int
    crop: int
    augment: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.crop <= self.image:
            raise ValueError(f"crop {self.crop}: must be from 1 to {self.image}, the image's side")

    @property
    def num_draws(self) -> int:
        """Three: top row and left column of the crop, and whether it is mirrored (1) or not."""
        return 3 if self.augment else 0

    def output_shape(self, stored_shape: tuple[int, ...]) -> tuple[int, ...]:
        """See `Preprocessing.output_shape`."""
        return (self.crop, self.crop, *stored_shape[2:])

    def draws(self, round_number: int, client: int, shape: tuple[int, ...]) -> np.ndarray:
        """See `Preprocessing.draws`."""
        if not self.augment:
            return np.zeros((*shape, 0), np.int32)
        rng = generator(self.seed, "augmentation", round_number, client)
        places = self.image - self.crop + 1
        highs = np.array([places, places, 2])
        return rng.integers(0, highs, (*shape, 3), dtype=np.int32)

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """Turns `uint8 [n, image, image, c]` into `float32 [n, crop, crop, c]`."""
        import jax.numpy as jnp

        if draws is None or not self.augment:
            cropped = self._central(features)
        else:
            along = jnp.arange(self.crop)
            rows = draws[:, 0, None] + along
            mirrored = jnp.where(draws[:, 2, None] == 1, along[::-1], along)
            columns = draws[:, 1, None] + mirrored
            here = jnp.arange(len(features))[:, None, None]
            cropped = features[here, rows[:, :, None], columns[:, None, :]]
        x = cropped.astype(jnp.float32)
        mean = jnp.mean(x, axis=(1, 2, 3), keepdims=True)
        deviation = jnp.std(x, axis=(1, 2, 3), keepdims=True)
        least = 1 / np.sqrt(np.prod(x.shape[1:]))
        return (x - mean) / jnp.maximum(deviation, np.float32(least))

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """As `in_jax`, in TensorFlow."""
        import tensorflow as tf

        if draws is None or not self.augment:
            cropped = self._central(features)
        else:
            along = tf.range(self.crop)
            rows = draws[:, 0, None] + along
            # `==` would compare identities in the graphs that TFF builds.
            mirrored = tf.where(tf.equal(draws[:, 2, None], 1), along[::-1], along)
            columns = draws[:, 1, None] + mirrored
            cropped = tf.gather(features, rows, batch_dims=1, axis=1)
            cropped = tf.gather(tf.transpose(cropped, [0, 2, 1, 3]), columns, batch_dims=1, axis=1)
            cropped = tf.transpose(cropped, [0, 2, 1, 3])
        shaped = tf.ensure_shape(cropped, [None, self.crop, self.crop, features.shape[-1]])
        return tf.image.per_image_standardization(tf.cast(shaped, tf.float32))

    def _central(self, features: Any) -> Any:
        start = (self.image - self.crop) // 2
        return features[:, start : start + self.crop, start : start + self.crop]
