"""Layer normalisation over the last axis."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def layer_norm(x: Any, scale: Any, offset: Any, epsilon: float = 1e-5) -> Any:
    """Normalises the last axis to mean 0 and variance 1 (Ba et al., 2016).

    Args:
        x: `[..., width]`.
        scale: Gamma, `[width]`.
        offset: Beta, `[width]`.
        epsilon: Term added to the variance.
    """
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    return centred * lax.rsqrt(variance + epsilon) * scale + offset
