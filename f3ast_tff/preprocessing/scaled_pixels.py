"""Pixels 0..255 as floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.preprocessing.deterministic import NothingDrawn

_WHITE = np.float32(255)


@dataclass(frozen=True)
class ScaledPixels(NothingDrawn):
    """`uint8 [n, ...]` to `float32 [n, ...]`, nothing random.

    Attributes:
        black: What 0 becomes.
        white: What 255 becomes.
    """

    black: float = 0.0
    white: float = 1.0

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """See `Inputs.in_jax`."""
        return self._scaled(features.astype(np.float32))

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """See `Inputs.in_tf`."""
        import tensorflow as tf

        return self._scaled(tf.cast(features, tf.float32))

    def _scaled(self, pixels: Any) -> Any:
        return pixels / _WHITE * np.float32(self.white - self.black) + np.float32(self.black)
