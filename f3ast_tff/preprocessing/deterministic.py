"""Preprocessing without anything random: features as stored, and scaled pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_WHITE = np.float32(255)


class Deterministic:
    """Base of preprocessing that draws nothing and changes no shape."""

    @property
    def num_draws(self) -> int:
        """None."""
        return 0

    def draws(self, round_number: int, client: int, shape: tuple[int, ...]) -> np.ndarray:
        """See `Preprocessing.draws`."""
        return np.zeros((*shape, 0), np.int32)

    def output_shape(self, stored_shape: tuple[int, ...]) -> tuple[int, ...]:
        """See `Preprocessing.output_shape`."""
        return stored_shape


@dataclass(frozen=True)
class AsStored(Deterministic):
    """No change."""

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """See `Preprocessing.in_jax`."""
        return features

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """See `Preprocessing.in_tf`."""
        return features


@dataclass(frozen=True)
class ScaledPixels(Deterministic):
    """Pixels `uint8 [n, ...]` to `float32 [n, ...]`.

    Attributes:
        black: What 0 becomes.
        white: What 255 becomes.
    """

    black: float = 0.0
    white: float = 1.0

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """See `Preprocessing.in_jax`."""
        return self._scaled(features.astype(np.float32))

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """See `Preprocessing.in_tf`."""
        import tensorflow as tf

        return self._scaled(tf.cast(features, tf.float32))

    def _scaled(self, pixels: Any) -> Any:
        return pixels / _WHITE * np.float32(self.white - self.black) + np.float32(self.black)
