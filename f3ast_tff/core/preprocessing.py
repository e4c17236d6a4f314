"""Preprocessing: stored features to model input, with augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from f3ast_tff.core.randomness import generator

_WHITE = np.float32(255)


class Preprocessing(Protocol):
    """A pure function of features and draws, with equal results in all frameworks.

    The draws of an augmentation are a few integers per example, made on the host with NumPy from
    (seed, round, client). The pixels are computed on the device that trains the model.

    Attributes:
        num_draws: Number of integers drawn per visit to an example in training, 0 for none.
    """

    @property
    def num_draws(self) -> int:
        """See the class."""
        ...

    def output_shape(self, stored_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a model input from the shape of a stored example."""
        ...

    def draws(self, round_number: int, client: int, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the draws of a client's visits to its examples, a pure function.

        Args:
            round_number: Round t, from 1.
            client: Client id.
            shape: Shape of `LocalTraining.order` for that client and round.

        Returns:
            `int32 [*shape, num_draws]`, in the order of the visits.
        """
        ...

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """Returns model inputs, `float32` (ids stay integers), from features `[n, ...]`.

        Args:
            features: Stored features.
            draws: `int32 [n, num_draws]` in training, `None` in evaluation.
        """
        ...

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """The same as `in_jax`, in TensorFlow."""
        ...

    def in_numpy(self, features: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
        """The same as `in_jax`, in NumPy."""
        ...


class Deterministic:
    """Base of preprocessing that draws nothing and changes no shape."""

    @property
    def num_draws(self) -> int:
        """Zero: nothing is drawn."""
        return 0

    def draws(self, round_number: int, client: int, shape: tuple[int, ...]) -> np.ndarray:
        return np.zeros((*shape, 0), np.int32)

    def output_shape(self, stored_shape: tuple[int, ...]) -> tuple[int, ...]:
        return stored_shape


@dataclass(frozen=True)
class AsStored(Deterministic):
    """Leaves features unchanged."""

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        return features

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        return features

    def in_numpy(self, features: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
        return features


@dataclass(frozen=True)
class ScaledPixels(Deterministic):
    """Scales pixels `uint8 [n, ...]` linearly to `float32 [n, ...]`.

    Attributes:
        black: Image of 0.
        white: Image of 255.
    """

    black: float = 0.0
    white: float = 1.0

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        return self._scaled(features.astype(np.float32))

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        import tensorflow as tf

        return self._scaled(tf.cast(features, tf.float32))

    def in_numpy(self, features: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
        scaled: np.ndarray = self._scaled(features.astype(np.float32))
        return scaled

    def _scaled(self, pixels: Any) -> Any:
        return pixels / _WHITE * np.float32(self.white - self.black) + np.float32(self.black)


@dataclass(frozen=True)
class ImageCrops:
    """Takes square crops of square images and standardises each crop.

    Training crops are at random places and mirrored with probability 1/2. Evaluation crops are
    central and not mirrored. A standardised image is (x - mean) / max(std, 1 / sqrt(size)) over
    all pixels and channels of the image, as in `tf.image.per_image_standardization`.

    Attributes:
        image: Side of a stored image, pixels.
        crop: Side of a crop, pixels, at most `image`.
        augment: Whether training crops are random; otherwise they are central too.
        seed: Seed of the draws.
    """

    image: int
    crop: int
    augment: bool = True
    seed: int = 0

    @property
    def num_draws(self) -> int:
        """Three: top row and left column of the crop, and 1 for a mirrored crop, else 0."""
        return 3 if self.augment else 0

    def output_shape(self, stored_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (self.crop, self.crop, *stored_shape[2:])

    def draws(self, round_number: int, client: int, shape: tuple[int, ...]) -> np.ndarray:
        if not self.augment:
            return np.zeros((*shape, 0), np.int32)
        rng = generator(self.seed, "augmentation", round_number, client)
        places = self.image - self.crop + 1
        highs = np.array([places, places, 2])
        return rng.integers(0, highs, (*shape, 3), dtype=np.int32)

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """Turns `uint8 [n, image, image, c]` into `float32 [n, crop, crop, c]`."""
        import jax.numpy as jnp

        return self._standardised(jnp, features, draws)

    def in_numpy(self, features: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
        crops: np.ndarray = self._standardised(np, features, draws)
        return crops

    def _standardised(self, xp: Any, features: Any, draws: Any | None) -> Any:
        """The standardised crops; `xp` is `numpy` or `jax.numpy`."""
        if draws is None or not self.augment:
            cropped = self._central(features)
        else:
            along = xp.arange(self.crop)
            rows = draws[:, 0, None] + along
            mirrored = xp.where(draws[:, 2, None] == 1, along[::-1], along)
            columns = draws[:, 1, None] + mirrored
            here = xp.arange(len(features))[:, None, None]
            cropped = features[here, rows[:, :, None], columns[:, None, :]]
        x = cropped.astype(xp.float32)
        mean = xp.mean(x, axis=(1, 2, 3), keepdims=True)
        deviation = xp.std(x, axis=(1, 2, 3), keepdims=True)
        least = 1 / np.sqrt(np.prod(x.shape[1:]))
        return (x - mean) / xp.maximum(deviation, np.float32(least))

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """The same as `in_jax`, in TensorFlow."""
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
